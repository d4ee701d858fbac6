import { afterAll, beforeAll, test } from "vitest";
import { type OwnServer, startPostgres } from "../support/postgres/start-postgres.ts";
import { seeded } from "../support/seeded.ts";
import { throughDeploys, throughFaults } from "./run.ts";

let server: OwnServer;

beforeAll(async () => {
  server = await startPostgres({ own: true });
});

afterAll(async () => {
  await server.stop();
});

test("whatever dies, freezes and is cut, every request ends once and every message is taken once", async () => {
  await throughFaults({ server, random: seeded(), threads: 15, asksPerThread: 3 }, 1);
});

test("a rolling deploy fails no request", () =>
  throughDeploys({ server, random: seeded(), threads: 10, asksPerThread: 3 }, 1));
