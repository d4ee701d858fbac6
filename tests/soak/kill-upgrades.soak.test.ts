import { test } from "vitest";
import { killPostgresUpgrades, killSqliteUpgrades } from "../faults/support/killed-upgrades.ts";

const MILLION = { threads: 20, entriesPerThread: 50_000 };

test("the upgrade of a million entries that is killed 50 times loses nothing: SQLite", async () => {
  await killSqliteUpgrades({ ...MILLION, kills: 50 });
});

test("the upgrade of a million entries that is killed 50 times loses nothing: Postgres", async () => {
  await killPostgresUpgrades({ ...MILLION, kills: 50 });
});
