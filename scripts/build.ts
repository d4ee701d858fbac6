// src -> dist with plain tsc. Starts from an empty dist, so a file that was renamed cannot be published.
import { rmSync } from "node:fs";
import { loudly } from "./command.ts";
import { root } from "./root.ts";

rmSync(`${root}dist`, { recursive: true, force: true });
process.exitCode = await loudly("tsc -p tsconfig.build.json");
