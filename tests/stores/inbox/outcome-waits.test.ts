import { setImmediate as endOfTurn } from "node:timers/promises";
import { defineStore, MemoryDatabase, type StoreDriver } from "heddle/store";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { memoryDriver } from "../../../src/stores/memory-store.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Two stores with the same data. The first one counts its queries for outcomes, and its looks for changed threads. */
function open({ isAnnounced = false } = {}) {
  const tenant = new MemoryDatabase().tenant("t");
  const sound = memoryDriver(tenant, Date.now);
  const calls = { commands: 0, looks: 0 };
  const driver: StoreDriver = {
    ...sound,
    async commands(keys) {
      calls.commands++;
      return sound.commands(keys);
    },
    async changedThreads() {
      calls.looks++;
      return { threadIds: [], position: "", isAnnounced };
    },
  };
  const store = defineStore(driver, { pollMs: 100 });
  onTestFinished(() => store.close());
  return { store, calls, other: defineStore(memoryDriver(tenant, Date.now)) };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await endOfTurn();
}

const consumes = (id: string) => ({ consumes: [{ id, outcome: { status: "done" } }] });

test("waits for outcomes share one query at each poll", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { store, calls, other } = open();
  const ids = Array.from({ length: 50 }, (_, n) => `c${n}`);
  for (const id of ids) await other.post(`t-${id}`, { id, type: "ask" });
  const found: unknown[] = [];
  for (const id of ids) void store.outcome(`t-${id}`, id).then((outcome) => found.push(outcome));
  await turns(20);
  calls.commands = 0;
  for (let poll = 0; poll < 3; poll++) {
    vi.advanceTimersByTime(100);
    await turns(5);
  }
  expect(calls.commands).toBe(3);
  for (const id of ids) await other.append(`t-${id}`, [], consumes(id));
  vi.advanceTimersByTime(100);
  await turns(20);
  expect(found).toEqual(ids.map(() => ({ status: "done" })));
  expect(calls.commands).toBe(4);
  calls.looks = 0;
  vi.advanceTimersByTime(10_000);
  await turns(20);
  expect(calls, "nothing waits, so nothing is asked").toEqual({ commands: 4, looks: 0 });
});

test("an outcome whose announcement was lost is found by a look 5 seconds later", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { store, calls, other } = open({ isAnnounced: true });
  await other.post("t", { id: "c", type: "ask" });
  const found: unknown[] = [];
  void store.outcome("t", "c").then((outcome) => found.push(outcome));
  await turns(20);
  await other.append("t", [], consumes("c"));
  calls.commands = 0;
  vi.advanceTimersByTime(4999);
  await turns(20);
  expect(calls.commands).toBe(0);
  vi.advanceTimersByTime(1);
  await turns(20);
  expect(found).toEqual([{ status: "done" }]);
});
