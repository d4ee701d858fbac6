// Writes src/projection/policy/model-table.ts. Run it after a new version of a catalog is installed.
import { writeFileSync } from "node:fs";
import { modelTable } from "./model-table.ts";
import { root } from "./root.ts";

writeFileSync(`${root}src/projection/policy/model-table.ts`, modelTable());
