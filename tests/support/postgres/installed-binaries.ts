import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import { tryRun } from "./run.ts";

/** Bin folders of servers installed on this machine, newest first; Debian keeps them off the PATH. */
export async function installedFolders(): Promise<readonly string[]> {
  const debian = globSync("/usr/lib/postgresql/*/bin").sort((a, b) => majorOf(b) - majorOf(a));
  const configured = await tryRun("pg_config", ["--bindir"]);
  const folders = new Set(configured ? [...debian, configured] : debian);
  // Client packages leave bin folders, and a pg_config, without a server.
  return [...folders].filter((bin) => existsSync(join(bin, "postgres")) && existsSync(join(bin, "initdb")));
}

function majorOf(bin: string): number {
  return Number(/postgresql\/(\d+)/.exec(bin)?.[1] ?? 0);
}
