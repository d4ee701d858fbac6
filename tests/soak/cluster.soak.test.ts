import { afterAll, beforeAll, test } from "vitest";
import { throughDeploys, throughFaults } from "../cluster/run.ts";
import { type OwnServer, startPostgres } from "../support/postgres/start-postgres.ts";
import { seeded } from "../support/seeded.ts";

let server: OwnServer;

beforeAll(async () => {
  server = await startPostgres({ own: true });
});

afterAll(async () => {
  await server.stop();
});

test("300 threads on three nodes through kills, cuts, frozen nodes and crashes of the database", () =>
  throughFaults({ server, random: seeded(), threads: 300, asksPerThread: 3 }, 3));

test("300 threads on three nodes through three rolling deploys", () =>
  throughDeploys({ server, random: seeded(), threads: 300, asksPerThread: 2 }, 3));
