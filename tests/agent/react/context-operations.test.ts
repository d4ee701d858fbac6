import { memoryStore } from "heddle";
import { askSignal, modelCallsSignal, modelTextSignal, specify, toolResultSignal } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { cmd } from "../../../src/agent/cmd.ts";
import { inspectAgent } from "../../../src/agent/react/operations.ts";
import { restore } from "../../../src/agent/react/restore.ts";
import type { Signal } from "../../../src/agent/signal.ts";
import type { ContextOperation } from "../../../src/lanes/context-operation.ts";
import { CALCULATOR } from "../support/calculator.ts";

const calculator = specify(CALCULATOR);
const ask = askSignal("What's 2+2?");
const add = { id: "a", name: "add" };

function op(opId: string, operation: Partial<ContextOperation["operation"]> = {}, contextRef = "default"): Signal {
  const resultContext = { id: opId, entries: [{ role: "user", content: "Before." }] };
  return {
    type: "context_op",
    operation: { opId, contextRef, operation: { type: "replace", reason: "manual", resultContext, ...operation } },
  };
}

function switchTo(lane: string): Signal {
  return {
    type: "context_op",
    operation: { opId: lane, contextRef: lane, operation: { type: "switch", reason: "manual" } },
  };
}

function branch(contextRef: string, from: string, atSeq: number, opId = `${contextRef} of ${from}`): Signal {
  const operation = { type: "switch", reason: "manual", from, atSeq } as const;
  return { type: "context_op", operation: { opId, contextRef, operation } };
}

const APPLIED = { type: "settle", id: "1", end: { status: "applied" } } as const;

describe("a context operation on an agent that is idle", () => {
  test("is applied at once, under an id of its own", () => {
    const outcome = calculator.when(op("1"));
    outcome.then([{ id: "1/0", kind: "ai_context_operation", payload: { opId: "1" } }], [APPLIED]);
    expect(inspectAgent(outcome.agent).appliedContextOps).toEqual(["1"]);
  });

  test("is applied once for the life of the log", () => {
    const given = calculator.given([
      op("1"),
      ask,
      modelTextSignal("call_1", "4"),
      ...Array.from({ length: 70 }, (_, n) => op(`n${n}`)),
    ]);
    given.when(op("1")).then([], [APPLIED]);
    given.when(op("1", { reason: "restore" })).thenRejects("context_op_id_reused");
  });

  test("names what takes the place of the lane after itself, so that a retry says the same", () => {
    const unnamed = op("1", { resultContext: { entries: [] } });
    const named = { id: "ctx_1", entries: [] };
    calculator.when(unnamed).then([{ payload: { operation: { resultContext: named } } }], [APPLIED]);
    calculator.given([unnamed]).when(unnamed).then([], [APPLIED]);
    calculator.when(op("1", { resultContext: { id: "", entries: [] } })).thenRejects("context_op_invalid");
  });

  test("is known by its opId, whichever process wrote it", () => {
    const written = op("1") as Extract<Signal, { type: "context_op" }>;
    const entry = { kind: "ai_context_operation", payload: written.operation };
    calculator.given([entry]).when(op("1")).then([], [APPLIED]);
    // The entry of version 0.1 has another id.
    calculator
      .given([{ ...entry, id: "op_1" }])
      .when(op("1"))
      .then([], [APPLIED]);
  });

  test("that switches is where the next ask goes", () => {
    const switched = calculator.given([ask, modelTextSignal("call_1", "4"), switchTo("research")]);
    switched
      .when(askSignal("Look this up."))
      .then(
        [{ payload: { contextRef: "research" } }],
        [{ type: "llm_stream", messages: [{}, { content: "Look this up." }] }],
      );
  });

  test("that is malformed is an error, and changes nothing", () => {
    calculator.when(op("", {})).thenRejects("context_op_invalid");
    calculator.when(op("1", { reason: "compaction" })).thenRejects("context_op_invalid");
    calculator.when(op("x".repeat(300))).thenRejects("context_op_invalid");
  });

  test("may not cut an exchange", () => {
    const given = calculator.given([
      ask,
      modelCallsSignal("call_1", [add]),
      toolResultSignal("call_1", "a", "4"),
      modelTextSignal("call_2", "4"),
    ]);
    given.when(op("1", { reason: "compaction", baseSeq: 1 })).thenRejects("context_op_splits_exchange");
    given.when(op("1", { reason: "compaction", baseSeq: 2 })).then([{ payload: { opId: "1" } }]);
  });
});

test("a compaction keeps every message after its base", () => {
  const told = calculator.given([
    ask,
    modelTextSignal("call_1", "4"),
    askSignal("And 3+3?"),
    modelTextSignal("call_2", "6"),
  ]);
  told
    .given([op("1", { reason: "compaction", baseSeq: 1 })])
    .when(askSignal("And 4+4?"))
    .then(
      [{}],
      [
        {
          type: "llm_stream",
          messages: [{}, { content: "Before." }, { content: "And 3+3?" }, { content: "6" }, { content: "And 4+4?" }],
        },
      ],
    );
});

