import { readFileSync } from "node:fs";

/** The version in a package.json, found from this folder; undefined when there is no such file. */
export function version(path: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8")) as { version?: string }).version;
  } catch {
    return undefined;
  }
}
