import { randomUUID } from "node:crypto";
import { expect, inject, test } from "vitest";
import { tempFile } from "../support/temp-folder.ts";
import { killServer } from "./support/killed-server.ts";
import { killWriters } from "./support/killed-writers.ts";

test("writers killed at any moment lose nothing acknowledged: SQLite", async () => {
  const { acknowledged } = await killWriters({ url: `sqlite:${tempFile()}`, tenant: "default", kills: 4 });
  expect(acknowledged).toBeGreaterThan(8);
});

test("writers killed at any moment lose nothing acknowledged: Postgres", async () => {
  const { acknowledged } = await killWriters({ url: inject("postgresUrl"), tenant: randomUUID(), kills: 3 });
  expect(acknowledged).toBeGreaterThan(6);
});

test("a server killed while writers write loses nothing acknowledged: Postgres", async () => {
  const { acknowledged } = await killServer({ kills: 1 });
  expect(acknowledged).toBeGreaterThan(3);
});