describe("a lane that branches from another", () => {
  const told = calculator.given([
    ask,
    modelCallsSignal("call_1", [add]),
    toolResultSignal("call_1", "a", "4"),
    modelTextSignal("call_2", "4"),
  ]);

  test("begins with what the other held", () => {
    told
      .given([branch("branch", "default", 0)])
      .when(askSignal("In words."))
      .then(
        [{ payload: { contextRef: "branch" } }],
        [{ type: "llm_stream", messages: [{}, { content: "What's 2+2?" }, { content: "In words." }] }],
      );
  });

  test("leaves it at an edge, of an exchange as well", () => {
    told.when(branch("branch", "default", 1)).thenRejects("context_op_splits_exchange");
    told.when(branch("branch", "default", 9)).thenRejects("context_op_invalid");
    calculator
      .given([ask, modelCallsSignal("call_1", [add])])
      .when(branch("branch", "default", 1))
      .thenRejects("context_op_splits_exchange");
  });
});

describe("a branch that cannot be one is refused", () => {
  const told = calculator.given([
    ask,
    modelCallsSignal("call_1", [add]),
    toolResultSignal("call_1", "a", "4"),
    modelTextSignal("call_2", "4"),
    branch("b", "default", 3),
  ]);

  test("of a lane that nothing was written to", () => {
    told.when(branch("c", "nowhere", 0)).thenRejects("context_op_lane_unknown");
  });

  test("into a lane that is there already; the one that made it may be repeated", () => {
    told.when(branch("default", "b", 4)).thenRejects("context_op_lane_exists");
    told.when(branch("b", "default", 0, "other")).thenRejects("context_op_lane_exists");
    told.when(branch("b", "default", 3)).then([], [{ ...APPLIED, id: "b of default" }]);
    told.when(switchTo("default")).then([{ payload: { contextRef: "default" } }], [{ ...APPLIED, id: "default" }]);
  });

  test("at a position between a call and its result, also one that its lane inherited", () => {
    told.when(branch("c", "b", 1)).thenRejects("context_op_splits_exchange");
    told
      .given([branch("c", "b", 0)])
      .when(askSignal("In words."))
      .then(
        [{ payload: { contextRef: "c" } }],
        [{ type: "llm_stream", messages: [{}, { content: "What's 2+2?" }, { content: "In words." }] }],
      );
  });

  test("asks for all of a log of which only the end is loaded: it may have made the lane itself", async () => {
    const store = memoryStore();
    const long = Array.from({ length: 60 }, (_, n) => [
      askSignal(`Question ${n}`),
      modelTextSignal(`more_${n}`, "4"),
    ]).flat();
    const { agent } = told.given(long).when({ type: "notice" });
    await store.save(agent.thread);
    const tail = (await store.load(agent.thread.id, { last: 4 })) ?? expect.fail("it was saved");
    const edge = agent.thread.lastSeq;
    const { operation } = branch("b", "default", 3) as Extract<Signal, { type: "context_op" }>;
    const late = { ...operation, operation: { ...operation.operation, atSeq: edge } };
    expect(() => cmd({ ...agent, thread: tail }, { type: "context_op", operation: late })).toThrow(
      expect.objectContaining({ code: "tail_too_short" }),
    );
  });

  test("and one that was appended leaves the agent on its lane, live or restored", async () => {
    const { operation } = branch("c", "nowhere", 0) as Extract<Signal, { type: "context_op" }>;
    const entry = { kind: "ai_context_operation", payload: operation };
    const { agent } = told.given([entry]).when({ type: "notice" });
    expect(inspectAgent(agent).activeContextRef).toBe("b");
    expect(restore(agent.settings, agent.thread).state).toEqual(agent.state);
  });
});

test.each([
  null,
  "compact",
  { opId: "1" },
  { opId: "1", contextRef: "default", operation: { type: "erase", reason: "manual" } },
  { opId: "1", contextRef: "default", operation: { type: "replace", reason: "because", resultContext: {} } },
  { opId: "1", contextRef: "default", operation: { type: "replace", reason: "manual" } },
  { opId: "1", contextRef: "default", operation: { type: "switch", reason: "manual", from: "default" } },
  { opId: "1", contextRef: "default", operation: { type: "switch", reason: "manual", baseSeq: -1 } },
])("an operation that is none is refused: %j", (operation) => {
  const signal = { type: "context_op", operation } as Signal; // what comes from outside may be anything
  calculator.when(signal).thenRejects("context_op_invalid");
  calculator.given([ask]).when(signal).thenRejects("context_op_invalid");
});

