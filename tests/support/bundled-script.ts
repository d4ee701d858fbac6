import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = join(root, "node_modules/.cache/heddle-scripts");

/** Files two folders deep in src find the package from here. */
const FROM = new URL("../../src/studio/script.ts", import.meta.url).href;

const bundled = new Map<string, string>();

/** One JavaScript file with a script and the sources that it imports. It starts in a third of the CPU time. */
export function bundledScript(script: URL): string {
  const known = bundled.get(script.href);
  if (known !== undefined) return known;
  const path = fileURLToPath(script);
  const { outputFiles } = buildSync({
    entryPoints: [path],
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node22",
    packages: "external",
    define: { "import.meta.url": JSON.stringify(FROM) },
    write: false,
    logLevel: "error",
  });
  const name = relative(root, path).replaceAll(/[/\\]/g, "--").replace(/\.ts$/, ".mjs");
  const file = join(folder, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${file}.${process.pid}`, outputFiles[0]?.contents ?? "");
  renameSync(`${file}.${process.pid}`, file); // another worker may start it meanwhile
  bundled.set(script.href, file);
  return file;
}
