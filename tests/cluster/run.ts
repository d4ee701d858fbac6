import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { openStore } from "../stores/postgres/open.ts";
import type { OwnServer } from "../support/postgres/start-postgres.ts";
import type { Random } from "../support/seeded.ts";
import { Cluster } from "./cluster.ts";
import { Takeovers } from "./takeovers.ts";

interface RunOptions {
  readonly server: OwnServer;
  /** Where the nodes connect. Default: the server itself. */
  readonly url?: string;
  readonly random: Random;
  readonly threads: number;
  readonly asksPerThread: number;
}

async function clusterOf({ server, url = server.url, ...options }: RunOptions) {
  const tenant = randomUUID();
  const store = openStore({ tenant, schema: "heddle" }, server.url);
  const takeovers = new Takeovers(server.url, tenant);
  return { takeovers, cluster: await Cluster.start({ ...options, url, tenant, store, takeovers }) };
}

/**
 * Nodes are killed and frozen, connections are cut, and the database crashes, `rounds` times. Returns how long the threads of
 * killed nodes waited for another one.
 */
export async function throughFaults(options: RunOptions, rounds: number): Promise<readonly number[]> {
  const { server, threads } = options;
  const { cluster, takeovers } = await clusterOf(options);
  const talk = cluster.talk();
  for (let round = 0; round < rounds; round++) {
    const [one, two, three] = cluster.nodes;
    await sleep(1000);
    await one?.restart("SIGKILL");
    two?.cut();
    await three?.freeze(3000);
    await takeovers.down(async () => {
      await server.kill();
      await server.restart();
    });
    await two?.restart("SIGKILL");
  }
  await talk;
  const { requests, runs } = await cluster.check();
  expect(requests).toBeGreaterThanOrEqual(threads);
  expect(runs).toBeGreaterThan(0);
  return takeovers.times();
}

/** Each node is stopped and started again while users talk. */
export async function throughDeploys(options: RunOptions, rounds: number): Promise<void> {
  const { cluster } = await clusterOf(options);
  const talk = cluster.talk();
  for (let round = 0; round < rounds; round++) {
    await sleep(500);
    for (const node of cluster.nodes) expect(await node.restart("SIGTERM")).toBe(0);
  }
  await talk;
  await cluster.check();
}
