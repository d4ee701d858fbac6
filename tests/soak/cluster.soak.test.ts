import { afterAll, beforeAll, onTestFinished, test } from "vitest";
import { throughDeploys, throughFaults } from "../cluster/run.ts";
import { startPooler } from "../support/postgres/start-pooler.ts";
import { type OwnServer, startPostgres } from "../support/postgres/start-postgres.ts";
import { seeded } from "../support/seeded.ts";

let server: OwnServer;

beforeAll(async () => {
  server = await startPostgres({ own: true });
});

afterAll(async () => {
  await server.stop();
});

/** The lease of a node of the cluster, and one second. */
const TAKEN_MS = 3000;

/** The default of PgBouncer. A frozen node holds the server connections of its transactions, and with four there are none left. */
const POOL_SIZE = 20;

function printTimes(times: readonly number[]): void {
  const at = (part: number): number => Math.round(times[Math.ceil(times.length * part) - 1] ?? 0);
  const late = times.filter((ms) => ms > TAKEN_MS).length;
  console.log(`${times.length} takeovers: median ${at(0.5)} ms, p99 ${at(0.99)} ms, ${late} later than ${TAKEN_MS} ms`);
}

test("300 threads on three nodes through kills, cuts, frozen nodes and crashes of the database", async () => {
  printTimes(await throughFaults({ server, random: seeded(), threads: 300, asksPerThread: 3 }, 3));
});

test("300 threads on three nodes behind PgBouncer through kills, cuts, frozen nodes and crashes of the database", async ({
  skip,
}) => {
  const pooler = await startPooler(server.url, POOL_SIZE);
  if ("missing" in pooler) return skip(pooler.missing);
  onTestFinished(() => pooler.stop());
  printTimes(await throughFaults({ server, url: pooler.url, random: seeded(), threads: 300, asksPerThread: 3 }, 3));
});

test("300 threads on three nodes through three rolling deploys", () =>
  throughDeploys({ server, random: seeded(), threads: 300, asksPerThread: 2 }, 3));
