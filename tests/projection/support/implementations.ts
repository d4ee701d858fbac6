import { project } from "heddle";
import { naiveProject } from "./oracle/naive.ts";
import type { Project } from "./trial.ts";

/** Who has to keep the laws. That the oracle keeps them says that the rules themselves do. */
export const implementations: readonly (readonly [name: string, project: Project])[] = [
  ["heddle", project],
  ["the oracle", naiveProject],
];
