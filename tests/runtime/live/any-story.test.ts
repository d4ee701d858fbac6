import fc from "fast-check";
import { expect, test } from "vitest";
import type { ReactAgent } from "../../../src/agent/react/agent.ts";
import { decideLive } from "../../../src/runtime/live/decide-live.ts";
import type { Hold, Live } from "../../../src/runtime/live/live.ts";
import { dequeue, enqueue, isDue, NOTHING_CHECKED, skipNotDue } from "../../../src/runtime/live/queue.ts";
import type { Effect, LiveSignal } from "../../../src/runtime/live/signal.ts";
import type { Command } from "../../../src/stores/command.ts";
import { CommandError, ConflictError, EntryIdReuseError } from "../../../src/stores/errors.ts";
import {
  AWAY,
  appended,
  ask,
  askRow,
  cancel,
  idle,
  NOW,
  OUT_OF_SPACE,
  operationRow,
  replace,
  row,
  TAKEN,
  WHY,
} from "./live-thread.ts";

type Start = Extract<Effect, { type: "start" }>;

const ERRORS: readonly unknown[] = [
  OUT_OF_SPACE,
  AWAY,
  TAKEN,
  WHY,
  new ConflictError("thread_t", 0, 1),
  new CommandError({ code: "command_settled", threadId: "thread_t", commandId: "s1", message: "Settled." }),
  new EntryIdReuseError("thread_t", ["op_1/0"], "is used"),
];

/** A live thread, its queue as the loop has it, all of its effects, and what the store has. */
interface World {
  live: Live;
  notDue: typeof NOTHING_CHECKED;
  readonly queue: LiveSignal[];
  readonly effects: Effect[];
  readonly log: Pick<ReactAgent, "thread" | "state">[];
  rows: readonly Command[];
  readonly starts: Start[];
  readonly replies: string[];
  readonly asks: string[];
  readonly checks: readonly ((before: Live, signal: LiveSignal, after: Live, effects: readonly Effect[]) => void)[];
}

function send(world: World, signal: LiveSignal): void {
  enqueue(world.queue, [signal]);
  for (;;) {
    // A command that waits never blocks one that is due.
    world.notDue = skipNotDue(world.live, world.queue, world.notDue);
    const { count } = world.notDue;
    const due = world.queue.findIndex((one) => isDue(world.live, one));
    expect(count).toBe(due < 0 ? world.queue.length : due);
    const next = dequeue(world.queue, count);
    if (next === undefined) return;
    const before = world.live;
    const { live, effects } = decideLive(before, next, { ...NOW, waiting: world.queue.length });
    for (const check of world.checks) check(before, next, live, effects);
    if (next.type === "appended") {
      world.log.push(live.agent);
      const done = before.hold !== undefined && "consumes" in before.hold ? before.hold.consumes : [];
      world.rows = world.rows.filter((one) => !done.some(({ id }) => id === one.id));
    }
    world.live = live;
    world.effects.push(...effects);
    const first = effects.flatMap((effect) => (effect.type === "next" ? [effect.signal] : []));
    world.queue.unshift(...first);
    if (first.length > 0) world.notDue = NOTHING_CHECKED;
    world.starts.push(...effects.flatMap((effect) => (effect.type === "start" ? [effect] : [])));
    for (const effect of effects) {
      if (effect.type === "withdraw_row") world.rows = world.rows.filter(({ id }) => id !== effect.commandId);
      if (effect.type === "outcome") world.rows = world.rows.filter(({ id }) => id !== effect.commandId);
    }
  }
}

/** The answer of the store, or of another effect that signals wait for. */
function answerOf(world: World, hold: Hold): LiveSignal {
  const { id } = hold;
  const { agent } = world.live;
  const log = { ...agent, ...world.log.at(-1) };
  switch (hold.type) {
    case "append":
    case "consume":
      return appended({ live: world.live, effects: [] });
    case "catch_up":
      return { type: "caught_up", id, agent: log.thread === agent.thread ? undefined : log };
    case "load":
    case "load_for_read":
      return { type: "loaded", id, thread: agent.thread, isAmple: true };
    case "mint":
      return { type: "minted", id };
    case "post":
      world.rows = [...world.rows, hold.commandId === "op_1" ? operationRow() : row(hold.commandId, "More.")];
      return { type: "posted", id, outcome: undefined };
    case "post_ask": {
      const posted = world.live.asks.find((one) => one.id === hold.askId);
      world.rows = [...world.rows, askRow(posted?.requestId ?? "")];
      return { type: "posted", id };
    }
    case "read_inbox":
      return { type: "inbox_read", id, rows: world.rows };
    case "restore":
      return { type: "restored", id, agent: { ...log, flight: idle().agent.flight }, rows: world.rows };
    case "shorten":
      return { type: "shortened", id, agent };
    default:
      return hold satisfies never;
  }
}

