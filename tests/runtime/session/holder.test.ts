import { memoryStore, StoreError, type ThreadStore } from "heddle";
import { MemoryDatabase } from "heddle/store";
import { describe, expect, test } from "vitest";
import { Holder, type HolderOptions } from "../../../src/runtime/session/holder.ts";
import { type Clockwork, clockwork } from "../support/clockwork.ts";
import { gate } from "../support/stage.ts";

const THREAD = "thread_1";
const TTL = 9_000;

function claim(store: ThreadStore, { ports }: Clockwork, options: Partial<HolderOptions> = {}): Promise<Holder> {
  const lost = (): void => undefined;
  return Holder.claim(store, THREAD, { holder: "one", ttlMs: TTL, waitMs: 60_000, ports, lost, ...options });
}

async function ready(store: ThreadStore): Promise<ThreadStore> {
  await store.load("warm_up"); // loads what is loaded on demand
  return store;
}

describe("a process that waits for a claim", () => {
  test("has it at once when the same process releases it", async () => {
    const time = clockwork();
    const store = await ready(memoryStore({ clock: time.ports.clock }));
    const first = await claim(store, time);
    const second = claim(store, time, { holder: "two" });
    await time.pass(1_010);
    await first.release();
    const before = time.ports.clock();
    expect((await second).epoch).toBe(2);
    expect(time.ports.clock() - before).toBe(0);
  });

  test("has it within 300 ms when another process releases it", async () => {
    const time = clockwork();
    const database = new MemoryDatabase();
    const clock = time.ports.clock;
    const [one, two] = [await ready(memoryStore({ clock, database })), await ready(memoryStore({ clock, database }))];
    const first = await claim(one, time);
    const second = claim(two, time, { holder: "two" });
    await time.pass(1_010);
    await first.release();
    const before = clock();
    expect((await time.end(second)).epoch).toBe(2);
    expect(clock() - before).toBeLessThanOrEqual(300);
  });

  test("looks at most ten times a second", async () => {
    const time = clockwork();
    const store = await ready(memoryStore({ clock: time.ports.clock }));
    await claim(store, time);
    let looks = 0;
    const bare = store.claim.bind(store);
    store.claim = (...given) => {
      looks += 1;
      return bare(...given);
    };
    const second = claim(store, time, { holder: "two", waitMs: 2_000 });
    await expect(time.end(second)).rejects.toMatchObject({ code: "thread_held", holder: "one" });
    expect(looks).toBeLessThanOrEqual(22);
  });

  test("waits no longer when the clock is set back", async () => {
    const time = clockwork();
    let setBack = 0;
    const clock = (): number => time.ports.clock() - setBack;
    const store = await ready(memoryStore({ clock }));
    await claim(store, time);
    const before = time.ports.monotonic();
    const second = claim(store, time, { holder: "two", waitMs: 5_000, ports: { ...time.ports, clock } });
    await time.pass(1_000);
    setBack = 3_600_000;
    await expect(time.end(second)).rejects.toMatchObject({ code: "thread_held" });
    expect(time.ports.monotonic() - before).toBe(5_000);
  });

  test("stops waiting when its signal is aborted", async () => {
    const time = clockwork();
    const store = await ready(memoryStore({ clock: time.ports.clock }));
    await claim(store, time);
    const abort = new AbortController();
    const second = claim(store, time, { holder: "two", signal: abort.signal });
    await time.settled();
    abort.abort(new Error("not wanted"));
    await expect(second).rejects.toThrow("not wanted");
  });
});

/** A store of a driver that keeps no leases: each claim is renewed by itself. */
function withoutLeases(store: ThreadStore): ThreadStore {
  return { ...store, leases: undefined };
}

describe.each([
  ["with a lease", (store: ThreadStore) => store],
  ["of a store without leases", withoutLeases],
])("a claim %s", (_, given) => {
  /** A store whose renewals wait, or fail. */
  async function staged() {
    const time = clockwork();
    const bare = given(await ready(memoryStore({ clock: time.ports.clock })));
    const state: { before: () => Promise<unknown> } = { before: async () => undefined };
    const slowly =
      <Given extends readonly unknown[], Result>(renew: (...args: Given) => Promise<Result>) =>
      async (...args: Given): Promise<Result> => {
        await state.before();
        return renew(...args);
      };
    const leases = bare.leases && { ...bare.leases, renew: slowly(bare.leases.renew) };
    const store = { ...bare, leases, renew: slowly(bare.renew) };
    const lost: unknown[] = [];
    const holder = await claim(store, time, { lost: (error) => void lost.push(error) });
    return { time, state, lost, holder };
  }
  const away = () => Promise.reject(new StoreError({ code: "store_unreachable", retryable: true, message: "away" }));

  test("is held for two thirds of its time after the last renewal that succeeded, and no longer", async () => {
    const { time, state, holder } = await staged();
    await time.pass(3_001); // renewed at 3,000
    state.before = away;
    await time.pass(5_998);
    expect(holder.isHeld).toBe(true);
    await time.pass(1);
    expect(holder.isHeld).toBe(false);
  });

  test("is renewed from the moment the renewal was sent, not when its answer came", async () => {
    const { time, state, holder } = await staged();
    const answer = gate();
    state.before = () => answer.promise;
    await time.pass(7_000); // sent at 3,000
    expect(holder.isHeld).toBe(false);
    answer.resolve();
    await time.settled();
    expect(holder.isHeld).toBe(true);
    state.before = away;
    await time.pass(2_000);
    expect(holder.isHeld).toBe(false);
  });

  test("of a process that was frozen is renewed before it counts as held again", async () => {
    const time = clockwork();
    let frozen = 0;
    const ports = { ...time.ports, monotonic: () => time.ports.monotonic() + frozen };
    const store = given(await ready(memoryStore({ clock: time.ports.clock })));
    const lost: unknown[] = [];
    const holder = await claim(store, time, { ports, lost: (error) => void lost.push(error) });
    frozen = 8_000;
    expect(holder.isHeld).toBe(false);
    expect(await holder.ensure()).toBe(true);
    frozen = 60_000;
    await store.release(THREAD, holder.epoch);
    await store.claim(THREAD, { holder: "two", ttlMs: TTL });
    expect(await holder.ensure()).toBe(false);
    expect(lost).toMatchObject([{ code: "stale_holder", holder: "two" }]);
  });

  test("that cannot be renewed is lost when its time has passed, with the error of the store", async () => {
    const { time, state, holder, lost } = await staged();
    state.before = away;
    const ensured = time.pass(6_500).then(() => holder.ensure());
    await time.pass(8_000);
    expect(lost).toEqual([]);
    await time.pass(2_000);
    expect(lost).toMatchObject([{ code: "store_unreachable", message: "away" }]);
    expect(await time.end(ensured)).toBe(false);
  });

  test("that was lost is held again when a renewal succeeds", async () => {
    const { time, state, holder } = await staged();
    const answer = gate();
    state.before = () => answer.promise;
    await time.pass(12_000);
    expect(await holder.ensure()).toBe(false);
    state.before = async () => undefined;
    answer.resolve();
    await time.settled();
    expect(holder.isHeld).toBe(false); // that renewal is as old as its request
    await time.pass(3_000);
    expect(holder.isHeld).toBe(true);
    await holder.release();
    expect(holder.isHeld).toBe(false);
  });
});
