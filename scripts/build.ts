// Builds src to dist with tsc, and the Studio's page. Starts from an empty dist, so that no renamed file is published.
import { rmSync } from "node:fs";
import { buildStudio } from "./build-studio.ts";
import { loudly } from "./command.ts";
import { root } from "./root.ts";

rmSync(`${root}dist`, { recursive: true, force: true });
process.exitCode = await loudly("tsc -p tsconfig.build.json");
if (process.exitCode === 0) console.log(await buildStudio());