/** What came of work. */
function resultOf({ id: from, directive }: Start, choice: number): LiveSignal {
  if (choice === 0) return { type: "worked", id: from, error: OUT_OF_SPACE };
  if (directive.type === "llm_stream") {
    const { callId } = directive;
    const names = [["look"], ["sign"], ["look", "sign"], []][choice % 4] ?? [];
    const toolCalls = names.map((name, index) => ({ id: `call_${index}`, name, arguments: {} }));
    const content = names.length > 0 ? "" : "Hello.";
    const answer = { content, toolCalls, finishReason: names.length > 0 ? "tool-calls" : "stop", usage: {} } as const;
    const failure = { code: "model_failed", message: "Failed." };
    return choice === 5
      ? { type: "agent", from, signal: { type: "llm_error", callId, failure } }
      : { type: "agent", from, signal: { type: "llm_result", callId, answer } };
  }
  if (directive.type !== "tool_exec") return { type: "worked", id: from };
  const { callId, call } = directive;
  const type = choice === 1 ? "approval_needed" : choice === 2 ? "answer_needed" : "tool_result";
  const outcome = { content: "Seen.", isError: false };
  return { type: "agent", from, signal: { type, callId, toolCallId: call.id, outcome } };
}

const MOVES = ["answer", "fail", "work", "ask", "command", "read", "lost", "timer", "stray"] as const;
type Move = readonly [kind: (typeof MOVES)[number], choice: number];

/** The next signal of a story. Undefined: the move is not possible now. */
function signalOf(world: World, [kind, choice]: Move): LiveSignal | undefined {
  const { hold } = world.live;
  const reply = (): string => {
    world.replies.push(`reply ${world.replies.length}`);
    return world.replies.at(-1) ?? "";
  };
  switch (kind) {
    case "answer":
      return hold && answerOf(world, hold);
    case "fail":
      return hold && { type: "failed", id: hold.id, error: ERRORS[choice] };
    case "work": {
      const [start] = world.starts.splice(choice % Math.max(1, world.starts.length), 1);
      return start && resultOf(start, choice);
    }
    case "ask": {
      const preparing = world.live.isAsking ? world.live.asks[0] : undefined;
      if (preparing !== undefined) {
        const askId = preparing.id;
        if (choice === 0) return { type: "unprepared", askId, error: WHY };
        const given = choice === 3 ? undefined : {};
        return choice === 1 ? { type: "postponed", askId } : { type: "prepared", askId, given };
      }
      const id = `ask ${world.asks.length}`;
      world.asks.push(id);
      return { type: "ask", ask: { ...ask, id, requestId: `req_${world.asks.length}` } };
    }
    case "command": {
      const signals = [
        cancel,
        { type: "finish", terminationReason: "stopped" },
        { type: "approve", toolCallId: "call_0" },
        { type: "deny", toolCallId: "call_1" },
        { type: "steer", id: `s${world.replies.length}`, steer: "steer", content: "More." },
        { type: "context_op", operation: replace },
        { type: "notice" },
      ] as const;
      return { type: "agent", signal: signals[choice] ?? cancel, reply: reply() };
    }
    case "read":
      if (choice === 3) return { type: "look", reply: reply() };
      if (choice === 4) return { type: "withdraw", requestId: `req_${world.asks.length}`, error: WHY, reply: reply() };
      return choice < 3 ? { type: "reload", reply: reply() } : { type: "read", read: () => 1, reply: reply() };
    case "lost":
      return { type: "lost", error: ERRORS[choice % 4] };
    case "timer":
      return { type: "timer", name: (["reload", "note", "limit", "reload"] as const)[choice % 4] ?? "reload" };
    case "stray": {
      const strays: readonly LiveSignal[] = [
        { type: "minted", id: "0" },
        { type: "worked", id: "0", error: WHY },
        { type: "prepared", askId: "ask 99", given: {} },
        { type: "withdraw", askId: "ask 99", error: WHY },
        { type: "failed", id: "0", error: WHY },
        { type: "begun", toolCallId: "call_0" },
        { type: "shorten" },
      ];
      return strays[choice % strays.length] ?? { type: "shorten" };
    }
    default:
      return kind satisfies never;
  }
}

/** How stories begin: nothing; a request that runs; one that waits for an approval. */
const RUNS: readonly Move[] = [
  ["ask", 2],
  ["ask", 2],
  ["answer", 0],
];
const WAITS: readonly Move[] = [
  ...RUNS,
  ["work", 1],
  ["answer", 0],
  ["answer", 0],
  ["work", 1],
  ["answer", 0],
  ["answer", 0],
];

