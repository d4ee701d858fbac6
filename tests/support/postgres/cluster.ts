import { chown, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Binaries } from "./binaries.ts";
import { runAs } from "./run.ts";
import type { ServerFolder } from "./server-folder.ts";
import type { ServerUser } from "./server-user.ts";

/** An empty cluster where every connection, local ones too, must give the password. */
export async function createCluster(
  binaries: Binaries,
  folder: ServerFolder,
  user: ServerUser,
  password: string,
): Promise<void> {
  const passwordFile = join(folder.path, "password");
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (user) await chown(passwordFile, user.uid, user.gid);
  await runAs(user, join(binaries.bin, "initdb"), [
    `--pgdata=${folder.data}`,
    "--username=heddle",
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    // Only the first start relies on these files; what tests write is synced by the server.
    "--no-sync",
    "--no-instructions",
  ]);
  await rm(passwordFile);
}
