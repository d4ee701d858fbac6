import { randomUUID } from "node:crypto";
import type { ThreadStore } from "heddle";
import { expect, inject, onTestFinished, test } from "vitest";
import { type Child, startChild } from "../support/child.ts";
import { openAt } from "../support/open-at.ts";
import { tempFile } from "../support/temp-folder.ts";

const databases = { SQLite: () => `sqlite:${tempFile()}`, Postgres: () => inject("postgresUrl") };

test.each(Object.entries(databases))(
  "of two processes that claim a thread at once one gets it: %s",
  async (_, urlOf) => {
    const { url, tenant } = await database(urlOf());
    for (let round = 0; round < 3; round++) {
      const threadId = `t_${round}`;
      const both = [holder(url, tenant, threadId, "one", 60_000), holder(url, tenant, threadId, "other", 60_000)];
      await Promise.all(both.map((child) => child.wrote(1)));
      const outcomes = await Promise.all(both.map((child) => answer(child, "claim")));
      expect(outcomes).toContainEqual({ epoch: 1 });
      expect(outcomes).toContainEqual({ code: "thread_held" });
      await Promise.all(both.map((child) => child.kill()));
    }
  },
);

test.each(Object.entries(databases))("a holder that is killed is followed by the next epoch: %s", async (_, urlOf) => {
  const { url, tenant, store } = await database(urlOf());
  const dead = holder(url, tenant, "t", "dead", 1500);
  await dead.wrote(1);
  expect(await answer(dead, "claim")).toEqual({ epoch: 1 });
  expect(await answer(dead, "append")).toEqual({ rev: 1 });
  await dead.kill();
  const { epoch } = await claimWhenFree(store, "t", "heir");
  expect(epoch).toBe(2);
  await expect(store.append("t", { kind: "note" }, { epoch: 1 })).rejects.toMatchObject({
    name: "StaleHolderError",
    epoch: 1,
    current: 2,
  });
  expect((await store.append("t", { kind: "note" }, { epoch })).rev).toBe(2);
});

test.each(Object.entries(databases))("a holder that slept too long is refused, not heard: %s", async (_, urlOf) => {
  const { url, tenant, store } = await database(urlOf());
  const asleep = holder(url, tenant, "t", "asleep", 300);
  await asleep.wrote(1);
  expect(await answer(asleep, "claim")).toEqual({ epoch: 1 });
  await claimWhenFree(store, "t", "awake");
  expect(await answer(asleep, "append")).toEqual({ code: "stale_holder" });
  expect(await store.load("t")).toBeUndefined();
});

async function database(url: string): Promise<{ url: string; tenant: string; store: ThreadStore }> {
  const tenant = randomUUID();
  const store = await openAt(url, { tenant });
  onTestFinished(() => store.close());
  return { url, tenant, store };
}

function holder(url: string, tenant: string, threadId: string, name: string, ttlMs: number): Child {
  return startChild(new URL("./support/claimer.ts", import.meta.url), url, tenant, threadId, name, String(ttlMs));
}

async function answer(child: Child, command: string): Promise<unknown> {
  const before = child.lines.length;
  child.tell(command);
  await child.wrote(before + 1);
  return JSON.parse(child.lines[before] ?? '"it ended"');
}

/** Asks until the other's time has run out; the test's own time is the deadline. */
async function claimWhenFree(store: ThreadStore, threadId: string, name: string) {
  for (;;) {
    try {
      return await store.claim(threadId, { holder: name, ttlMs: 60_000 });
    } catch (error) {
      expect(error).toMatchObject({ code: "thread_held" });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
