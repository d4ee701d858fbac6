import { askSignal, modelCallsSignal, modelTextSignal, specify, toolResultSignal } from "heddle/testing";
import { describe, expect, test } from "vitest";
import type { Signal, SteerKind } from "../../../src/agent/signal.ts";
import { CALCULATOR } from "../support/calculator.ts";

const calculator = specify(CALCULATOR);
const ask = askSignal("What's 2+2?");
const add = { id: "a", name: "add" };
const steer = (id: string, content: string, kind: SteerKind = "steer"): Signal => ({
  type: "steer",
  id,
  steer: kind,
  content,
});

test("a steer waits until a paused answer is complete", () => {
  const steered = calculator.given([ask, steer("s", "Hurry.")]);
  const outcome = steered.when(modelTextSignal("call_1", "I search.", { finishReason: "paused" }));
  outcome.then([{ payload: { role: "assistant" } }], [{ type: "checkpoint" }, { type: "llm_stream", iteration: 2 }]);
  expect(outcome.agent.flight.steers).toMatchObject([{ id: "s" }]);
});

describe("a steer", () => {
  test("waits until no call is open, then goes in before the next model call", () => {
    const called = calculator.given([ask, modelCallsSignal("call_1", [add])]);
    const waiting = { steer: "steer", content: "In words, please.", requestId: "req_1" } as const;
    called.when(steer("s1", " In words, please. ")).then([], [{ type: "defer", id: "s1", signal: waiting }]);
    called
      .given([steer("s1", " In words, please. ")])
      .when(toolResultSignal("call_1", "a", "4"))
      .then(
        [
          { payload: { role: "tool" } },
          {
            id: "s1/0",
            payload: { role: "user", content: "In words, please.", steer: "steer" },
            refs: { signalId: "s1" },
          },
        ],
        [
          { type: "emit", event: { kind: "input_injected", data: { id: "s1", steer: "steer" } } },
          { type: "settle", id: "s1", end: { status: "delivered", seq: 3 } },
          { type: "llm_stream", messages: [{}, {}, {}, { role: "tool" }, { content: "In words, please." }] },
        ],
      );
  });

  test("that comes while the last answer is being written makes another call", () => {
    calculator
      .given([ask, steer("s1", "In words.")])
      .when(modelTextSignal("call_1", "4"))
      .then(
        [{ payload: { content: "4" } }, { payload: { content: "In words." } }],
        [
          { type: "settle", end: { status: "delivered" } },
          { type: "llm_stream", iteration: 2 },
        ],
      );
  });

  test("at the last iteration never costs the answer", () => {
    specify({ ...CALCULATOR, maxIterations: 1 })
      .given([ask, steer("s1", "In words.")])
      .when(modelTextSignal("call_1", "4"))
      .then(
        [{ payload: { content: "4", end: { terminationReason: "final_answer" } } }],
        [
          { type: "settle", id: "s1", end: { status: "dropped", reason: "closed" } },
          { type: "emit", event: { kind: "request_completed", data: { text: "4" } } },
        ],
      );
  });

  test("of one id is taken once", () => {
    const waiting = calculator.given([ask, steer("s1", "In words.")]);
    waiting.when(steer("s1", "In words.")).then([], []);
    waiting
      .given([modelTextSignal("call_1", "4")])
      .when(steer("s1", "In words."))
      .then([], [{ type: "settle", id: "s1", end: { status: "delivered", seq: 2 } }]);
  });

  test.each([
    ["idle", [], steer("s", "Hm.")],
    ["request_mismatch", [ask], { ...steer("s", "Hm."), requestId: "req_9" } as Signal],
    ["empty_content", [ask], steer("s", " \n ")],
    ["closed", [ask, { type: "cancel" } as const], steer("s", "Hm.")],
    ["queue_full", [ask, ...Array.from({ length: 64 }, (_, n) => steer(`s${n}`, "Hm."))], steer("s", "Hm.")],
  ] as const)("is refused with a reason: %s", (reason, given, signal) => {
    calculator
      .given(given)
      .when(signal)
      .then([], [{ type: "settle", id: "s", end: { status: "dropped", reason } }]);
  });

  test("that cannot fit beside the ask is refused, and the request continues", () => {
    const small = specify({ ...CALCULATOR, contextPolicy: { maxInputTokens: 1000, reserveOutputTokens: 200 } });
    const asked = small.given([askSignal("a".repeat(1600))]);
    const dropped = { type: "settle", id: "s", end: { status: "dropped", reason: "pending_overflow" } } as const;
    for (const kind of ["steer", "inject", "follow_up"] as const)
      asked.when(steer("s", "s".repeat(1600), kind)).then([], [dropped]);
    asked.when(steer("s", "s".repeat(1200))).then([], [{ type: "defer", id: "s" }]);
    asked.when({ ...steer("s", "s".repeat(1200)), author: { name: "A".repeat(400) } } as Signal).then([], [dropped]);
    const atRest = small.given([]);
    atRest.when(steer("s", "s".repeat(3300), "inject")).then([], [dropped]);
    atRest.when(steer("s", "s".repeat(2900), "inject")).then([], [{ type: "defer", id: "s" }]);
  });

  test("that could not be delivered returns the reason", () => {
    const failure = { code: "model_error", message: "No." };
    calculator
      .given([ask, steer("s1", "Hm.")])
      .when({ type: "llm_error", callId: "call_1", failure })
      .then([{}], [{ type: "settle", id: "s1", end: { status: "dropped", reason: "run_failed" } }]);
  });
});

