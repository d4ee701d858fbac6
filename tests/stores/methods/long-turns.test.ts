import fc from "fast-check";
import {
  type EntryInput,
  memoryStore,
  type ProjectionInput,
  project,
  projectFromStore,
  type Thread,
  type ThreadStore,
} from "heddle";
import { note } from "heddle/testing";
import { expect, test } from "vitest";
import { lanesBefore, lanesOfExtended } from "../../../src/lanes/active-lane.ts";
import { defineStore } from "../../../src/stores/define-store.ts";
import { MemoryTenant, memoryDriver } from "../../../src/stores/memory-store.ts";
import { extendTail } from "../../../src/stores/project-from-store.ts";
import { startOfMissing } from "../../../src/stores/turn-start.ts";
import { longTurn } from "../../runtime/support/long-turns.ts";
import { expectOften } from "../../support/case-budget.ts";
import { earlierThread, putEarlierThread } from "../../support/earlier-thread.ts";

const LANES = ["default", "side", "deep"] as const;

interface Step {
  readonly calls: number;
  readonly lane: (typeof LANES)[number];
  readonly shape: "turn" | "without ids" | "ids in payloads only" | "same request" | "branch" | "summary" | "note";
}

const step: fc.Arbitrary<Step> = fc.record({
  calls: fc.oneof({ weight: 2, arbitrary: fc.nat({ max: 3 }) }, fc.integer({ min: 20, max: 70 })),
  lane: fc.constantFrom("default", "default", "default", ...LANES),
  shape: fc.oneof(
    { weight: 8, arbitrary: fc.constant("turn" as const) },
    fc.constantFrom("without ids", "ids in payloads only", "same request", "branch", "summary", "note"),
  ),
});

const policy = fc.record({
  maxInputTokens: fc.constantFrom(600, 1500, 4000, 12_000),
  keepLastTurns: fc.nat({ max: 4 }),
  summarization: fc.constantFrom("none" as const, "use_existing" as const, "request_new" as const),
  keepLast: fc.nat({ max: 2 }),
});

/** The entries of a step that begins at `seq`. */
function entriesOf({ calls, lane, shape }: Step, turn: number, seq: number): EntryInput[] {
  const entries = longTurn(shape === "same request" ? Math.max(0, turn - 1) : turn, calls, { lane });
  switch (shape) {
    case "without ids":
      return entries.map(({ kind, payload: { requestId: _request, runId: _run, ...payload } = {} }) => ({
        kind,
        payload,
      }));
    case "ids in payloads only":
      return entries.map(({ kind, payload = {} }) => ({ kind, payload }));
    case "branch": {
      const operation = { type: "switch", reason: "manual", from: lane, atSeq: Math.max(-1, seq - 1 - calls) };
      const into = `branch ${turn}`;
      const payload = { opId: `op_${turn}`, contextRef: into, operation };
      return [{ kind: "ai_context_operation", payload }, ...longTurn(turn, calls, { lane: into })];
    }
    case "summary":
      return [
        {
          kind: "summary",
          payload: { contextRef: lane, fromSeq: 0, toSeq: Math.max(0, seq - 1 - calls), content: "So far." },
        },
        ...entries,
      ];
    case "note":
      return [note(), ...entries, note()];
    default:
      return entries;
  }
}

const stores: readonly (readonly [string, () => { readonly store: ThreadStore; readonly tenant?: MemoryTenant }])[] = [
  ["a thread", () => ({ store: memoryStore() })],
  [
    "a thread that 0.1 began",
    () => {
      const tenant = new MemoryTenant();
      return { store: defineStore(memoryDriver(tenant, () => 0)), tenant };
    },
  ],
];

test.each(stores)(
  "%s with turns of many calls, lanes and branches projects from its end as from all of it",
  async (_, open) => {
    const seen = { cases: 0, tails: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 2, maxLength: 9 }),
        policy,
        async (steps, { keepLast, ...policy }) => {
          const { store, tenant } = open();
          const entries: EntryInput[] = [];
          for (const [turn, next] of steps.entries()) entries.push(...entriesOf(next, turn, entries.length));
          const half = tenant === undefined ? 0 : Math.floor(entries.length / 2);
          if (tenant !== undefined && half > 0)
            putEarlierThread(tenant, "t", earlierThread("t", entries.slice(0, half)));
          await store.append("t", entries.slice(half));
          const thread = (await store.load("t")) ?? expect.fail("it was stored");
          await expectLanesOfLonger(store, thread.rev);
          await expectStarts(store, thread);
          const lanes = new Set([...steps.map(({ lane }) => lane), undefined]);
          let loaded = 0;
          const load: ThreadStore["load"] = async (id, options) => {
            const tail = await store.load(id, options);
            loaded += tail === undefined ? 0 : tail.rev - tail.firstSeq;
            return tail;
          };
          for (const lane of lanes) {
            const input = {
              policy: { ...policy, reserveOutputTokens: 0, toolResults: { keepLast } },
              ...(lane && { lane }),
            };
            loaded = 0;
            const found = await outcome(() => projectFromStore({ ...store, load }, "t", input));
            expect(found).toEqual(await outcome(() => project({ ...input, thread } satisfies ProjectionInput)));
            seen.cases++;
            seen.tails += loaded < thread.rev ? 1 : 0;
          }
          await store.close();
        },
      ),
      { numRuns: 60 },
    );
    expectOften(seen.tails, seen.cases, 0.2);
  },
);

/** The lanes of a tail that was extended are found without a look at its entries. */
async function expectLanesOfLonger(store: ThreadStore, rev: number): Promise<void> {
  const tail = (await store.load("t", { last: Math.floor(rev / 4) })) ?? expect.fail("it was stored");
  const longer = await extendTail(store, tail, Math.floor(rev / 2));
  const known = lanesBefore(tail, rev);
  expect(lanesOfExtended(longer, known)).toEqual(lanesBefore(longer, rev));
}

/** The requests before a tail are found by a few short reads. Here they are found by a look at all entries. */
async function expectStarts(store: ThreadStore, thread: Thread): Promise<void> {
  const tail = (await store.load("t", { last: 3 })) ?? expect.fail("it was stored");
  const found = await startOfMissing(store, tail, { missingTurns: 3 });
  const entries = thread.toArray();
  const requests: number[] = [];
  for (let start = tail.firstSeq; start > 0 && requests.length < 3; start = requests.at(-1) ?? 0) {
    const before = entries.slice(Math.max(0, start - 8), start).findLast(({ refs }) => refs.requestId !== undefined);
    if (before === undefined) return expect(found).toBeUndefined();
    requests.push(entries.findIndex(({ refs }) => refs.requestId === before.refs.requestId));
  }
  expect(found).toEqual({ fromSeq: Math.max(0, (requests.at(-1) ?? tail.firstSeq) - 8), requests });
}

async function outcome(call: () => unknown): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return (error as { readonly code?: string }).code ?? error; // a crash stays an error that equals no other
  }
}
