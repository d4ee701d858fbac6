import { chown, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServerUser } from "./server-user.ts";
import { startWatchdog, type Watchdog } from "./watchdog.ts";

/** Everything one server has on disk: the cluster, its log, its socket. */
export type ServerFolder = {
  readonly path: string;
  readonly data: string;
  readonly log: string;
  readonly watchdog: Watchdog;
  remove(): Promise<void>;
};

export async function createServerFolder(user: ServerUser): Promise<ServerFolder> {
  const path = await mkdtemp(join(tmpdir(), "heddle-postgres-"));
  const watchdog = startWatchdog(path);
  if (user) await chown(path, user.uid, user.gid);
  return {
    path,
    data: join(path, "data"),
    log: join(path, "log"),
    watchdog,
    remove: () => watchdog.cleanUp(),
  };
}
