import type { ThreadStore } from "../../stores/port.ts";
import { note } from "../builders.ts";
import { type CaseFixture, type ContractTests, equal, ok, present, shortPause } from "./case-fixture.ts";

const DAY = 24 * 60 * 60 * 1000;

/** Cases: the times of a thread are of the store's clock, those of its entries are the writer's. */
export const timeCases: ContractTests = {
  "a thread is created and updated by the store's clock": async ({ store, thread, fresh }) => {
    const start = await storeTime(store, fresh("c0"));
    const future = start + DAY;
    await store.append(thread, note({}, { at: 100 }));
    await shortPause(); // so that the second append is in a later millisecond than the first
    const middle = await storeTime(store, fresh("c1"));
    await store.append(thread, note({}, { at: future }));
    const end = await storeTime(store, fresh("c2"));
    const { createdAt, updatedAt } = await infoOf(store, thread);
    isWithin(createdAt, [start, middle], "createdAt");
    isWithin(updatedAt, [middle, end], "updatedAt");
    const loaded = present(await store.load(thread), "thread");
    equal(
      [loaded.createdAt, ...loaded.toArray().map(({ at }) => at)],
      [createdAt, 100, future],
      "times of the loaded thread",
    );
  },

  "a fork is created and updated by the store's clock": async ({ store, thread, fresh }) => {
    await store.append(thread, [note({}, { at: 100 }), note({}, { at: 200 })]);
    for (const atSeq of [0, -1]) {
      const before = await storeTime(store, fresh(`before${atSeq}`));
      const { createdAt, updatedAt } = await store.fork(thread, { atSeq, newId: fresh(`fork${atSeq}`) });
      const times = [before, await storeTime(store, fresh(`after${atSeq}`))];
      isWithin(createdAt, times, `createdAt of a fork at ${atSeq}`);
      isWithin(updatedAt, times, `updatedAt of a fork at ${atSeq}`);
    }
  },

  "a saved thread keeps the time of its creation": async ({ store, thread, fresh }) => {
    await store.append(thread, note());
    const source = present(await store.load(thread), "thread");
    await shortPause();
    await store.delete(thread);
    const before = await storeTime(store, fresh("before"));
    await store.save(source);
    const after = await storeTime(store, fresh("after"));
    const { createdAt, updatedAt } = await infoOf(store, thread);
    equal(createdAt, source.createdAt, "createdAt");
    isWithin(updatedAt, [before, after], "updatedAt");
  },

  "with a clock of its own, a store that uses it says what it says, also when it goes back": async ({
    open,
    fresh,
  }) => {
    let now = 2_000;
    const store = await open({ clock: () => now });
    if ((await storeTime(store, fresh("claim"))) !== now) return; // this store ignores the clock of the test
    const thread = fresh("thread");
    await store.append(thread, note());
    now = 1_000;
    await store.append(thread, note());
    const { createdAt, updatedAt } = await infoOf(store, thread);
    equal({ createdAt, updatedAt }, { createdAt: 2_000, updatedAt: 1_000 }, "times");
  },
};

/** The store's clock, by a claim of a thread that does not exist. */
async function storeTime(store: ThreadStore, threadId: string): Promise<number> {
  const ttlMs = 60_000;
  return (await store.claim(threadId, { holder: "clock", ttlMs })).until - ttlMs;
}

async function infoOf(store: CaseFixture["store"], threadId: string) {
  return present((await store.list({ prefix: threadId })).threads[0], "thread");
}

function isWithin(value: number, [from = 0, to = 0]: readonly number[], what: string): void {
  ok(from <= value && value <= to, `${what} is ${value}, which is not from ${from} to ${to}`);
}
