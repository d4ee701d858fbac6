import { readFileSync } from "node:fs";
import { root } from "./root.ts";

/** The entry points of package.json with the source file of each, `heddle` first. */
export function entryPoints(): ReadonlyMap<string, string> {
  const { name, exports } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
    name: string;
    exports: Record<string, unknown>;
  };
  const paths = Object.keys(exports).filter((path) => !path.endsWith(".json"));
  return new Map(
    paths.map((path) => [path.replace(/^\./, name), `src/${path === "." ? "index" : path.replace("./", "")}.ts`]),
  );
}
