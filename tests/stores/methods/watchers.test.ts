import { setImmediate as endOfTurn } from "node:timers/promises";
import type { Entry, ThreadStore } from "heddle";
import { defineStore, MemoryDatabase, type StoreDriver } from "heddle/store";
import { note } from "heddle/testing";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { memoryDriver } from "../../../src/stores/memory-store.ts";

/** Longer than any test. */
const NEVER = 2 ** 31 - 1;

type Wake = (threadIds?: readonly string[]) => void;

/** A store whose driver counts its calls, and another process on the same data. */
function open(pollMs: number, changed: Partial<StoreDriver> = {}, { canLook = true, isAnnounced = false } = {}) {
  const tenant = new MemoryDatabase().tenant("t");
  const { changedThreads, ...sound } = memoryDriver(tenant, Date.now);
  const look = async (after: string | undefined, inboxes?: readonly string[]) => ({
    ...{ threadIds: [], position: "", isAnnounced },
    ...(await changedThreads?.(after, inboxes)),
  });
  const calls = { rows: 0, changes: 0, looks: 0 };
  const driver: StoreDriver = {
    ...sound,
    rows(id, range) {
      calls.rows++;
      return sound.rows(id, range);
    },
    changes(after, limit) {
      calls.changes++;
      return sound.changes(after, limit);
    },
    ...(canLook && {
      changedThreads(after: string | undefined, inboxes?: readonly string[]) {
        calls.looks++;
        return look(after, inboxes);
      },
    }),
    ...changed,
  };
  const store = defineStore(driver, { pollMs });
  onTestFinished(() => store.close());
  return { store, calls, other: defineStore(memoryDriver(tenant, Date.now)) };
}

/** Starts a watch and collects what it sees. */
function collect(store: ThreadStore, threadId: string, fromSeq = 0): Entry[] {
  const seen: Entry[] = [];
  void (async () => {
    for await (const entry of store.watch(threadId, { fromSeq })) seen.push(entry);
  })();
  return seen;
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await endOfTurn();
}

afterEach(() => {
  vi.useRealTimers();
});

describe("an append", () => {
  test("makes only the watchers of its thread read", async () => {
    const { store, calls } = open(NEVER);
    const seen = Array.from({ length: 100 }, (_, n) => collect(store, `t${n}`));
    await turns(20);
    calls.rows = 0;
    await store.append("t7", note());
    await store.append("unwatched", note());
    await turns(20);
    expect(seen.map(({ length }) => length)).toEqual(seen.map((_, n) => (n === 7 ? 1 : 0)));
    expect(calls.rows).toBe(1);
  });

  test("by another process makes only the watchers of its thread read, after one look for all", async () => {
    const { store, calls, other } = open(1);
    const seen = Array.from({ length: 100 }, (_, n) => collect(store, `t${n}`));
    await turns(20);
    calls.rows = 0;
    await other.append("t7", note());
    await expect.poll(() => seen[7]).toHaveLength(1);
    expect(calls.rows).toBe(1);
  });

  test("whose caller has stopped waiting wakes the watchers of its thread", async () => {
    const tenant = new MemoryDatabase().tenant("t");
    const sound = memoryDriver(tenant, Date.now);
    const transact: StoreDriver["transact"] = async (...args) => {
      const result = await sound.transact(...args);
      await turns(5);
      return result;
    };
    const store = defineStore({ ...sound, transact }, { pollMs: NEVER });
    onTestFinished(() => store.close());
    const seen = collect(store, "t");
    await turns(20);
    const stop = new AbortController();
    const appending = store.append("t", note(), { signal: stop.signal });
    stop.abort();
    await expect(appending).rejects.toMatchObject({ code: "store_aborted" });
    await expect.poll(() => seen).toHaveLength(1);
  });

  test("that was announced is read without a look", async () => {
    let wake: Wake = () => {};
    const { store, calls, other } = open(NEVER, {
      onChange(given) {
        wake = given;
        return () => {};
      },
    });
    const seen = collect(store, "t");
    await turns(20);
    calls.looks = 0;
    await other.append("t", note());
    wake(["t", "unwatched"]);
    await expect.poll(() => seen).toHaveLength(1);
    expect(calls.looks).toBe(0);
    await other.append("t", note());
    wake();
    await expect.poll(() => seen).toHaveLength(2);
    expect(calls.looks).toBe(1);
  });

  test("whose announcement was lost is found by a look 5 seconds later", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { store, calls, other } = open(100, {}, { isAnnounced: true });
    const seen = collect(store, "t");
    await turns(20);
    await other.append("t", note());
    vi.advanceTimersByTime(4999);
    await turns(20);
    expect([seen.length, calls.looks]).toEqual([0, 1]);
    vi.advanceTimersByTime(1);
    await turns(20);
    expect([seen.length, calls.looks]).toEqual([1, 2]);
  });
});

describe("watchers at rest", () => {
  test("share one look at each poll and read nothing", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { store, calls } = open(100);
    for (let n = 0; n < 100; n++) collect(store, `t${n % 50}`);
    void store.feed()[Symbol.asyncIterator]().next();
    await turns(20);
    Object.assign(calls, { rows: 0, changes: 0, looks: 0 });
    for (let poll = 0; poll < 10; poll++) {
      vi.advanceTimersByTime(100);
      await turns(3);
    }
    expect(calls).toEqual({ rows: 0, changes: 0, looks: 10 });
  });

  test("that are not waiting, or are gone, cause no look", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { store, calls } = open(100);
    await store.append("t", [note(), note()]);
    const stop = new AbortController();
    const over = Array.fromAsync(store.watch("t", { fromSeq: 2, signal: stop.signal }));
    const busy = store.watch("t", { fromSeq: 0 })[Symbol.asyncIterator]();
    await busy.next(); // its consumer works on the first entry
    await turns(20);
    stop.abort();
    await over;
    calls.looks = 0;
    vi.advanceTimersByTime(1000);
    await turns(20);
    expect(calls.looks).toBe(0);
    await busy.return?.();
  });

  test("of a driver without changedThreads read at each poll", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { store, calls, other } = open(100, {}, { canLook: false });
    const seen = [collect(store, "a"), collect(store, "b")];
    await turns(20);
    calls.rows = 0;
    await other.append("b", note());
    vi.advanceTimersByTime(100);
    await turns(20);
    expect(seen.map(({ length }) => length)).toEqual([0, 1]);
    expect(calls.rows).toBe(2);
  });
});

test.each(["this process", "another"])(
  "a deletion by %s wakes those that follow the inbox of the thread",
  async (who) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { store, other } = open(1000);
    for (const id of ["t", "left"]) await store.append(id, note());
    const woken: string[] = [];
    const ends = ["t", "left"].map((id) => store.onPosted(id, () => woken.push(id)));
    await turns(20);
    woken.length = 0; // the first look wakes all
    await (who === "another" ? other : store).delete("t");
    if (who === "another") vi.advanceTimersByTime(1000);
    await turns(20);
    expect(woken).toEqual(["t"]);
    for (const end of ends) end();
  },
);

test("a store that is closed listens to no changes, also where a reader was left in the middle", async () => {
  let listening = 0;
  const onChange: StoreDriver["onChange"] = () => {
    listening++;
    return () => {
      listening = 0;
    };
  };
  const driver = memoryDriver(new MemoryDatabase().tenant("t"), Date.now);
  const store = defineStore({ ...driver, onChange });
  await store.append("t", note());
  const reader = store.watch("t", { fromSeq: 0 })[Symbol.asyncIterator]();
  await reader.next();
  expect(listening).toBe(1);
  await store.close();
  expect(listening).toBe(0);
});
