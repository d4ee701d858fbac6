import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * A package of bench/peers, as far as we use it. It is named in a variable because these packages, and their types, are
 * not there until a bench installs them.
 */
export async function loadPeer<Shape>(name: string): Promise<Shape> {
  return (await import(name)) as Shape;
}

/** Such as "@mastra/libsql 1.2.3", as installed. */
export function withVersion(name: string): string {
  const path = fileURLToPath(new URL(`node_modules/${name}/package.json`, import.meta.url));
  const { version } = JSON.parse(readFileSync(path, "utf8")) as { version: string };
  return `${name} ${version}`;
}
