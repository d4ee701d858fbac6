import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../support/postgres/free-port.ts";

const require = createRequire(import.meta.url);

/** The server of the package for this machine. */
function serverFile(): string {
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}`;
  const from = createRequire(require.resolve("@restatedev/restate-server/package.json"));
  return join(dirname(from.resolve(`${name}/package.json`)), "bin/restate-server");
}

export interface RestateServer {
  /** Where it takes calls. */
  readonly url: string;
  /** Tells it where services are. A second call for a place finds the services anew. */
  readonly register: (uri: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

async function answers(url: string, server: ChildProcess): Promise<void> {
  while (server.exitCode === null) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return;
    await sleep(50);
  }
  throw new Error(`The Restate server has ended with code ${server.exitCode}.`);
}

/** Starts a Restate server of its own, on loopback. */
export async function startRestate(): Promise<RestateServer> {
  const folder = mkdtempSync(join(tmpdir(), "heddle-restate-"));
  const [ingress, admin, node] = [await freePort(), await freePort(), await freePort()];
  const env = {
    ...process.env,
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
    RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
    RESTATE_BASE_DIR: folder,
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_LOG_FILTER: "error,octocrab=off",
    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "128 MB",
    DO_NOT_TRACK: "1",
  };
  const server = spawn(serverFile(), ["--node-name", "test"], { env, stdio: ["ignore", "ignore", "inherit"] });
  const url = `http://127.0.0.1:${ingress}`;
  const adminUrl = `http://127.0.0.1:${admin}`;
  await answers(`${url}/restate/health`, server);
  await answers(`${adminUrl}/health`, server);
  return {
    url,
    async register(uri) {
      const response = await fetch(`${adminUrl}/deployments`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ uri, force: true }),
      });
      if (!response.ok) throw new Error(await response.text());
    },
    async stop() {
      const ended = once(server, "exit");
      server.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
