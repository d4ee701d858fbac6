import type { ThreadBase } from "../../thread/base.ts";
import type { Entry, EntryInput } from "../../thread/entry.ts";
import { inLane, note, replace, summary, switchTo, user } from "../builders.ts";
import { equal, present } from "../check.ts";
import { naiveBase } from "../naive-base.ts";
import type { Random } from "../random.ts";
import type { Stories, World } from "../world.ts";

/** The base of a tail, compared with one computed from all entries. */
export const bases: Stories = {
  "the base of a thread without lanes measures what lies before": async ({ store, thread }) => {
    await store.append(thread, [note({ a: 1 }), user("hi"), note({ text: "w\u00f6ol \u{1F9F6}" }), note()]);
    await agrees(store, thread);
  },

  "the base knows the active lane, the latest replace and the summary of each lane": async ({ store, thread }) => {
    await store.append(thread, [
      user("hi"),
      summary(0, 0),
      switchTo("research"),
      user("look"),
      replace("research", 3),
      inLane("default", user("back here")),
      summary(3, 6),
      switchTo("default"),
      replace("default"),
      user("on"),
    ]);
    await agrees(store, thread);
  },

  "lanes may have any name": async ({ store, thread }) => {
    const names = ["__proto__", "constructor", "toString", "1", "\u{1F9F6}", " "];
    await store.append(
      thread,
      names.flatMap((name) => [switchTo(name), user("hi"), inLane("default", user("there"))]),
    );
    await agrees(store, thread);
  },

  "a base is right wherever the tail begins, whatever the thread": async ({ store, random, fresh }) => {
    for (let round = 0; round < 12; round++) {
      const id = fresh(`r${round}`);
      for (let at = 0, total = 5 + random.below(30); at < total; ) {
        const batch = random.list(1 + random.below(4), (i) => randomEntry(random, at + i));
        await store.append(id, batch);
        at += batch.length;
      }
      await agrees(store, id);
    }
  },

  "a base is right after a fork and what follows it": async ({ store, random, thread, fresh }) => {
    await store.append(
      thread,
      random.list(20, (seq) => randomEntry(random, seq)),
    );
    for (const atSeq of [0, 7, 19]) {
      const newId = fresh(`fork${atSeq}`);
      await store.fork(thread, { atSeq, newId });
      await agrees(store, newId);
      await store.append(
        newId,
        random.list(10, (i) => randomEntry(random, atSeq + 1 + i)),
      );
      await agrees(store, newId);
    }
  },

  "a base is right for a thread that was saved": async ({ store, open, random, thread, fresh }) => {
    await store.append(
      thread,
      random.list(15, (seq) => randomEntry(random, seq)),
    );
    const elsewhere = await open({ tenant: fresh("elsewhere") });
    await elsewhere.save(present(await store.load(thread), "thread"));
    await agrees(elsewhere, thread);
  },
};

/** Checks every possible start of a tail, at the current and earlier revisions. */
async function agrees(store: World["store"], id: string): Promise<void> {
  const thread = present(await store.load(id), "thread");
  const all = thread.toArray();
  for (let firstSeq = 1; firstSeq <= all.length; firstSeq++) {
    const expected = naiveBase(all.slice(0, firstSeq));
    const tail = await store.load(id, { last: all.length - firstSeq });
    sameBase(tail?.base, expected, all, firstSeq);
    const past = await store.load(id, { upToSeq: firstSeq, last: 1 }).catch(() => undefined);
    if (past !== undefined) sameBase(past.base, expected, all, firstSeq);
  }
}

function sameBase(actual: ThreadBase | undefined, expected: ThreadBase, all: readonly Entry[], firstSeq: number): void {
  equal(actual, expected, `base at ${firstSeq} of ${JSON.stringify(all.map(({ kind, payload }) => [kind, payload]))}`);
}

function randomEntry(random: Random, seq: number): EntryInput {
  const lane = random.pick(["default", "a", "b"]);
  const place = () => random.below(seq + 2);
  const entry = random.pick<() => EntryInput>([
    () => user("x".repeat(random.below(60))),
    () => note(random.oneIn(2) ? {} : { text: "\u00fc\u{1F9F6}".repeat(random.below(9)) }),
    () => summary(0, place()),
    () => summary(0, place()),
    () => replace(lane, random.oneIn(2) ? undefined : place() - 1),
    () => switchTo(lane),
    () => branch(lane, random.pick(["default", "a", "b"]), place() - 1),
    () => malformed(random, lane),
  ])();
  return entry.kind !== "ai_context_operation" && random.oneIn(2) ? inLane(lane, entry) : entry;
}

function branch(contextRef: string, from: string, atSeq: number): EntryInput {
  return {
    kind: "ai_context_operation",
    payload: { contextRef, operation: { type: "switch", reason: "manual", from, atSeq } },
  };
}

/** The log accepts any payload. A malformed operation or summary counts as a plain entry. */
function malformed(random: Random, lane: string): EntryInput {
  return random.pick<EntryInput>([
    { kind: "summary", payload: { toSeq: "3" } },
    { kind: "summary", payload: { toSeq: 1.5, contextRef: lane } },
    { kind: "ai_context_operation", payload: { contextRef: lane } },
    { kind: "ai_context_operation", payload: { operation: { type: "switch" } } },
    { kind: "ai_context_operation", payload: { contextRef: lane, operation: { type: "switch", reason: "why" } } },
    { kind: "ai_context_operation", payload: { contextRef: lane, operation: { type: "replace", baseSeq: "1" } } },
    { kind: "message", payload: { contextRef: 7, operation: { type: "switch" } } },
  ]);
}
