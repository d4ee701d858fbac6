import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { findBinaries, type OwnServerSource } from "./binaries.ts";
import { createCluster } from "./cluster.ts";
import { freePort } from "./free-port.ts";
import { type Postmaster, startPostmaster } from "./postmaster.ts";
import { createServerFolder, type ServerFolder } from "./server-folder.ts";
import { serverUser } from "./server-user.ts";

export type { OwnServerSource } from "./binaries.ts";

/** A server this process started: on 127.0.0.1 only, behind a random password, gone when this process is gone. */
export type OwnServer = {
  readonly own: true;
  readonly source: OwnServerSource;
  /** Superuser and database are both `heddle`; it stays the same over kill and restart. */
  readonly url: string;
  readonly version: string;
  /** Shuts down cleanly and removes the data; with `keepData` the data stays until a second stop, for `restart`. */
  stop(options?: { readonly keepData?: boolean }): Promise<void>;
  /** SIGKILL to the postmaster and every backend at once, with no checkpoint. Throws when the server is not running. */
  kill(): Promise<void>;
  /** SIGSTOP to the postmaster and every backend: connections stay open and nothing answers. Call the result to go on. */
  freeze(): Promise<() => void>;
  /** Starts on the same data and port, through crash recovery after `kill`. A running server is stopped cleanly first. */
  restart(): Promise<void>;
};

export async function startOwnServer(wanted: OwnServerSource | undefined): Promise<OwnServer> {
  const user = await serverUser();
  const folder = await createServerFolder(user);
  try {
    const binaries = await findBinaries(wanted, folder, user);
    const password = randomBytes(16).toString("hex");
    await createCluster(binaries, folder, user, password);
    const port = await freePort();
    const start = () => startPostmaster(binaries, folder, user, port);
    const postmaster = await start();
    const address = `postgres://heddle:${password}@127.0.0.1:${port}`;
    await createDatabase(`${address}/postgres`).catch(async (cause) => {
      await postmaster.shutDown();
      throw cause;
    });
    const { source, version } = binaries;
    return { own: true, source, version, url: `${address}/heddle`, ...lifecycle(postmaster, start, folder) };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

/** Over the connection, because the npm package brings no createdb. */
async function createDatabase(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, connect_timeout: 10 });
  try {
    await sql`create database heddle`;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

function lifecycle(
  first: Postmaster,
  start: () => Promise<Postmaster>,
  folder: ServerFolder,
): Pick<OwnServer, "stop" | "kill" | "freeze" | "restart"> {
  let postmaster = first;
  let removed = false;
  return {
    async stop({ keepData = false } = {}) {
      await postmaster.shutDown();
      if (keepData || removed) return;
      removed = true;
      await folder.remove();
    },
    async kill() {
      await postmaster.crash();
    },
    freeze: () => postmaster.freeze(),
    async restart() {
      if (removed) throw new Error("stop() removed the data; use stop({ keepData: true }) before a restart");
      await postmaster.shutDown();
      postmaster = await start();
    },
  };
}