describe("a context operation while a request runs", () => {
  test("waits for the end, and all are applied in order", () => {
    calculator
      .given([ask])
      .when(op("1"))
      .then([], [{ type: "defer", id: "1", signal: { type: "context_op", operation: { opId: "1" } } }]);
    const both = calculator.given([ask, op("1")]);
    const outcome = both.when(op("2"));
    outcome.then([], [{ type: "defer", id: "2" }]);
    expect(inspectAgent(outcome.agent).deferred.map(({ id }) => id)).toEqual(["1", "2"]);
    both
      .given([op("2")])
      .when(modelTextSignal("call_1", "4"))
      .then(
        [{ payload: { role: "assistant" } }, { id: "1/0" }, { id: "2/0" }],
        [
          APPLIED,
          { type: "emit", event: { kind: "context_op_applied", data: { opId: "1" } } },
          { ...APPLIED, id: "2" },
          { type: "emit", event: { kind: "context_op_applied", data: { opId: "2" } } },
          { type: "emit", event: { kind: "request_completed" } },
          { type: "stop" },
        ],
      );
  });

  test("that is refused at the end has that outcome, and the next ones are applied", () => {
    const { agent } = calculator.given([ask]).when(branch("side", "default", 0, "b1"));
    const second = cmd(agent, branch("side", "default", 0, "b2")).agent;
    const third = cmd(second, op("3")).agent;
    const { directives, agent: ended } = cmd(third, modelTextSignal("call_1", "4"));
    expect(ended.thread.slice(2, ended.thread.lastSeq).map(({ id }) => id)).toEqual(["b1/0", "3/0"]);
    const settled = directives.filter((directive) => directive.type === "settle");
    expect(settled).toMatchObject([
      { id: "b1", end: { status: "applied" } },
      { id: "b2", end: { status: "refused", code: "context_op_lane_exists" } },
      { id: "3", end: { status: "applied" } },
    ]);
    expect(ended.flight.deferred).toEqual([]);
  });

  test("that waits already is no other", () => {
    calculator
      .given([ask, op("1")])
      .when(op("1"))
      .then([], []);
    calculator
      .given([ask, op("1")])
      .when(op("1", { reason: "restore" }))
      .thenRejects("context_op_id_reused");
  });

  test("is applied however the request ends", () => {
    const failure = { code: "model_error", message: "No." };
    const waiting = calculator.given([ask, op("1")]);
    waiting.when({ type: "llm_error", callId: "call_1", failure }).then([{}, { id: "1/0" }], [APPLIED]);
    waiting
      .given([{ type: "cancel" }])
      .when({ type: "llm_error", callId: "call_1", failure })
      .then([{}, { id: "1/0" }], [APPLIED]);
  });

  test("never touches the running request", () => {
    calculator
      .given([ask, modelCallsSignal("call_1", [add]), switchTo("research")])
      .when(toolResultSignal("call_1", "a", "4"))
      .then([{ payload: { contextRef: "default" } }], [{ type: "llm_stream", basis: { lane: "default" } }]);
  });

  test("may not split a call from a result that is still to come", () => {
    calculator
      .given([ask, modelCallsSignal("call_1", [add])])
      .when(op("1", { reason: "compaction", baseSeq: 1 }))
      .thenRejects("context_op_splits_exchange");
  });
});

test("an edge before what is loaded says from where to load", async () => {
  const store = memoryStore();
  const long = Array.from({ length: 60 }, (_, n) => [
    askSignal(`Question ${n}`),
    modelTextSignal(`call_${n + 1}`, "4"),
  ]).flat();
  const { agent } = calculator.given(long).when({ type: "notice" });
  await store.save(agent.thread);
  const tail = (await store.load(agent.thread.id, { last: 4 })) ?? expect.fail("it was saved");
  const { operation } = op("1", { reason: "compaction", baseSeq: 100 }) as Extract<Signal, { type: "context_op" }>;
  const onTail = { ...agent, thread: tail };
  expect(() => cmd(onTail, { type: "context_op", operation })).toThrow(
    expect.objectContaining({ code: "tail_too_short", neededFromSeq: 36 }),
  );
  const more = (await store.load(agent.thread.id, { last: agent.thread.rev - 36 })) ?? expect.fail("it was saved");
  expect(cmd({ ...agent, thread: more }, { type: "context_op", operation }).agent.thread.last()?.id).toBe("1/0");
});

test("inspectAgent returns the shown context, the running one, the deferred commands and the applied ones", () => {
  const { agent } = calculator.given([op("1"), ask, op("2")]).when(modelCallsSignal("call_1", [add]));
  const { context, runContext, ...rest } = inspectAgent(agent);
  expect(context.entries.map(({ role }) => role)).toEqual(["user", "user", "assistant"]);
  expect(runContext).toEqual(context);
  expect(rest).toMatchObject({
    activeContextRef: "default",
    deferred: [{ id: "2" }],
    appliedContextOps: ["1"],
    projectionCursorSeq: 1,
  });
  expect(inspectAgent(calculator.when(op("1")).agent)).toMatchObject({
    runContext: undefined,
    projectionCursorSeq: -1,
  });
});
