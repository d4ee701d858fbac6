import { note, notes } from "../builders.ts";
import { equal, rejects } from "../check.ts";
import type { Stories } from "../world.ts";

/** The promises of `expectedRev`. */
export const revisions: Stories = {
  "an append at the right revision lands": async ({ store, thread }) => {
    const { rev } = await store.append(thread, notes(3));
    equal((await store.append(thread, note(), { expectedRev: rev })).rev, 4, "rev");
  },

  "an append at a revision that is over is a conflict and writes nothing": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    const facts = { code: "conflict", expected: 2, actual: 3, threadId: thread, retryable: false };
    await rejects(store.append(thread, notes(2), { expectedRev: 2 }), facts, "append");
    equal((await store.load(thread))?.rev, 3, "rev");
  },

  "an append at a revision yet to come is a conflict and writes nothing": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    const facts = { code: "conflict", expected: 4, actual: 3 };
    await rejects(store.append(thread, note(), { expectedRev: 4 }), facts, "append");
    equal((await store.load(thread))?.rev, 3, "rev");
  },

  "revision 0 means that the thread must not be there": async ({ store, thread }) => {
    equal((await store.append(thread, note(), { expectedRev: 0 })).rev, 1, "rev");
    const facts = { code: "conflict", expected: 0, actual: 1 };
    await rejects(store.append(thread, note(), { expectedRev: 0 }), facts, "append");
  },

  "a missing thread is at revision 0": async ({ store, thread }) => {
    const facts = { code: "conflict", expected: 3, actual: 0 };
    await rejects(store.append(thread, note(), { expectedRev: 3 }), facts, "append");
    equal(await store.load(thread), undefined, "thread");
  },

  "a conflict does not stand in the way of the next append": async ({ store, thread }) => {
    await store.append(thread, notes(2));
    await rejects(store.append(thread, note(), { expectedRev: 0 }), { code: "conflict" }, "append");
    equal((await store.append(thread, note(), { expectedRev: 2 })).rev, 3, "rev");
  },

  "a revision that is no whole number from 0 is refused": async ({ store, thread }) => {
    for (const expectedRev of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      await rejects(store.append(thread, note(), { expectedRev }), { code: "invalid_options" }, `at ${expectedRev}`);
    equal(await store.load(thread), undefined, "thread");
  },
};
