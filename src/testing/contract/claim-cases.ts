import { ThreadHeldError } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Entry } from "../../thread/entry.ts";
import { note } from "../builders.ts";
import { type ContractTests, equal, firstItems, ok, present, rejects, until } from "./case-fixture.ts";
import type { WorkerResult } from "./worker-job.ts";

/** A claim that does not expire during any case, in milliseconds. */
const LONG_TTL_MS = 600_000;

/** Cases: a thread has one claim holder at a time, by the store's clock. */
export const claimCases: ContractTests = {
  "a thread has one holder at a time": async ({ store, open, thread }) => {
    const { until: end } = await store.claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS });
    const held = { code: "thread_held", holder: "ada", until: end, threadId: thread, retryable: true };
    await rejects(store.claim(thread, { holder: "bob", ttlMs: LONG_TTL_MS }), held, "claim");
    await rejects((await open()).claim(thread, { holder: "bob", ttlMs: LONG_TTL_MS }), held, "claim in another handle");
  },

  "a thread that does not exist yet can be claimed": async ({ store, thread }) => {
    const { epoch } = await store.claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS });
    equal(await store.load(thread), undefined, "thread");
    equal((await store.list()).threads, [], "list");
    equal((await store.append(thread, note(), { epoch })).rev, 1, "rev");
  },

  "of many claims at once exactly one wins": async ({ store, open, thread }) => {
    const other = await open();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, (_, n) =>
        (n % 2 === 0 ? store : other).claim(thread, { holder: `holder ${n}`, ttlMs: LONG_TTL_MS }),
      ),
    );
    equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1, "winners");
    for (const outcome of outcomes)
      if (outcome.status === "rejected") ok(ThreadHeldError.isInstance(outcome.reason), "the others get thread_held");
  },

  "epochs grow with each claim": async ({ store, thread }) => {
    const epochs: number[] = [];
    for (const holder of ["ada", "bob", "ada"]) {
      const { epoch } = await store.claim(thread, { holder, ttlMs: LONG_TTL_MS });
      epochs.push(epoch);
      await store.release(thread, epoch);
    }
    ok(isGrowing(epochs), `epochs grow: ${epochs}`);
  },

  "a holder that claims again ends its earlier claim": async ({ store, thread }) => {
    const first = await store.claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS });
    const second = await store.claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS });
    ok(isGrowing([first.epoch, second.epoch]), "the epoch grows");
    await rejects(store.renew(thread, first.epoch), { code: "stale_holder" }, "renew of the first");
    equal((await store.renew(thread, second.epoch)).epoch, second.epoch, "epoch");
  },

  "an append with an epoch that is over is refused and nothing is written": async ({ store, open, thread }) => {
    const other = await open();
    const first = await store.claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS });
    await store.append(thread, note(), { epoch: first.epoch });
    await store.release(thread, first.epoch);
    const second = await other.claim(thread, { holder: "bob", ttlMs: LONG_TTL_MS });
    const stale = { code: "stale_holder", epoch: first.epoch, current: second.epoch, threadId: thread };
    await rejects(store.append(thread, note(), { epoch: first.epoch }), stale, "append");
    await rejects(
      store.append(thread, note(), { epoch: first.epoch, expectedRev: 1 }),
      stale,
      "append at its revision",
    );
    equal((await store.load(thread))?.rev, 1, "rev");
    equal((await other.append(thread, note(), { epoch: second.epoch })).rev, 2, "rev");
    equal((await store.append(thread, note())).rev, 3, "an append without an epoch is free");
  },

  "a retry is answered whoever holds the thread now": async ({ store, thread }) => {
    const { epoch } = await store.claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS });
    await store.append(thread, note({}, { id: "a" }), { epoch });
    await store.claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS });
    equal((await store.append(thread, note({}, { id: "a" }), { epoch })).replayed, true, "replayed");
  },

  "renew holds on": async ({ store, thread }) => {
    const claim = await store.claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS });
    const renewed = await until(async () => {
      const next = await store.renew(thread, claim.epoch);
      return next.until > claim.until ? next : undefined;
    });
    equal(renewed.epoch, claim.epoch, "epoch");
    const held = { code: "thread_held", until: renewed.until };
    await rejects(store.claim(thread, { holder: "bob", ttlMs: LONG_TTL_MS }), held, "claim");
  },

  "a claim that has run out is free": async ({ store, open, thread }) => {
    const other = await open();
    const first = await store.claim(thread, { holder: "ada", ttlMs: 5 });
    const second = await until(() => other.claim(thread, { holder: "bob", ttlMs: LONG_TTL_MS }).catch(heldStill));
    ok(isGrowing([first.epoch, second.epoch]), "the epoch grows");
    const stale = { code: "stale_holder", epoch: first.epoch, current: second.epoch };
    await rejects(store.renew(thread, first.epoch), stale, "renew");
    await rejects(store.append(thread, note(), { epoch: first.epoch }), stale, "append");
    await rejects(store.release(thread, first.epoch), stale, "release");
  },

  "a claim that has run out is still its holder's if nobody else came": async ({ store, thread }) => {
    const { epoch } = await store.claim(thread, { holder: "ada", ttlMs: 1 });
    const before = Date.now();
    await until(async () => (Date.now() > before + 2 ? true : undefined));
    equal((await store.append(thread, note(), { epoch })).rev, 1, "rev");
    equal((await store.renew(thread, epoch)).epoch, epoch, "epoch");
  },

  "release frees the thread": async ({ store, open, thread }) => {
    const { epoch } = await store.claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS });
    await store.release(thread, epoch);
    const next = await (await open()).claim(thread, { holder: "bob", ttlMs: LONG_TTL_MS });
    ok(isGrowing([epoch, next.epoch]), "the epoch grows");
    await rejects(store.release(thread, epoch), { code: "stale_holder" }, "release of what another holds");
  },

  "a released claim cannot be renewed": async ({ store, thread }) => {
    const { epoch } = await store.claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS });
    await store.release(thread, epoch);
    await rejects(store.renew(thread, epoch), { code: "stale_holder", epoch, current: epoch }, "renew");
    await store.claim(thread, { holder: "bob", ttlMs: LONG_TTL_MS });
  },

  "an append of ids that the next holder has used says that its epoch is over": async ({ store, thread }) => {
    const { epoch } = await store.claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS });
    await store.release(thread, epoch);
    const next = await store.claim(thread, { holder: "bob", ttlMs: LONG_TTL_MS });
    await store.append(thread, note({ by: "bob" }, { id: "a" }), { epoch: next.epoch });
    const stale = { code: "stale_holder", epoch, current: next.epoch };
    await rejects(store.append(thread, note({ by: "ada" }, { id: "a" }), { epoch }), stale, "other content");
    const more = [note({ by: "bob" }, { id: "a" }), note()];
    await rejects(store.append(thread, more, { epoch }), stale, "a longer batch");
  },

  "an epoch nobody got is stale": async ({ store, thread }) => {
    await rejects(store.renew(thread, 1), { code: "stale_holder", current: 0 }, "renew");
    await rejects(store.release(thread, 1), { code: "stale_holder", current: 0 }, "release");
    await rejects(store.append(thread, note(), { epoch: 1 }), { code: "stale_holder", current: 0 }, "append");
    equal(await store.load(thread), undefined, "thread");
  },

  "epochs go on growing after the thread is deleted": async ({ store, thread }) => {
    await store.append(thread, note());
    const first = await store.claim(thread, { holder: "ada", ttlMs: LONG_TTL_MS });
    await store.delete(thread);
    await store.release(thread, first.epoch);
    const second = await store.claim(thread, { holder: "bob", ttlMs: LONG_TTL_MS });
    ok(isGrowing([first.epoch, second.epoch]), "the epoch grows");
    await rejects(store.append(thread, note(), { epoch: first.epoch }), { code: "stale_holder" }, "append");
  },

  "each thread has a holder of its own": async ({ store, fresh }) => {
    await store.claim(fresh("a"), { holder: "ada", ttlMs: LONG_TTL_MS });
    await store.claim(fresh("b"), { holder: "bob", ttlMs: LONG_TTL_MS });
    await rejects(
      store.claim(fresh("b"), { holder: "ada", ttlMs: LONG_TTL_MS }),
      { code: "thread_held", holder: "bob" },
      "b",
    );
  },

  "a claim may be for as long as there are numbers": async ({ store, thread }) => {
    const { epoch } = await store.claim(thread, { holder: "ada", ttlMs: Number.MAX_SAFE_INTEGER });
    await rejects(
      store.claim(thread, { holder: "bob", ttlMs: LONG_TTL_MS }),
      { code: "thread_held", holder: "ada" },
      "claim",
    );
    ok(Number.isSafeInteger((await store.renew(thread, epoch)).until), "its end is a number");
  },

  "a claim needs a time and an epoch that make sense": async ({ store, thread }) => {
    for (const ttlMs of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      await rejects(store.claim(thread, { holder: "ada", ttlMs }), { code: "invalid_options" }, `ttlMs ${ttlMs}`);
    for (const epoch of [-1, 1.5, Number.NaN]) {
      await rejects(store.renew(thread, epoch), { code: "invalid_options" }, `renew ${epoch}`);
      await rejects(store.release(thread, epoch), { code: "invalid_options" }, `release ${epoch}`);
      await rejects(store.append(thread, note(), { epoch }), { code: "invalid_options" }, `append ${epoch}`);
    }
  },
};

