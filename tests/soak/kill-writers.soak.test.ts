import { randomUUID } from "node:crypto";
import { inject, test } from "vitest";
import { killServer } from "../faults/support/killed-server.ts";
import { killWriters } from "../faults/support/killed-writers.ts";
import { tempFile } from "../support/temp-folder.ts";
import { again } from "./duration.ts";

test("writers killed at any moment lose nothing acknowledged: SQLite", async () => {
  await again((round) => killWriters({ url: `sqlite:${tempFile()}`, tenant: "default", kills: 50, round }));
});

test("writers killed at any moment lose nothing acknowledged: Postgres", async () => {
  await again((round) => killWriters({ url: inject("postgresUrl"), tenant: randomUUID(), kills: 50, round }));
});

test("a server killed while writers write loses nothing acknowledged: Postgres", async () => {
  await again((round) => killServer({ kills: 20, round }));
});
