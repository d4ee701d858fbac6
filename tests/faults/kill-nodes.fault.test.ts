import { test } from "vitest";
import { killNodesOfPostgres, killNodesOfSqlite } from "./support/killed-nodes.ts";

test("forks, commands, leases and blobs of nodes killed at any moment are complete, once: SQLite", async () => {
  await killNodesOfSqlite({ kills: 3 });
});

test("forks, commands, leases and blobs of nodes killed at any moment are complete, once: Postgres", async () => {
  await killNodesOfPostgres({ kills: 3 });
});
