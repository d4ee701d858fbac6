import { test } from "vitest";
import { killPostgresUpgrades, killSqliteUpgrades } from "./support/killed-upgrades.ts";

const SIZE = { threads: 2, entriesPerThread: 1000 };

test("an upgrade that is killed at any moment loses nothing: SQLite", async () => {
  await killSqliteUpgrades({ ...SIZE, kills: 2 });
});

test("an upgrade that is killed at any moment loses nothing: Postgres", async () => {
  await killPostgresUpgrades({ ...SIZE, kills: 2 });
});
