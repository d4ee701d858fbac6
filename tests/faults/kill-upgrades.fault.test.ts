import { expect, test } from "vitest";
import { killPostgresUpgrades, killSqliteUpgrades } from "./support/killed-upgrades.ts";

const SIZE = { threads: 2, entriesPerThread: 1000 };

test("an upgrade that is killed at any moment loses nothing: SQLite", async () => {
  const { interrupted } = await killSqliteUpgrades({ ...SIZE, kills: 4 });
  expect(interrupted).toBeGreaterThan(0);
});

test("an upgrade that is killed at any moment loses nothing: Postgres", async () => {
  const { interrupted } = await killPostgresUpgrades({ ...SIZE, kills: 3 });
  expect(interrupted).toBeGreaterThan(0);
});
