import { join } from "node:path";
import { installedFolders } from "./installed-binaries.ts";
import { copyNpmBinaries, npmBinFolder } from "./npm-binaries.ts";
import { runAs } from "./run.ts";
import type { ServerFolder } from "./server-folder.ts";
import type { ServerUser } from "./server-user.ts";

/** "debian" is a Postgres installed on this machine; "npm" is one downloaded on demand. */
export type OwnServerSource = "debian" | "npm";

export type Binaries = { readonly source: OwnServerSource; readonly bin: string; readonly version: string };

/** The first binaries that the server's user can really run, or an error that tells all that was tried. */
export async function findBinaries(
  wanted: OwnServerSource | undefined,
  folder: ServerFolder,
  user: ServerUser,
): Promise<Binaries> {
  const tried: string[] = [];
  if (wanted !== "npm") {
    const found = await findInstalled(user, tried);
    if (found) return found;
  }
  if (wanted !== "debian") {
    const found = await findInNpm(folder, user, tried);
    if (found) return found;
  }
  throw new Error(
    `No Postgres server for the tests. Tried:\n${tried.map((line) => `  - ${line}`).join("\n")}\n` +
      "Give one by setting DATABASE_URL, or install one: apt-get install postgresql",
  );
}

async function findInstalled(user: ServerUser, tried: string[]): Promise<Binaries | undefined> {
  const folders = await installedFolders();
  if (folders.length === 0) tried.push("/usr/lib/postgresql/*/bin and pg_config --bindir: no server found");
  for (const bin of folders) {
    try {
      return { source: "debian", bin, version: await versionOf(bin, user) };
    } catch (error) {
      tried.push(`${bin}: ${messageOf(error)}`);
    }
  }
  return undefined;
}

async function findInNpm(folder: ServerFolder, user: ServerUser, tried: string[]): Promise<Binaries | undefined> {
  try {
    const bin = await npmBinFolder();
    try {
      return { source: "npm", bin, version: await versionOf(bin, user) };
    } catch {
      // A checkout below a private folder (/root) is closed to the server's user; the temp folder is not.
      const copy = await copyNpmBinaries(bin, folder.path);
      return { source: "npm", bin: copy, version: await versionOf(copy, user) };
    }
  } catch (error) {
    tried.push(`npm package: ${messageOf(error)}`);
    return undefined;
  }
}

/** "postgres (PostgreSQL) 15.18 (Debian ...)" -> "15.18" */
async function versionOf(bin: string, user: ServerUser): Promise<string> {
  await runAs(user, join(bin, "initdb"), ["--version"]);
  const banner = await runAs(user, join(bin, "postgres"), ["--version"]);
  return /\d+(\.\d+)*/.exec(banner)?.[0] ?? banner;
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).trim().replaceAll("\n", "\n    ");
}
