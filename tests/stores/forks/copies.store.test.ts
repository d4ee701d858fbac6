import fc from "fast-check";
import { type EntryInput, HeddleError, memoryStore, project, type ThreadStore } from "heddle";
import { inLane, note, replace, switchTo, user } from "heddle/testing";
import { expect, test } from "vitest";
import { projectFromStore } from "../../../src/stores/project-from-store.ts";
import { sqliteStore } from "../../../src/stores/sqlite/sqlite-store.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { copyingStore } from "./copying-store.ts";

const IDS = ["t0", "t1", "t2", "t3", "t4", "t5"];
const id = fc.constantFrom(...IDS);
const text = fc.constantFrom("one", "two", "three");

/** Entries with ids of a small set, so that many appends are retries or reuse an id. */
const entry = fc
  .tuple(
    fc.constantFrom(
      (words: string): EntryInput => user(words),
      (words: string): EntryInput => note({ words }, { refs: { requestId: words } }),
      (words: string): EntryInput => inLane("side", user(words)),
      (words: string): EntryInput => inLane("other", user(words)),
      (): EntryInput => switchTo("side"),
      (): EntryInput => switchTo("default"),
      (): EntryInput => replace("side"),
      (): EntryInput => replace("default", 1),
    ),
    text,
    fc.option(fc.nat(30)),
  )
  .map(([make, words, known]): EntryInput => ({ at: 5, ...make(words), ...(known !== null && { id: `e${known}` }) }));

const call = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("append" as const),
      id,
      entries: fc.array(entry, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("retry" as const), id }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant("fork" as const), id, to: id, back: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("delete" as const), id }) },
);
type Call = typeof call extends fc.Arbitrary<infer One> ? One : never;

/** What a call answers: its result, or the code of its error. */
async function answer(store: ThreadStore, step: Call): Promise<unknown> {
  try {
    switch (step.type) {
      case "append":
        return await store.append(step.id, step.entries);
      case "retry": {
        const last = await store.load(step.id, { last: 2 });
        return last === undefined ? "missing" : await store.append(step.id, last.toArray({ partial: true }));
      }
      case "fork": {
        const rev = (await store.load(step.id, { last: 0 }))?.rev ?? 0;
        return await store.fork(step.id, { atSeq: Math.max(-1, rev - 1 - step.back), newId: step.to });
      }
      case "delete":
        return (await store.delete(step.id)) !== false;
    }
  } catch (error) {
    if (HeddleError.isInstance(error)) return error.code;
    throw error;
  }
}

/** All that a reader gets from a thread. */
async function contents(store: ThreadStore, threadId: string): Promise<unknown> {
  const whole = await store.load(threadId);
  if (whole === undefined) return "missing";
  const tails: unknown[] = [];
  for (const last of [0, 1, 2, 3, 5]) {
    const tail = await store.load(threadId, { last, lanes: "all" });
    tails.push([tail?.firstSeq, tail?.base, tail?.toArray({ partial: true })]);
  }
  const upTo =
    whole.rev < 2 ? undefined : await store.load(threadId, { last: 1, upToSeq: whole.rev - 2, lanes: "all" });
  const policy = { maxInputTokens: 400, reserveOutputTokens: 100 };
  const messages = whole.rev === 0 ? [] : (await projectFromStore(store, threadId, { policy })).messages;
  expect(messages, "a projection from the tail").toEqual(
    whole.rev === 0 ? [] : project({ thread: whole, policy }).messages,
  );
  return {
    whole: whole.toJSON(),
    tails,
    upTo: [upTo?.base, upTo?.toArray({ partial: true })],
    backward: await Array.fromAsync(store.read(threadId, { reverse: true, limit: 5 })),
    middle: await Array.fromAsync(store.read(threadId, { fromSeq: 1, toSeq: 4 })),
    ofRequest: await Array.fromAsync(store.read(threadId, { refs: { requestId: "one" } })),
    found: await Array.fromAsync(store.read(threadId, { search: "THREE" })),
    verified: await store.verify(threadId),
    messages,
  };
}

const subjects: Readonly<Record<string, (ports: ReturnType<typeof countingPorts>) => ThreadStore>> = {
  memory: (ports) => memoryStore(ports),
  SQLite: (ports) => sqliteStore(fastFile(), { mode: "relaxed", ...ports }),
};

/** The same ids, salts and times in two stores that get the same calls. */
function countingPorts() {
  let count = 0;
  return {
    clock: () => 1000,
    ids: (kind: string) => `${kind}_${count++}`,
    random: (bytes: number) => new Uint8Array(bytes).fill(7),
  };
}

test.each(Object.keys(subjects))("%s: forks that point are equal to copies", async (name) => {
  const calls = fc.array(call, { minLength: 5, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(calls, async (steps) => {
      const subject = subjects[name]?.(countingPorts());
      if (subject === undefined) throw new Error(name);
      const oracle = copyingStore(countingPorts());
      for (const step of steps) expect(await answer(subject, step)).toEqual(await answer(oracle, step));
      for (const threadId of IDS) expect(await contents(subject, threadId)).toEqual(await contents(oracle, threadId));
      const listed = { order: "id", search: "two" } as const;
      expect(await subject.list(listed)).toEqual(await oracle.list(listed));
      await Promise.all([subject.close(), oracle.close()]);
    }),
    { numRuns: name === "memory" ? 100 : 40 },
  );
});

test.each(Object.keys(subjects))("%s: nothing is left of a tree when its last fork is deleted", async (name) => {
  const calls = fc.array(call, { minLength: 5, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(calls, fc.shuffledSubarray(IDS, { minLength: IDS.length }), async (steps, order) => {
      const store = subjects[name]?.(countingPorts());
      if (store === undefined) throw new Error(name);
      for (const step of steps) await answer(store, step);
      for (const threadId of order) {
        const deletion = await store.delete(threadId);
        for (const fork of deletion === false ? [] : deletion.keptFor)
          expect(await store.verify(fork), fork).toMatchObject({ ok: true });
      }
      expect((await store.list()).threads).toEqual([]);
      await store.close();
    }),
    { numRuns: name === "memory" ? 50 : 20 },
  );
});
