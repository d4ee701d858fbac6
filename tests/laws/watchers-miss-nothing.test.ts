import { setImmediate as endOfTurn } from "node:timers/promises";
import type { ThreadStore } from "heddle";
import { defineStore, MemoryDatabase, type StoreDriver } from "heddle/store";
import { note } from "heddle/testing";
import { expect, test } from "vitest";
import { type MemoryTenant, memoryDriver } from "../../src/stores/memory-store.ts";
import { connectionLost } from "../../src/stores/postgres/errors.ts";
import { runCases } from "../support/case-budget.ts";
import { type Random, seeded } from "../support/seeded.ts";

const THREADS = ["a", "b", "c"] as const;

test("a watcher and a feed miss and repeat nothing, at any interleaving with appends of this and other processes", async () => {
  await runCases(400, async (round) => {
    const random = seeded(round);
    const world = new World(random);
    for (let step = 0; step < 60; step++) await world.step();
    await world.end();
  });
});

/** What one follower is asked to see, and what it saw. */
interface Follower {
  /** Undefined for a feed. */
  readonly threadId: string | undefined;
  readonly fromSeq: number;
  readonly stop: AbortController;
  readonly seen: string[];
}

/** Appends, watchers and feeds on one store, whose driver is slow, fails at times, and withholds rows from the feed. */
class World {
  readonly #random: Random;
  readonly #tenant = new MemoryDatabase().tenant("t");
  readonly #driver: SlowDriver;
  readonly #store: ThreadStore;
  readonly #other: ThreadStore;
  readonly #followers: Follower[] = [];
  readonly #running: Promise<void>[] = [];

  constructor(random: Random) {
    this.#random = random;
    this.#driver = new SlowDriver(random, this.#tenant);
    this.#store = defineStore(this.#driver.port, { pollMs: 1 });
    this.#other = defineStore(memoryDriver(this.#tenant, Date.now));
  }

  async step(): Promise<void> {
    const random = this.#random;
    const threadId = random.pick(THREADS);
    if (random.oneIn(5)) this.#follow();
    else if (random.oneIn(12)) random.pick([this.#followers[0], ...this.#followers])?.stop.abort();
    else if (random.oneIn(4)) this.#driver.settle();
    else if (random.oneIn(2)) await this.#other.append(threadId, note());
    else await this.#store.append(threadId, note());
    if (this.#driver.isListened && random.oneIn(3)) this.#driver.announce(random.oneIn(2) ? [threadId] : undefined);
    await someTurns(random, 4);
  }

  /** Every follower that was not stopped has seen what a reader sees that polls; a stopped one a part of it. */
  async end(): Promise<void> {
    this.#driver.heal();
    const wanted = this.#followers.map(({ threadId, fromSeq }) =>
      this.#tenant.log
        .filter((change) => threadId === undefined || change.threadId === threadId)
        .flatMap((change) => (change.type === "entry" ? change.row : []))
        .filter(({ seq }) => threadId === undefined || seq >= fromSeq)
        .map(({ id }) => id),
    );
    const seed = `seed ${this.#random.seed}`;
    for (const [index, { seen, stop }] of this.#followers.entries()) {
      const ids = wanted[index] ?? [];
      if (stop.signal.aborted) expect(seen, seed).toEqual(ids.slice(0, seen.length));
      else await expect.poll(() => seen, { timeout: 10_000, interval: 1, message: seed }).toEqual(ids);
    }
    await this.#store.close();
    await Promise.all(this.#running);
  }

  #follow(): void {
    const random = this.#random;
    const threadId = random.oneIn(3) ? undefined : random.pick(THREADS);
    const follower = { threadId, fromSeq: random.below(4), stop: new AbortController(), seen: [] as string[] };
    this.#followers.push(follower);
    this.#running.push(this.#run(follower));
  }

  async #run({ threadId, fromSeq, stop: { signal }, seen }: Follower): Promise<void> {
    const store = this.#store;
    if (threadId === undefined) {
      for await (const { entry } of store.feed({ signal })) {
        if (entry !== undefined) seen.push(entry.id);
        await someTurns(this.#random, 3); // its consumer is busy
      }
    } else {
      for await (const { id } of store.watch(threadId, { fromSeq, signal })) {
        seen.push(id);
        await someTurns(this.#random, 3);
      }
    }
  }
}

/** Between any two steps of a call other calls may run. A call that fails is retried by its caller. */
class SlowDriver {
  readonly port: StoreDriver;
  readonly isListened: boolean;
  readonly #random: Random;
  readonly #tenant: MemoryTenant;
  #wake: (threadIds?: readonly string[]) => void = () => {};
  /** The feed shows only this many rows, as if the next one were in an open transaction when it was committed. */
  #settled = 0;
  #isSound = false;

  constructor(random: Random, tenant: MemoryTenant) {
    this.#random = random;
    this.#tenant = tenant;
    this.isListened = random.oneIn(2);
    const sound = memoryDriver(tenant, Date.now);
    const canLag = random.oneIn(2);
    const slow = <Result>(work: () => Promise<Result>) => this.#slow(work);
    this.port = {
      ...sound,
      async transact(...args) {
        const result = await sound.transact(...args);
        await someTurns(random, 3);
        return result;
      },
      rows: (threadId, range) => slow(() => sound.rows(threadId, range)),
      changes: (after, limit) =>
        slow(async () => {
          const changes = await sound.changes(after, limit);
          return canLag ? changes.filter(({ cursor }) => Number(cursor) < this.#settled) : changes;
        }),
      changedThreads: (after, inboxes) =>
        slow(async () => {
          const found = await sound.changedThreads?.(after, inboxes);
          if (found === undefined) throw new Error("the memory driver has changedThreads");
          return canLag ? { ...found, isFeedBehind: this.#settled < tenant.log.length } : found;
        }),
    };
    if (!this.isListened) return;
    this.port.onChange = (wake) => {
      this.#wake = wake;
      return () => {
        this.#wake = () => {};
      };
    };
  }

  settle(): void {
    this.#settled = this.#isSound ? Number.POSITIVE_INFINITY : this.#tenant.log.length;
  }

  announce(threadIds: readonly string[] | undefined): void {
    this.#wake(threadIds);
  }

  /** From now on no call fails and nothing is withheld. */
  heal(): void {
    this.#isSound = true;
    this.settle();
  }

  async #slow<Result>(work: () => Promise<Result>): Promise<Result> {
    await someTurns(this.#random, 4);
    if (!this.#isSound && this.#random.oneIn(12)) throw connectionLost();
    const result = await work();
    await someTurns(this.#random, 4);
    return result;
  }
}

async function someTurns(random: Random, most: number): Promise<void> {
  for (let left = random.below(most); left > 0; left--) await endOfTurn();
}