function isGrowing(epochs: readonly number[]): boolean {
  return epochs.every((epoch, n) => n === 0 || epoch > (epochs[n - 1] ?? 0));
}

function heldStill(error: unknown): undefined {
  if (!ThreadHeldError.isInstance(error)) throw error;
}

const BATCHES = 12;
const SIZE = 3;
const ENTRIES = BATCHES * SIZE;

/** Cases: the same requirements when the other writer is another process. */
export const processCases: ContractTests = {
  "two processes that append leave no gap and no duplicate, and no batch is torn": async ({ store, thread, spawn }) => {
    const job = { task: "append", threadId: thread, batches: BATCHES, batchSize: SIZE } as const;
    const results = await Promise.all([spawn({ ...job, writer: "a" }), spawn({ ...job, writer: "b" })]);
    await allThere(store, thread, results);
    equal(
      results.map(({ conflicts }) => conflicts),
      [0, 0],
      "conflicts",
    );
  },

  "two processes that compete for each revision both get there": async ({ store, thread, spawn }) => {
    const job = { task: "compete", threadId: thread, batches: BATCHES, batchSize: SIZE } as const;
    const results = await Promise.all([spawn({ ...job, writer: "a" }), spawn({ ...job, writer: "b" })]);
    await allThere(store, thread, results);
  },

  "two processes that claim the thread take turns": async ({ store, thread, spawn }) => {
    const job = { task: "claim", threadId: thread, batches: BATCHES, batchSize: SIZE } as const;
    const results = await Promise.all([spawn({ ...job, writer: "a" }), spawn({ ...job, writer: "b" })]);
    await allThere(store, thread, results);
  },

  "a watcher and a feed see what other processes append": async ({ store, thread, spawn }) => {
    const watching = firstItems(ENTRIES * 2, store.watch(thread, { fromSeq: 0 }));
    const feeding = firstItems(ENTRIES * 2, store.feed());
    const job = { task: "append", threadId: thread, batches: BATCHES, batchSize: SIZE } as const;
    await Promise.all([spawn({ ...job, writer: "a" }), spawn({ ...job, writer: "b" })]);
    const stored = present(await store.load(thread), "thread").toArray();
    equal(await watching, stored, "watched entries");
    equal(
      (await feeding).map(({ entry }) => entry),
      stored,
      "fed entries",
    );
  },

  "what a process has written is there when it is gone": async ({ store, thread, spawn }) => {
    const job = { threadId: thread, writer: "a", batches: 2, batchSize: SIZE } as const;
    await spawn({ ...job, task: "append" });
    const again = Array.from({ length: SIZE }, (_, i) => note({ writer: "a" }, { id: `a_1_${i}` }));
    equal((await store.append(thread, again, { expectedRev: 0 })).replayed, true, "replayed here");
    await spawn({ ...job, task: "append" });
    equal((await store.load(thread))?.rev, 2 * SIZE, "rev after the same work in a third process");
  },
};

async function allThere(store: ThreadStore, thread: string, results: readonly WorkerResult[]): Promise<void> {
  const entries = present(await store.load(thread), "thread").toArray();
  equal(entries.length, results.length * ENTRIES, "entries");
  const starts = results.flatMap(({ acknowledged }) => acknowledged).sort((a, b) => a - b);
  equal(
    starts,
    starts.map((_, n) => n * SIZE),
    "acknowledged batches",
  );
  for (const start of starts) ok(isBatch(entries.slice(start, start + SIZE)), `a whole batch at ${start}`);
  equal((await store.verify(thread)).ok, true, "verify");
}

/** `<writer>_<batch>_0`, `_1`, `_2`. */
function isBatch(entries: readonly Entry[]): boolean {
  const stem = entries[0]?.id.slice(0, -1);
  return entries.every(({ id }, i) => id === `${stem}${i}`);
}
