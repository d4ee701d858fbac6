// Builds dist: the modules, their types and the Studio's page. Starts from an empty dist, so that no renamed file is published.
import { rmSync } from "node:fs";
import { buildModules, buildTypes } from "./build-package.ts";
import { buildStudio } from "./build-studio.ts";
import { root } from "./root.ts";

rmSync(`${root}dist`, { recursive: true, force: true });
const [page] = await Promise.all([buildStudio(), buildModules(), buildTypes()]);
console.log(page);