const kinds = fc.oneof(
  { weight: 6, arbitrary: fc.constant("answer" as const) },
  { weight: 2, arbitrary: fc.constantFrom("work" as const, "command" as const, "ask" as const) },
  { weight: 3, arbitrary: fc.constantFrom(...MOVES) },
);

const moves: fc.Arbitrary<readonly Move[]> = fc
  .tuple(
    fc.constantFrom([], RUNS, WAITS),
    fc.array(fc.tuple(kinds, fc.nat({ max: 6 })), { minLength: 5, maxLength: 30 }),
  )
  .map(([first, more]) => [...first, ...more]);

const rules = fc.record({ queuesAsks: fc.boolean(), mintsTokens: fc.boolean(), postsCommands: fc.boolean() });

/** Plays a story, then stops the thread; the store does not answer any more. */
function played(change: Partial<Live>, story: readonly Move[], ...checks: World["checks"]): World {
  const world: World = {
    live: idle({}, change),
    notDue: NOTHING_CHECKED,
    queue: [],
    effects: [],
    log: [],
    rows: [],
    starts: [],
    replies: [],
    asks: [],
    checks,
  };
  for (const move of story) {
    const signal = signalOf(world, move);
    if (signal !== undefined) send(world, signal);
  }
  send(world, { type: "stop", graceMs: 0, why: WHY });
  send(world, { type: "timer", name: "give_up" });
  return world;
}

test("every caller is answered once, whatever fails", () => {
  fc.assert(
    fc.property(rules, moves, (change, story) => {
      const { effects, replies, asks, queue } = played(change, story);
      const settled = effects.flatMap((effect) => (effect.type === "settle" ? [effect.reply] : []));
      expect(settled.toSorted()).toEqual(replies.toSorted());
      const isOwn = (askId: string): boolean => !askId.startsWith("row "); // an ask of another process has no caller
      const taken = effects.flatMap((effect) =>
        effect.type === "settle_ask" && isOwn(effect.askId) ? [effect.askId] : [],
      );
      expect(taken.toSorted()).toEqual(asks.toSorted());
      expect(queue).toEqual([]);
    }),
  );
});

test("a request that was opened here ends here once", () => {
  fc.assert(
    fc.property(rules, moves, (change, story) => {
      const { effects } = played(change, story);
      let isOpen = false;
      for (const { type } of effects) {
        if (type === "open_request") {
          expect(isOpen).toBe(false);
          isOpen = true;
        }
        if (type !== "complete" && type !== "reject" && type !== "suspend") continue;
        expect(isOpen).toBe(true);
        isOpen = false;
      }
      expect(isOpen).toBe(false);
    }),
  );
});

test("entries are durable before anything follows from them", () => {
  const READS = new Set<LiveSignal["type"]>(["appended", "caught_up", "restored", "loaded", "shortened"]);
  fc.assert(
    fc.property(rules, moves, (change, story) => {
      played(change, story, (before, signal, after, effects) => {
        if (before.agent.thread !== after.agent.thread) expect(READS).toContain(signal.type);
        const put = effects.findIndex(({ type }) => type === "append");
        if (put < 0) return;
        expect(["append", "consume"]).toContain(after.hold?.type);
        const later = effects.slice(put).map(({ type }) => type);
        for (const type of ["emit", "start", "complete", "reject", "outcome"]) expect(later).not.toContain(type);
      });
    }),
  );
});

test("the answer to an effect that is not expected changes nothing", () => {
  const ANSWERS = [
    "appended",
    "failed",
    "caught_up",
    "loaded",
    "minted",
    "posted",
    "inbox_read",
    "restored",
    "shortened",
  ] as const;
  fc.assert(
    fc.property(rules, moves, (change, story) => {
      played(change, story, (_before, _signal, live) => {
        if (live.stopping !== undefined) return;
        for (const type of ANSWERS) {
          const stray = decideLive({ ...live, isAsking: true }, { type, id: "0" } as unknown as LiveSignal, NOW); // nothing else of it is read
          expect(stray).toEqual({ live: { ...live, isAsking: true }, effects: [] });
        }
      });
    }),
    { numRuns: 30 },
  );
});

test("an answer of another type ends the wait, and nothing else", () => {
  fc.assert(
    fc.property(rules, moves, (change, story) => {
      played(change, story, (_before, _signal, live) => {
        const { hold } = live;
        if (hold === undefined || hold.type === "mint" || live.stopping !== undefined) return;
        const quiet = { ...live, asks: [] }; // an ask that waits becomes a row
        const wrong = decideLive(quiet, { type: "minted", id: hold.id }, NOW);
        expect(wrong).toEqual({ live: { ...quiet, hold: undefined }, effects: [] });
      });
    }),
    { numRuns: 30 },
  );
});
