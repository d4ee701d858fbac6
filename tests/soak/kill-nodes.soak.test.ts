import { test } from "vitest";
import { killNodesOfPostgres, killNodesOfSqlite } from "../faults/support/killed-nodes.ts";
import { again } from "./duration.ts";

test("forks, commands, leases and blobs of nodes killed at any moment are complete, once: SQLite", async () => {
  await again((round) => killNodesOfSqlite({ kills: 40, round }));
});

test("forks, commands, leases and blobs of nodes killed at any moment are complete, once: Postgres", async () => {
  await again((round) => killNodesOfPostgres({ kills: 40, round }));
});
