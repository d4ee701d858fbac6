import { ThreadHeldError } from "../../stores/errors.ts";
import { note } from "../builders.ts";
import { equal, ok, rejects } from "../check.ts";
import { until } from "../drain.ts";
import type { Stories } from "../world.ts";

/** Long enough that no case outlives it. */
const LONG = 600_000;

/** One holder per thread, by the store's clock. */
export const claims: Stories = {
  "a thread has one holder at a time": async ({ store, open, thread }) => {
    const { until: end } = await store.claim(thread, { holder: "ada", ttlMs: LONG });
    const held = { code: "thread_held", holder: "ada", until: end, threadId: thread, retryable: true };
    await rejects(store.claim(thread, { holder: "bob", ttlMs: LONG }), held, "claim");
    await rejects((await open()).claim(thread, { holder: "bob", ttlMs: LONG }), held, "claim in another handle");
  },

  "a thread that does not exist yet can be claimed": async ({ store, thread }) => {
    const { epoch } = await store.claim(thread, { holder: "ada", ttlMs: LONG });
    equal(await store.load(thread), undefined, "thread");
    equal((await store.list()).threads, [], "list");
    equal((await store.append(thread, note(), { epoch })).rev, 1, "rev");
  },

  "of many claims at once exactly one wins": async ({ store, open, thread }) => {
    const other = await open();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, (_, n) =>
        (n % 2 === 0 ? store : other).claim(thread, { holder: `holder ${n}`, ttlMs: LONG }),
      ),
    );
    equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1, "winners");
    for (const outcome of outcomes)
      if (outcome.status === "rejected") ok(ThreadHeldError.isInstance(outcome.reason), "the others get thread_held");
  },

  "epochs grow with each claim": async ({ store, thread }) => {
    const epochs: number[] = [];
    for (const holder of ["ada", "bob", "ada"]) {
      const { epoch } = await store.claim(thread, { holder, ttlMs: LONG });
      epochs.push(epoch);
      await store.release(thread, epoch);
    }
    ok(isGrowing(epochs), `epochs grow: ${epochs}`);
  },

  "a holder that claims again ends its earlier claim": async ({ store, thread }) => {
    const first = await store.claim(thread, { holder: "ada", ttlMs: LONG });
    const second = await store.claim(thread, { holder: "ada", ttlMs: LONG });
    ok(isGrowing([first.epoch, second.epoch]), "the epoch grows");
    await rejects(store.renew(thread, first.epoch), { code: "stale_holder" }, "renew of the first");
    equal((await store.renew(thread, second.epoch)).epoch, second.epoch, "epoch");
  },

  "an append with an epoch that is over is refused and nothing is written": async ({ store, open, thread }) => {
    const other = await open();
    const first = await store.claim(thread, { holder: "ada", ttlMs: LONG });
    await store.append(thread, note(), { epoch: first.epoch });
    await store.release(thread, first.epoch);
    const second = await other.claim(thread, { holder: "bob", ttlMs: LONG });
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
    const { epoch } = await store.claim(thread, { holder: "ada", ttlMs: LONG });
    await store.append(thread, note({}, { id: "a" }), { epoch });
    await store.claim(thread, { holder: "ada", ttlMs: LONG });
    equal((await store.append(thread, note({}, { id: "a" }), { epoch })).replayed, true, "replayed");
  },

  "renew holds on": async ({ store, thread }) => {
    const claim = await store.claim(thread, { holder: "ada", ttlMs: LONG });
    const renewed = await until(async () => {
      const next = await store.renew(thread, claim.epoch);
      return next.until > claim.until ? next : undefined;
    });
    equal(renewed.epoch, claim.epoch, "epoch");
    const held = { code: "thread_held", until: renewed.until };
    await rejects(store.claim(thread, { holder: "bob", ttlMs: LONG }), held, "claim");
  },

  "a claim that has run out is free": async ({ store, open, thread }) => {
    const other = await open();
    const first = await store.claim(thread, { holder: "ada", ttlMs: 5 });
    const second = await until(() => other.claim(thread, { holder: "bob", ttlMs: LONG }).catch(heldStill));
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
    const { epoch } = await store.claim(thread, { holder: "ada", ttlMs: LONG });
    await store.release(thread, epoch);
    const next = await (await open()).claim(thread, { holder: "bob", ttlMs: LONG });
    ok(isGrowing([epoch, next.epoch]), "the epoch grows");
    await rejects(store.release(thread, epoch), { code: "stale_holder" }, "release of what another holds");
  },

  "an epoch nobody got is stale": async ({ store, thread }) => {
    await rejects(store.renew(thread, 1), { code: "stale_holder", current: 0 }, "renew");
    await rejects(store.release(thread, 1), { code: "stale_holder", current: 0 }, "release");
    await rejects(store.append(thread, note(), { epoch: 1 }), { code: "stale_holder", current: 0 }, "append");
    equal(await store.load(thread), undefined, "thread");
  },

  "epochs go on growing after the thread is deleted": async ({ store, thread }) => {
    await store.append(thread, note());
    const first = await store.claim(thread, { holder: "ada", ttlMs: LONG });
    await store.delete(thread);
    await store.release(thread, first.epoch);
    const second = await store.claim(thread, { holder: "bob", ttlMs: LONG });
    ok(isGrowing([first.epoch, second.epoch]), "the epoch grows");
    await rejects(store.append(thread, note(), { epoch: first.epoch }), { code: "stale_holder" }, "append");
  },

  "each thread has a holder of its own": async ({ store, fresh }) => {
    await store.claim(fresh("a"), { holder: "ada", ttlMs: LONG });
    await store.claim(fresh("b"), { holder: "bob", ttlMs: LONG });
    await rejects(store.claim(fresh("b"), { holder: "ada", ttlMs: LONG }), { code: "thread_held", holder: "bob" }, "b");
  },

  "a claim may be for as long as there are numbers": async ({ store, thread }) => {
    const { epoch } = await store.claim(thread, { holder: "ada", ttlMs: Number.MAX_SAFE_INTEGER });
    await rejects(store.claim(thread, { holder: "bob", ttlMs: LONG }), { code: "thread_held", holder: "ada" }, "claim");
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