test("what is to follow waits for the answer, and goes in one request with it", () => {
  const given = calculator.given([
    ask,
    steer("f1", "And 3+3?", "follow_up"),
    modelCallsSignal("call_1", [add]),
    toolResultSignal("call_1", "a", "4"),
  ]);
  expect(given.when(modelTextSignal("call_2", "4")).agent.state.run?.requestId).toBe("req_1");
  given.when(modelTextSignal("call_2", "4")).then(
    [{ payload: { content: "4" } }, { payload: { content: "And 3+3?", steer: "follow_up" } }],
    [
      { type: "settle", id: "f1", end: { status: "delivered" } },
      { type: "llm_stream", iteration: 3 },
    ],
  );
});

test("steers go before what is to follow", () => {
  calculator
    .given([ask, steer("f1", "And 3+3?", "follow_up"), steer("s1", "In words.")])
    .when(modelTextSignal("call_1", "4"))
    .then([{}, { payload: { content: "In words." } }], [{ type: "llm_stream" }]);
});

describe("words that do not fit into one call", () => {
  const small = specify({ ...CALCULATOR, contextPolicy: { maxInputTokens: 1000, reserveOutputTokens: 200 } });
  const long = (id: string, kind: SteerKind = "steer") => steer(id, id.repeat(800), kind);
  const delivered = (id: string) => ({ type: "settle", id, end: { status: "delivered" } }) as const;

  test("come in several, the oldest first, and the model is shown each of them", () => {
    const called = small.given([ask, modelCallsSignal("call_1", [add]), long("s1"), long("s2"), long("s3")]);
    const resulted = toolResultSignal("call_1", "a", "4");
    called
      .when(resulted)
      .then(
        [{}, { payload: { content: "s1".repeat(800) } }],
        [{ type: "emit" }, { type: "checkpoint" }, { type: "emit" }, delivered("s1"), { type: "llm_stream" }],
      );
    const answered = called.given([resulted]);
    answered
      .when(modelTextSignal("call_2", "4"))
      .then(
        [{ payload: { content: "4" } }, { payload: { content: "s2".repeat(800) } }],
        [delivered("s2"), { type: "llm_stream", iteration: 3 }],
      );
    answered
      .given([modelTextSignal("call_2", "4")])
      .when(modelTextSignal("call_3", "5"))
      .then(
        [{}, { payload: { content: "s3".repeat(800) } }],
        [delivered("s3"), { type: "llm_stream", messages: [{}, { content: "What's 2+2?" }, {}, {}] }],
      );
  });

  test("wait at rest, and do not keep an ask from its begin", () => {
    const waiting = small.given([long("s1", "inject"), long("s2", "inject"), long("s3", "inject")]);
    waiting
      .when(ask)
      .then(
        [{ payload: { content: "s1".repeat(800) } }, { payload: { content: "What's 2+2?" } }],
        [delivered("s1"), { type: "llm_stream", iteration: 1 }],
      );
    waiting
      .given([ask])
      .when(modelTextSignal("call_1", "4"))
      .then([{}, { payload: { content: "s2".repeat(800) } }], [delivered("s2"), { type: "llm_stream" }]);
    waiting
      .when(askSignal("a".repeat(2900)))
      .then([{ payload: { content: "a".repeat(2900) } }], [{ type: "llm_stream" }]);
  });

  test("are dropped with the reason where they do not fit at the end either, and the answer is the last one", () => {
    const options = { contextPolicy: { maxInputTokens: 500, reserveOutputTokens: 200 } };
    const narrow = askSignal("What's 2+2?", { options });
    const asked = small.given([long("s1", "inject"), steer("s2", "In words.", "inject"), narrow]);
    asked
      .when(modelTextSignal("call_1", "4"))
      .then(
        [{ payload: { content: "4" } }, { payload: { content: "In words." } }],
        [{ type: "settle", id: "s1", end: { status: "dropped", reason: "pending_overflow" } }, delivered("s2")],
      );
    asked
      .given([modelTextSignal("call_1", "4")])
      .when(modelTextSignal("call_2", "Four"))
      .then([{ payload: { end: { terminationReason: "final_answer" } } }], [{ type: "emit" }]);
    small
      .given([long("s1", "inject"), narrow])
      .when(modelTextSignal("call_1", "4"))
      .then([{ payload: { end: { terminationReason: "final_answer" } } }], [{ type: "emit" }]);
  });
});
