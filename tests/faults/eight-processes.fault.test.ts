import { randomUUID } from "node:crypto";
import { expect, inject, test } from "vitest";
import { tempFile } from "../support/temp-folder.ts";
import { crowd } from "./support/crowd.ts";

test("eight processes on one thread all get through, and nothing is lost or doubled: SQLite", async () => {
  const { shares, rev } = await crowd({ url: `sqlite:${tempFile()}`, tenant: "default", forMs: 1500 });
  expect(shares[0], "nobody is starved").toBeGreaterThan(0);
  expect(rev, "every entry was acknowledged").toBe(2 * shares.reduce((sum, share) => sum + share, 0));
});

test("eight processes on one thread all get through, and nothing is lost or doubled: Postgres", async () => {
  const { shares, rev } = await crowd({ url: inject("postgresUrl"), tenant: randomUUID(), forMs: 1500 });
  expect(shares[0], "nobody is starved").toBeGreaterThan(0);
  expect(rev, "every entry was acknowledged").toBe(2 * shares.reduce((sum, share) => sum + share, 0));
});
