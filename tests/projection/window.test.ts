import {
  type ContextPolicyInput,
  calibrated,
  type EntryInput,
  heuristic,
  type Projection,
  project,
  type Thread,
  type TokenCounter,
} from "heddle";
import { assistant, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { given, refusalOf } from "./given.ts";

/** Turns of some fifty tokens, of different lengths. */
function turns(count: number, from = 0): EntryInput[] {
  return Array.from({ length: count }, (_, at) => {
    const n = from + at;
    return [user(`ask ${n} ${"x".repeat((n * 37) % 90)}`), assistant(`answer ${n} ${"y".repeat((n * 53) % 140)}`)];
  }).flat();
}

const grown: Thread[] = [given()];

/** A thread of so many turns. It is the thread of one turn less, and one more. */
function threadOf(count: number): Thread {
  for (let n = grown.length; n <= count; n++) grown.push(threadOf(n - 1).append(turns(1, n - 1)));
  const thread = grown[count];
  if (thread === undefined) throw new Error(`There is no thread of ${count} turns.`);
  return thread;
}

const policy = (window: ContextPolicyInput["window"], more: ContextPolicyInput = {}): ContextPolicyInput => ({
  maxInputTokens: 1000,
  reserveOutputTokens: 0,
  window,
  ...more,
});
const SLIDING = policy({ mode: "sliding" });
const STABLE = policy({ mode: "stable", step: 0.5 });
const startOf = ({ meta }: Projection): number | undefined => meta.view.startSeq;
const starts = (policy: ContextPolicyInput, upTo: number): (number | undefined)[] =>
  Array.from({ length: upTo }, (_, n) => startOf(project({ thread: threadOf(n + 1), policy })));
const changes = (list: readonly unknown[]): number => list.filter((item, at) => at > 0 && item !== list[at - 1]).length;

/** What everything from a seq on would cost. */
function costFrom(thread: Thread, seq: number): number {
  const rest = given(...thread.slice(seq, thread.lastSeq).map(({ kind, payload }) => ({ kind, payload })));
  return project({ thread: rest, policy: { maxInputTokens: 100_000 } }).meta.estimatedTokens;
}

/** The first message from a seq on that begins behind a line which the one before it does not reach. */
function onGrid(thread: Thread, from: number, unit: number): number {
  const before = (seq: number): number =>
    thread.slice(0, seq - 1).reduce((sum, { payload }) => sum + Math.floor(JSON.stringify(payload).length / 4), 0);
  const seqs = Array.from({ length: thread.rev - from }, (_, at) => from + at);
  const start = seqs.find((seq) => Math.floor(before(seq) / unit) > Math.floor(before(seq - 1) / unit));
  return start ?? (unit < 2 ? from : onGrid(thread, from, Math.floor(unit / 2)));
}

describe("a sliding window", () => {
  test("is the longest run of newest messages that fits", () => {
    for (const count of [20, 33, 50]) {
      const thread = threadOf(count);
      const { messages, meta } = project({ thread, policy: SLIDING });
      const start = meta.cutSeq ?? -1;
      expect(messages).toHaveLength(thread.rev - start);
      expect(meta.estimatedTokens).toBe(costFrom(thread, start));
      expect(meta.estimatedTokens).toBeLessThanOrEqual(1000);
      expect(costFrom(thread, start - 2)).toBeGreaterThan(1000);
    }
  });

  test("counts no more messages of a long thread than of a short one", () => {
    const countedIn = (count: number): number => {
      let counted = 0;
      const tokenCounter: TokenCounter = { count: (text) => heuristic.count(text) + 0 * counted++ };
      project({ thread: given(...turns(count)), policy: SLIDING, tokenCounter });
      return counted;
    };
    expect(countedIn(600)).toBeLessThan(1.5 * countedIn(60));
  });

  test("never goes past a message that does not fit to an older one that does", () => {
    const thread = given(...turns(3), user("z".repeat(6000)), ...turns(2, 3));
    const { provenance, meta } = project({ thread, policy: SLIDING });
    expect(provenance.flatMap(({ seqs }) => seqs)).toEqual([7, 8, 9, 10]);
    expect(meta).toMatchObject({ truncated: true, cutSeq: 7 });
  });
});

describe("a stable window", () => {
  test("shows everything as long as everything fits", () => {
    const { meta } = project({ thread: threadOf(15), policy: STABLE });
    expect(meta).toMatchObject({ truncated: false, messagesIncluded: 30 });
    expect(meta).not.toHaveProperty("cutSeq");
  });

  test("moves once in many turns where a sliding one moves with each", () => {
    const [stable, sliding] = [starts(STABLE, 60), starts(SLIDING, 60)];
    expect(changes(sliding)).toBeGreaterThan(30);
    expect(changes(stable)).toBeLessThan(10);
    for (const [at, start] of stable.entries()) expect(start).toBeGreaterThanOrEqual(sliding[at] ?? 0);
  });

  test("moves less often with a larger step, and is never over the budget", () => {
    const moves = [0.1, 0.25, 0.5].map((step) => changes(starts(policy({ mode: "stable", step }), 60)));
    expect(moves).toEqual([...moves].sort((a, b) => b - a));
    expect(moves[0]).toBeGreaterThan(moves[2] ?? 0);
    for (let count = 1; count <= 60; count++) {
      expect(project({ thread: threadOf(count), policy: STABLE }).meta.estimatedTokens).toBeLessThanOrEqual(1000);
    }
  });

  test("makes a step above a half as a whole, up to seven eighths: fewer moves, and less is shown", () => {
    const of = (step: number, rules?: "heddle/1") => {
      const input = { policy: policy({ mode: "stable", step }), rules };
      const metas = Array.from({ length: 120 }, (_, at) => project({ thread: threadOf(at + 40), ...input }).meta);
      const moves = changes(metas.map(({ cutSeq }) => cutSeq ?? 0));
      return { moves, shown: metas.reduce((sum, { messagesIncluded }) => sum + messagesIncluded, 0) };
    };
    const steps = [0.5, 0.75, 0.875, 1].map((step) => of(step));
    const sorted = <K extends "moves" | "shown">(key: K) => steps.map((step) => step[key]).toSorted((a, b) => b - a);
    expect(steps.map(({ moves }) => moves)).toEqual(sorted("moves"));
    expect(steps.map(({ shown }) => shown)).toEqual(sorted("shown"));
    expect(steps[2]?.moves).toBeLessThan((steps[0]?.moves ?? 0) * 0.75);
    expect(steps[3]).toEqual(steps[2]);
    expect(of(1, "heddle/1").moves).toBeGreaterThan((steps[3]?.moves ?? 0) * 1.3);
  });

  test("keeps a quarter of what fits when it moves by a half, where the system prompt takes half of the budget", () => {
    const system = "s".repeat(2000);
    const prompt = project({ thread: given(), system }).meta.estimatedTokens;
    for (let count = 40; count < 160; count++) {
      const thread = given(...turns(count));
      const shownBy = (policy: ContextPolicyInput) => project({ thread, system, policy }).meta.estimatedTokens - prompt;
      expect(shownBy(STABLE) / shownBy(SLIDING)).toBeGreaterThan(0.25);
    }
  });

  test("shows all that no summary covers as long as that fits", () => {
    for (let first = 30; first < 50; first++) {
      const summary = { kind: "summary", payload: { fromSeq: 0, toSeq: first - 1, content: "S" } };
      const thread = given(...turns(30), summary, user("so?"));
      const { meta } = project({ thread, policy: policy({ mode: "stable", step: 0.1 }) });
      expect(meta).toMatchObject({ truncated: false, view: { startSeq: first } });
    }
  });

  test.each([0.1, 0.25, 0.5])(
    "starts at the first message behind a line of the grid, or of a finer one: %d",
    (step) => {
      for (let count = 20; count <= 60; count++) {
        const thread = threadOf(count);
        const longest = startOf(project({ thread, policy: SLIDING })) ?? 0;
        const start = startOf(project({ thread, policy: policy({ mode: "stable", step }) }));
        expect(start).toBe(longest === 0 ? 0 : onGrid(thread, longest, 1000 * step));
      }
    },
  );

  test("starts where it would start when what is pending is committed", () => {
    for (let count = 1; count <= 50; count++) {
      const thread = threadOf(count);
      const pending = project({ thread, policy: STABLE, pending: "and then?" });
      const committed = project({ thread: thread.append(user("and then?")), policy: STABLE });
      expect(startOf(pending)).toBe(startOf(committed));
      expect(pending.meta.fingerprint).toBe(committed.meta.fingerprint);
    }
  });

  test("starts at the same entry with a counter that has been corrected, as long as what it starts with still fits", () => {
    const thread = threadOf(45);
    const roomy = project({ thread, policy: STABLE });
    const factor = Math.floor((1000 / roomy.meta.estimatedTokens) * 100) / 100;
    expect(factor).toBeGreaterThan(1);
    for (const by of [1, (1 + factor) / 2, factor]) {
      const counted = project({ thread, policy: STABLE, tokenCounter: calibrated(heuristic, by) });
      expect(startOf(counted)).toBe(startOf(roomy));
      expect(counted.messages).toEqual(roomy.messages);
      expect(counted.meta.estimatedTokens).toBeLessThanOrEqual(1000);
    }
  });
});

describe("the minimum of turns (keepLastTurns)", () => {
  const longTurn = [user("ask"), assistant("y".repeat(2000))];

  test("may be broken by the budget, which then says so", () => {
    const thread = given(...longTurn, ...longTurn, ...longTurn);
    const broken = project({ thread, policy: policy({ mode: "sliding" }, { keepLastTurns: 3 }) });
    expect(broken.meta).toMatchObject({ truncated: true, floorViolated: true, cutSeq: 4 });
    const kept = project({ thread, policy: policy({ mode: "sliding" }, { keepLastTurns: 1 }) });
    expect(kept.meta).toMatchObject({ truncated: true, floorViolated: false, cutSeq: 4 });
  });

  test("is not broken for the sake of the grid", () => {
    const thread = threadOf(40);
    for (const keepLastTurns of [1, 5, 10, 15]) {
      const { meta } = project({ thread, policy: policy({ mode: "stable", step: 1 }, { keepLastTurns }) });
      const sliding = project({ thread, policy: policy({ mode: "sliding" }, { keepLastTurns }) });
      expect(sliding.meta.floorViolated).toBe(false);
      expect(meta.cutSeq).toBeGreaterThanOrEqual(sliding.meta.cutSeq ?? 0);
    }
  });
});

test("a newest message that does not fit is an overflow in both modes", () => {
  for (const window of [{ mode: "sliding" }, { mode: "stable" }] as const) {
    const thread = given(...turns(3), user("z".repeat(9000)));
    expect(refusalOf(() => project({ thread, policy: policy(window) })).code).toBe("budget_overflow");
  }
});
