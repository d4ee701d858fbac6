import fc from "fast-check";
import {
  type EntryInput,
  type JsonObject,
  memoryStore,
  ProjectionError,
  type ProjectionInput,
  project,
  projectFromStore,
  Thread,
  ThreadError,
  type ThreadStore,
} from "heddle";
import { sqliteStore } from "heddle/sqlite";
import type { LoadOptions } from "heddle/store";
import { assistant, note, summary, switchTo, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { defineStore } from "../../../src/stores/define-store.ts";
import { MemoryTenant, memoryDriver } from "../../../src/stores/memory-store.ts";
import { naiveBase } from "../../../src/testing/contract/naive-base.ts";
import { expectOften } from "../../support/case-budget.ts";
import { earlierThread, putEarlierThread } from "../../support/earlier-thread.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { recording } from "../sqlite/support/recording.ts";

function operate(contextRef: string, operation: JsonObject): EntryInput {
  return { kind: "ai_context_operation", payload: { opId: "op", contextRef, operation } };
}

function branchOf(from: string, atSeq: number, into: string): EntryInput {
  return operate(into, { type: "switch", reason: "manual", from, atSeq });
}

function replaceIn(lane: string, baseSeq: number, systemPrompt?: string): EntryInput {
  const entries = [{ role: "user", content: "so far" }];
  const prompt = systemPrompt === undefined ? {} : { systemPrompt };
  return operate(lane, { type: "replace", reason: "manual", baseSeq, resultContext: { id: "c", entries, ...prompt } });
}

/** What happens next. It is a function of the history, so that most operations are valid. */
type Step = (log: readonly EntryInput[], lanes: readonly string[]) => readonly EntryInput[];

const back = fc.nat({ max: 9 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 7,
    arbitrary: fc.record({ turns: fc.integer({ min: 1, max: 4 }), size: fc.nat({ max: 60 }) }).map(
      ({ turns, size }): Step =>
        (log) =>
          Array.from({ length: turns }, (_, n) => [
            user(`ask ${log.length + n}`),
            assistant(`answer ${"x".repeat(size)}`),
          ]).flat(),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.record({ from: fc.nat(), back: fc.nat({ max: 25 }), same: fc.boolean() }).map(
      ({ from, back, same }): Step =>
        (log, lanes) => {
          const lane = (same ? lanes.at(-1) : lanes[from % lanes.length]) ?? "default";
          return [branchOf(lane, Math.max(-1, log.length - 1 - back), `lane ${lanes.length}`)];
        },
    ),
  },
  {
    weight: 2,
    arbitrary: back.map(
      (to): Step =>
        (log) => [summary(0, Math.max(0, log.length - to))],
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({ lane: fc.nat(), back, prompt: fc.boolean() }).map(
      ({ lane, back, prompt }): Step =>
        (log, lanes) => [
          replaceIn(
            lanes[lane % lanes.length] ?? "default",
            Math.max(-1, log.length - back),
            prompt ? `prompt ${log.length}` : undefined,
          ),
        ],
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat().map(
      (lane): Step =>
        (_log, lanes) => [switchTo(lanes[lane % lanes.length] ?? "default")],
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>(() => [note()]) },
);

/** Batches of entries, and the lanes that they make. The first entry may already be a branch. */
const history = fc
  .array(fc.record({ step, isJoined: fc.boolean() }), { minLength: 3, maxLength: 22 })
  .map((steps): { batches: EntryInput[][]; lanes: string[] } => {
    const log: EntryInput[] = [];
    const lanes = ["default"];
    const batches: EntryInput[][] = [];
    for (const { step, isJoined } of steps) {
      const entries = step(log, lanes);
      const { contextRef } = entries[0]?.payload ?? {};
      if (typeof contextRef === "string" && !lanes.includes(contextRef)) lanes.push(contextRef);
      log.push(...entries);
      if (isJoined && batches.length > 0) batches.at(-1)?.push(...entries);
      else batches.push([...entries]);
    }
    return { batches, lanes };
  });

const policy = fc.record({
  reserveOutputTokens: fc.constant(0),
  maxInputTokens: fc.integer({ min: 60, max: 160 }),
  summarization: fc.constantFrom("none" as const, "use_existing" as const),
  window: fc.record({
    mode: fc.constantFrom("stable" as const, "sliding" as const),
    step: fc.constantFrom(0.1, 0.5),
  }),
});

interface Subject {
  readonly store: ThreadStore;
  /** Writes the first batches as 0.1 did, and returns their number. */
  readonly begin: (id: string, batches: readonly EntryInput[][]) => number;
}

const whole = (store: ThreadStore): Subject => ({ store, begin: () => 0 });
const stores: readonly (readonly [string, number, () => Subject])[] = [
  ["memory", 150, () => whole(memoryStore())],
  ["SQLite", 40, () => whole(sqliteStore(fastFile(), { mode: "relaxed" }))],
  ["a thread that 0.1 began", 100, earlierSubject],
];

function earlierSubject(): Subject {
  const tenant = new MemoryTenant();
  return {
    store: defineStore(memoryDriver(tenant, () => 0)),
    begin: (id, batches) => {
      const count = Math.ceil(batches.length / 2);
      putEarlierThread(tenant, id, earlierThread(id, batches.slice(0, count).flat()));
      return count;
    },
  };
}

describe.each(stores)("branches in %s", (name, numRuns, open) => {
  test("project from a tail of any length as from the whole thread", async () => {
    const seen = { cases: 0, branches: 0 };
    const { store, begin } = open();
    await fc.assert(
      fc.asyncProperty(
        history,
        policy,
        fc.constantFrom("heddle/1" as const, "heddle/1.1" as const),
        async ({ batches, lanes }, policy, rules) => {
          const id = `t${seen.cases}`;
          const written = begin(id, batches);
          for (const batch of batches.slice(written)) await store.append(id, batch);
          expect(await store.verify(id)).toMatchObject({ ok: true });
          const thread = await loaded(store, id);
          seen.cases++;
          for (let last = 0; last < thread.rev; last++) {
            const tail = await loaded(store, id, { last, lanes: "all" });
            if (written === 0) expect(tail.base).toEqual(naiveBase(thread.slice(0, tail.firstSeq - 1)));
            expect(Thread.fromJSON(JSON.parse(JSON.stringify(tail))).base).toEqual(tail.base);
            for (const lane of lanes) {
              const input = { policy: { ...policy }, rules, lane };
              const found = outcome({ ...input, thread: tail });
              if (found === "tail_too_short") continue;
              expect(found).toEqual(outcome({ ...input, thread }));
              if (tail.base?.lanes[lane]?.origin !== undefined) seen.branches++;
            }
          }
        },
      ),
      { numRuns },
    );
    await store.close();
    expectOften(seen.branches, seen.cases, name.includes("0.1") ? 0.05 : 1.5); // branches of 0.1 have no origin
  });
});

describe("a tail that begins between a branch and the position that it left", () => {
  const turns = (count: number): EntryInput[] =>
    Array.from({ length: count }, (_, n) => [user(`ask ${n}`), assistant(`answer ${n}`)]).flat();
  const undone = [...turns(2), replaceIn("default", 3, "Be kind."), ...turns(3)];
  const policy = { maxInputTokens: 100, reserveOutputTokens: 0 };

  test("lacks the prompt that the branch inherits", async () => {
    const store = memoryStore();
    await store.append("t", [...undone, branchOf("default", 5, "second"), ...turns(9)]);
    const whole = await loaded(store, "t");
    expect(project({ thread: whole, policy }).messages[0]).toEqual({ role: "system", content: "Be kind." });
    const tail = await loaded(store, "t", { last: 20 });
    expect(outcome({ thread: tail, policy })).toBe("tail_too_short");
    expect((await projectFromStore(store, "t", { policy })).messages).toEqual(
      project({ thread: whole, policy }).messages,
    );
  });

  test("lacks it also for a branch of a branch whose origin is not recorded", async () => {
    const store = memoryStore();
    const entries = [...undone, branchOf("default", 5, "second"), ...turns(1)];
    await store.append("t", [...entries, branchOf("second", entries.length - 1, "third"), ...turns(9)]);
    const tail = await loaded(store, "t", { last: 20 });
    expect(outcome({ thread: tail, policy })).toEqual(outcome({ thread: await loaded(store, "t"), policy }));
    const data = JSON.parse(JSON.stringify(tail));
    delete data.base.lanes.second.origin;
    expect(outcome({ thread: Thread.fromJSON(data), policy })).toBe("tail_too_short");
  });
});

describe("a branch that is appended while other processes append", () => {
  /** A store whose thread grows `times` times between the search for an origin and the append. */
  async function crowded(times: number): Promise<ThreadStore> {
    const tenant = new MemoryTenant();
    const driver = memoryDriver(tenant, () => 0);
    const other = defineStore(memoryDriver(tenant, () => 0));
    await other.append("t", [user("ask"), assistant("answer"), replaceIn("default", 1, "Be kind.")]);
    let left = times;
    return defineStore({
      ...driver,
      lanes: async (...call) => {
        const lanes = await driver.lanes(...call);
        if (left-- > 0) await other.append("t", note());
        return lanes;
      },
    });
  }

  test("has the origin that it names", async () => {
    const store = await crowded(2);
    await store.append("t", branchOf("default", 2, "second"));
    const { base } = await loaded(store, "t", { last: 0 });
    expect(base?.lanes["second"]?.origin).toMatchObject({ lane: "default", seq: 2, replace: { seq: 2 } });
    expect(await store.verify("t")).toMatchObject({ ok: true, entries: 6 });
  });

  test("has no origin after many attempts, as in version 0.1", async () => {
    const store = await crowded(50);
    await store.append("t", branchOf("default", 2, "second"));
    const tail = await loaded(store, "t", { last: 0 });
    expect(tail.base?.lanes["second"]).toEqual({ measure: expect.any(Number), branched: true });
    expect(await store.verify("t")).toMatchObject({ ok: true });
    await store.append("t", user("on"));
    expect((await projectFromStore(store, "t")).messages[0]).toEqual({ role: "system", content: "Be kind." });
  });
});

test("a branch within a large batch has the origin that it has within a small one", async () => {
  const [first, later] = [Array.from({ length: 600 }, () => note()), Array.from({ length: 900 }, () => note())];
  const batch = [...first, replaceIn("default", 9, "Be kind."), branchOf("default", 600, "second"), ...later];
  const [small, large] = [memoryStore(), memoryStore()];
  for (const entry of batch) await small.append("t", entry);
  await large.append("t", batch);
  const origins = await Promise.all(
    [small, large].map(async (store) => (await loaded(store, "t", { last: 0 })).base?.lanes["second"]?.origin),
  );
  expect(origins[1]).toMatchObject({ lane: "default", seq: 600, measure: origins[0]?.measure, replace: { seq: 600 } });
  expect(await large.verify("t")).toMatchObject({ ok: true });
});

test("a branch of a lane that version 0.1 wrote has an origin", async () => {
  const tenant = new MemoryTenant();
  const store = defineStore(memoryDriver(tenant, () => 0));
  const earlier = [user("ask"), summary(0, 0), assistant("answer"), branchOf("default", 2, "old"), user("on")];
  putEarlierThread(tenant, "t", earlierThread("t", earlier));
  await store.append("t", [branchOf("default", 1, "a"), branchOf("old", 4, "b"), branchOf("old", 1, "c")]);
  const { base } = await loaded(store, "t", { last: 0, lanes: "all" });
  expect(base?.lanes["a"]?.origin).toMatchObject({ lane: "default", seq: 1, summary: { seq: 1 } });
  expect([base?.lanes["b"], base?.lanes["c"]].map((lane) => [lane?.branched, lane?.origin])).toEqual([
    [true, undefined],
    [true, undefined],
  ]);
});

test("verify finds an origin that was changed", async () => {
  const tenant = new MemoryTenant();
  const driver = memoryDriver(tenant, () => 0);
  const store = defineStore(driver);
  await store.append("t", [user("ask"), assistant("answer")]);
  await store.append("t", branchOf("default", 1, "second"));
  const { base } = await loaded(store, "t", { last: 0 });
  expect(base?.lanes["second"]?.origin).toMatchObject({ lane: "default", seq: 1 });
  const forged = defineStore({
    ...driver,
    rows: async (...call) =>
      (await driver.rows(...call)).map((row) => {
        const record = row.record?.replace('"seq":1', '"seq":0') ?? null;
        return { ...row, record };
      }),
  });
  const bad = { seq: 2, reason: expect.stringContaining("its column record is not") };
  expect(await forged.verify("t")).toMatchObject({ ok: false, bad });
});

async function loaded(store: ThreadStore, id: string, options: LoadOptions = {}): Promise<Thread> {
  const thread = await store.load(id, options);
  return thread ?? expect.fail("it was stored");
}

function outcome(input: ProjectionInput): unknown {
  try {
    const { messages, meta } = project(input);
    return { messages, fingerprint: meta.fingerprint };
  } catch (error) {
    if (!ProjectionError.isInstance(error) && !ThreadError.isInstance(error)) throw error;
    return error.code;
  }
}

const turn = (n: number): EntryInput[] => [user(`ask ${n} ${"x".repeat(400)}`), assistant(`answer ${n}`)];

/** The rows that SQLite returns for each of the last turns of a thread with 300 turns, in a new process each. */
async function rowsPerTurn(undo: (at: number, lastSeq: number) => readonly EntryInput[]): Promise<readonly number[]> {
  const sql = recording();
  const store = sqliteStore(fastFile(), { connect: sql.connect, mode: "relaxed" });
  for (let n = 0, rev = 0; n < 300; n++) {
    const entries = [...undo(n, rev - 1), ...turn(n)];
    rev = (await store.append("t", entries)).rev;
  }
  const rows: number[] = [];
  for (let n = 300; n < 310; n++) {
    await store.append("t", turn(n));
    sql.forget();
    await projectFromStore(store, "t", { policy: { maxInputTokens: 4000 } });
    rows.push(sql.rowsReturned());
  }
  await store.close();
  return rows;
}

test.each([100, 298])("a turn after a branch at turn %i reads few more rows than without", async (at) => {
  const without = await rowsPerTurn((n) => (n === at ? [note()] : []));
  const after = await rowsPerTurn((n, lastSeq) => (n === at ? [branchOf("default", lastSeq - 2, "second try")] : []));
  expect(Math.max(...after)).toBeLessThanOrEqual(1.2 * Math.max(...without));
});
