// The core must load where there is no Node. Fails, with the chain of imports, when a built-in or an optional driver
// is reachable from a portable entry without a dynamic import.
import { existsSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { bundle } from "./bundle.ts";
import { root } from "./root.ts";

const portable = ["index", "core", "store", "testing", "providers", "ai-sdk", "client"]
  .map((entry) => `dist/${entry}.js`)
  .filter((file) => existsSync(root + file));
const { dependencies = {} } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
  dependencies?: Record<string, string>;
};

for (const entry of portable) {
  const { inputs } = (await bundle(entry)).metafile;
  const cameFrom = new Map<string, string>();
  const queue = [entry];
  for (const file of queue) {
    for (const { path, kind, external } of inputs[file]?.imports ?? []) {
      if (kind === "dynamic-import" || cameFrom.has(path) || path === entry) continue;
      cameFrom.set(path, file);
      if (isBuiltin(path) || isForeign(path)) complain(path, cameFrom);
      else if (!external) queue.push(path);
    }
  }
}

/** The name of a package that is not a dependency, so that it may be missing on the user's machine. */
function isForeign(path: string): boolean {
  const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
  return name !== undefined && !(name in dependencies);
}

function complain(path: string, cameFrom: ReadonlyMap<string, string>): void {
  const chain = [path];
  for (let from = cameFrom.get(path); from !== undefined; from = cameFrom.get(from)) chain.unshift(from);
  console.log(`${path} is reachable without a dynamic import:\n  ${chain.join("\n  -> ")}`);
  process.exitCode = 1;
}
