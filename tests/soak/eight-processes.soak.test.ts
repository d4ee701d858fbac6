import { randomUUID } from "node:crypto";
import { expect, inject, test } from "vitest";
import { crowd } from "../faults/support/crowd.ts";
import { tempFile } from "../support/temp-folder.ts";
import { shareOfTheTimeMs } from "./duration.ts";

const LONGEST_MS = 120_000;

test("eight processes on one thread for long: SQLite", async () => {
  const forMs = Math.min(shareOfTheTimeMs(), LONGEST_MS);
  const { shares } = await crowd({ url: `sqlite:${tempFile()}`, tenant: "default", forMs });
  expect(shares[0], "nobody is starved").toBeGreaterThan(0);
});

test("eight processes on one thread for long: Postgres", async () => {
  const forMs = Math.min(shareOfTheTimeMs(), LONGEST_MS);
  const { shares } = await crowd({ url: inject("postgresUrl"), tenant: randomUUID(), forMs });
  expect(shares[0], "nobody is starved").toBeGreaterThan(0);
});
