import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Binaries } from "./binaries.ts";
import { processTable } from "./process-table.ts";
import { plainEnvironment } from "./run.ts";
import type { ServerFolder } from "./server-folder.ts";
import type { ServerUser } from "./server-user.ts";
import { until } from "./until.ts";

/** One run of the server, from ready to gone. */
export type Postmaster = {
  /** Fast shutdown: clients are disconnected, a checkpoint is written. Nothing happens when it is down already. */
  shutDown(): Promise<void>;
  crash(): Promise<void>;
  /** Stops all its processes until the returned function is called. */
  freeze(): Promise<() => void>;
};

export async function startPostmaster(
  binaries: Binaries,
  folder: ServerFolder,
  user: ServerUser,
  port: number,
): Promise<Postmaster> {
  const log = await open(folder.log, "a");
  const child = spawn(join(binaries.bin, "postgres"), ["-D", folder.data, ...settings(folder, port)], {
    ...user,
    cwd: folder.path,
    env: plainEnvironment,
    // A session of its own: Ctrl-C ends the tests, and they or the watchdog end the server.
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
  });
  await once(child, "spawn").finally(() => log.close());
  folder.watchdog.guard(child.pid);
  child.once("exit", () => folder.watchdog.guard(undefined));
  try {
    await until("Postgres is ready", async () => isDown(child) || (await isReady(child, folder)));
    if (isDown(child)) throw new Error("Postgres ended while starting");
  } catch (cause) {
    await crash(child);
    throw new Error(`Postgres did not become ready; the end of its log:\n${await endOf(folder.log)}`, { cause });
  }
  child.unref();
  return {
    shutDown: () => shutDown(child),
    async crash() {
      if (isDown(child)) throw new Error("there is no Postgres to kill: it is not running");
      await crash(child);
    },
    freeze: () => freeze(child),
  };
}

function settings(folder: ServerFolder, port: number): readonly string[] {
  const values: Readonly<Record<string, string | number>> = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: folder.path,
    max_connections: 100,
    shared_buffers: "16MB",
    fsync: "on",
    synchronous_commit: "on",
    full_page_writes: "on",
    // Files in the data folder, so that a crash leaves nothing in /dev/shm.
    dynamic_shared_memory_type: "mmap",
  };
  return Object.entries(values).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

/** The eighth line of postmaster.pid is the status, as pg_ctl reads it; a file left by a crash has another pid. */
async function isReady(child: ChildProcess, folder: ServerFolder): Promise<boolean> {
  const file = await readFile(join(folder.data, "postmaster.pid"), "utf8").catch(() => "");
  const lines = file.split("\n");
  return Number(lines[0]) === child.pid && lines[7]?.trim() === "ready";
}

async function shutDown(child: ChildProcess): Promise<void> {
  if (isDown(child)) return;
  child.ref();
  child.kill("SIGINT");
  await until("Postgres shut down", () => isDown(child));
}

/**
 * Every backend is in a session of its own, so a signal to the process group would miss them. The postmaster is
 * frozen first: what it has started by then is all there is, and it can tidy nothing up.
 */
async function crash(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || isDown(child)) return;
  child.ref();
  const backends = await freezePostmaster(child);
  child.kill("SIGKILL");
  for (const pid of backends) send(pid, "SIGKILL");
  await until("the killed server is gone", () => isDown(child) && !areAlive(backends));
}

async function freeze(child: ChildProcess): Promise<() => void> {
  const backends = await freezePostmaster(child);
  for (const pid of backends) send(pid, "SIGSTOP");
  return () => {
    for (const pid of backends) send(pid, "SIGCONT");
    child.kill("SIGCONT");
  };
}

/** The processes that the postmaster has started. It starts no more. */
async function freezePostmaster(child: ChildProcess): Promise<readonly number[]> {
  const postmaster = child.pid;
  child.kill("SIGSTOP");
  const isFrozen = () => processTable().some(({ pid, state }) => pid === postmaster && state.startsWith("T"));
  await until("the postmaster is frozen", () => isDown(child) || isFrozen());
  return processTable().flatMap(({ pid, parent }) => (parent === postmaster ? [pid] : []));
}

function isDown(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended by itself in between.
  }
}

/** A zombie holds nothing any more, and in a container perhaps nobody reaps it. */
function areAlive(pids: readonly number[]): boolean {
  return processTable().some(({ pid, state }) => pids.includes(pid) && !state.startsWith("Z"));
}

async function endOf(log: string): Promise<string> {
  return (await readFile(log, "utf8")).trimEnd().split("\n").slice(-15).join("\n");
}
