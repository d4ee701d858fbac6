import { sqliteStore } from "heddle/sqlite";
import { expect, test } from "vitest";
import { isSoak } from "../support/case-budget.ts";
import { fastFile } from "../support/temp-folder.ts";
import { firstSeed } from "./first-seed.ts";
import { expectSameAfterRestarts } from "./restarts/expect-same.ts";

test("a process that starts after any commit on SQLite has the value of the one before", async () => {
  let commits = 0;
  for (let story = 0; story < (isSoak ? 50 : 2); story++) {
    const lives = await expectSameAfterRestarts(firstSeed() + story, async () => sqliteStore(fastFile()));
    commits += lives.length;
  }
  expect(commits).toBeGreaterThan(5);
});
