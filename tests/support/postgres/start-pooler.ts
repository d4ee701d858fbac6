import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chown, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { plainEnvironment, tryRun } from "./run.ts";
import { createServerFolder } from "./server-folder.ts";
import { serverUser } from "./server-user.ts";
import { until } from "./until.ts";

/** A pooler this process started: PgBouncer in transaction mode on 127.0.0.1, gone when this process is gone. */
export type Pooler = {
  /** The server's URL with the port of the pooler. */
  readonly url: string;
  stop(): Promise<void>;
};

/** Why no pooler can be had here, for the report of the tests that are skipped for it. */
export type NoPooler = { readonly missing: string };

/** So few server connections that clients wait for one another. */
const FEW = 4;

/**
 * PgBouncer before a server that listens on TCP. Where it is not installed it is installed with apt-get, as root on
 * Debian and its relatives only.
 */
export async function startPooler(serverUrl: string, poolSize = FEW): Promise<Pooler | NoPooler> {
  const program = (await findPooler()) ?? (await installPooler());
  if (program === undefined) {
    const missing =
      "PgBouncer is not installed, and apt-get could not install it; install it: apt-get install pgbouncer";
    process.stderr.write(`Tests behind a pooler are skipped: ${missing}\n`);
    return { missing };
  }
  return startPgBouncer(program, serverUrl, poolSize);
}

async function findPooler(): Promise<string | undefined> {
  const onPath = await tryRun("sh", ["-c", "command -v pgbouncer"]);
  return [onPath, "/usr/sbin/pgbouncer"].find((path) => path !== undefined && path !== "" && existsSync(path));
}

async function installPooler(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  // RUNLEVEL keeps the package from starting a service; the lock may be held by another run of the tests.
  const apt = "RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=60";
  const install = `${apt} install -y --no-install-recommends pgbouncer`;
  await tryRun("sh", ["-c", `${install} || { ${apt} update && ${install}; }`]);
  return findPooler();
}

async function startPgBouncer(program: string, serverUrl: string, poolSize: number): Promise<Pooler> {
  const user = await serverUser();
  const folder = await createServerFolder(user);
  try {
    const port = await freePort();
    const { hostname, port: serverPort, username, password } = new URL(serverUrl);
    const users = join(folder.path, "users.txt");
    const config = join(folder.path, "pgbouncer.ini");
    const files = {
      [users]: `"${username}" "${decodeURIComponent(password)}"\n`,
      [config]: [
        "[databases]",
        `* = host=${hostname} port=${serverPort || 5432}`,
        "[pgbouncer]",
        "listen_addr = 127.0.0.1",
        `listen_port = ${port}`,
        "unix_socket_dir =",
        "auth_type = scram-sha-256",
        `auth_file = ${users}`,
        "pool_mode = transaction",
        `default_pool_size = ${poolSize}`,
        "server_round_robin = 1", // statements of one client land on different servers
        "max_client_conn = 400",
        "server_login_retry = 1", // after a restart of the database; by default it waits 15 s
        "",
      ].join("\n"),
    };
    for (const [path, text] of Object.entries(files)) {
      await writeFile(path, text, { mode: 0o600 });
      if (user) await chown(path, user.uid, user.gid);
    }
    const child = spawn(program, [config], {
      ...user,
      cwd: folder.path,
      env: plainEnvironment,
      detached: true,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const log: string[] = [];
    child.stderr.on("data", (text: Buffer) => log.push(text.toString()));
    await once(child, "spawn");
    folder.watchdog.guard(child.pid);
    await until("PgBouncer is ready", async () => isDown(child) || (await accepts(port)));
    if (isDown(child))
      throw new Error(`PgBouncer ended while starting:\n${log.join("").split("\n").slice(-15).join("\n")}`);
    child.unref();
    const url = new URL(serverUrl);
    url.hostname = "127.0.0.1";
    url.port = String(port);
    return {
      url: url.href,
      async stop() {
        child.ref();
        if (!isDown(child)) {
          child.kill("SIGTERM");
          await once(child, "exit");
        }
        folder.watchdog.guard(undefined);
        await folder.remove();
      },
    };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

function isDown(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
