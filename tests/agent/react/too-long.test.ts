import { askSignal, modelCallsSignal, modelTextSignal, specify, toolResultSignal } from "heddle/testing";
import { describe, expect, test } from "vitest";
import type { Directive } from "../../../src/agent/directive.ts";
import type { Failure, Signal } from "../../../src/agent/signal.ts";
import { CALCULATOR } from "../support/calculator.ts";

const ask = askSignal("What's 2+2?");
const tooLong = (callId: string, numbers: Partial<Failure> = {}): Signal => {
  return { type: "llm_error", callId, failure: { code: "model_context_too_long", message: "Too long.", ...numbers } };
};

/** Three answered requests of some length, and the fourth asked. */
const history = [1, 2, 3].flatMap((n) => [
  askSignal(`Question ${n} ${"word ".repeat(300)}`),
  modelTextSignal(`call_${n}`, `Answer ${n}`),
]);

describe("a request that the provider refuses as too long", () => {
  const calculator = specify({ ...CALCULATOR, contextPolicy: { keepLastTurns: 1 } });
  const refused = calculator.given([...history, ask]);

  test("is made once more, with half of what was refused", () => {
    const before = estimateOf(calculator.given(history).when(ask).directives);
    const outcome = refused.when(tooLong("call_4"));
    outcome.then(
      [
        {
          kind: "error",
          payload: { code: "model_context_too_long", call: { basisLastSeq: 6 } },
          refs: { callId: "call_4" },
        },
      ],
      [{ type: "llm_stream", callId: "call_5", iteration: 1 }],
    );
    expect(estimateOf(outcome.directives)).toBeLessThan(before / 2 + 1);
  });

  test("is made once more with what the numbers of the refusal leave, not with half", () => {
    const before = estimateOf(calculator.given(history).when(ask).directives);
    const numbers = { promptTokens: Math.round(before * 1.2), maxPromptTokens: Math.round(before * 1.08) };
    const outcome = refused.when(tooLong("call_4", numbers));
    outcome.then(
      [{ kind: "error", payload: { ...numbers, correctedRoom: expect.any(Number) } }],
      [{ type: "llm_stream" }],
    );
    expect(estimateOf(outcome.directives)).toBeLessThanOrEqual(before * 0.9);
    expect(estimateOf(outcome.directives)).toBeGreaterThan(before * 0.55);
  });

  test("is corrected by what earlier calls have used, where the refusal has no numbers but the limit", () => {
    const used = [1, 2, 3].flatMap((n) => [
      askSignal(`Question ${n} ${"word ".repeat(300)}`),
      modelTextSignal(`call_${n}`, `Answer ${n}`, { usage: { inputTokens: n * 490 } }), // 390 are estimated for each
    ]);
    const before = estimateOf(calculator.given(used).when(ask).directives);
    const outcome = calculator
      .given([...used, ask])
      .when(tooLong("call_4", { maxPromptTokens: Math.round(before * 1.15) }));
    expect(estimateOf(outcome.directives)).toBeGreaterThan(before * 0.55);
    expect(estimateOf(outcome.directives)).toBeLessThan(before);
  });

  test("is corrected again by the numbers of another refusal, and fails at the fourth", () => {
    const refusals = [0, 1, 2].map((n) =>
      tooLong(`call_${4 + n}`, { promptTokens: 1300 - n, maxPromptTokens: 1100 - 100 * n }),
    );
    refused
      .given(refusals.slice(0, 2))
      .when(refusals[2] ?? ask)
      .then([{ kind: "error" }], [{ type: "llm_stream" }]);
    refused
      .given(refusals)
      .when(tooLong("call_7", { promptTokens: 1300, maxPromptTokens: 700 }))
      .then([{ kind: "error", payload: { end: { status: "failed" } } }], [{ type: "stop", status: "failed" }]);
  });

  test("fails when it is still too long", () => {
    refused
      .given([tooLong("call_4")])
      .when(tooLong("call_5"))
      .then([{ kind: "error", payload: { end: { status: "failed" } } }], [{ type: "stop", status: "failed" }]);
  });

  test("is made once more also when there is nothing to leave out", () => {
    calculator
      .given([ask])
      .when(tooLong("call_1"))
      .then([{}], [{ type: "llm_stream", callId: "call_2" }]);
  });

  test("stays short for the rest of the request, also after a crash", () => {
    const given = refused.given([tooLong("call_4"), modelCallsSignal("call_5", [{ id: "a", name: "add" }])]);
    const live = given.when(toolResultSignal("call_5", "a", "4"));
    const log = live.agent.thread.toArray().map(({ seq: _, ...entry }) => entry);
    const restored = calculator.given(log).when({ type: "resume" });
    expect(messagesIn(restored.directives)).toEqual(messagesIn(live.directives));
    expect(JSON.stringify(messagesIn(live.directives))).not.toContain("Question 1");
  });

  test("is summarized first where there is a summarizer", () => {
    const able = specify({ ...CALCULATOR, summarizes: true, contextPolicy: { keepLastTurns: 1 } }).given([
      ...history,
      ask,
    ]);
    able.when(tooLong("call_4")).then(
      [{}],
      [
        { type: "emit", event: { kind: "summary_started", data: { toSeq: 5 } } },
        { type: "summarize", reason: "emergency", range: { fromSeq: 0, toSeq: 5 } },
      ],
    );
    const payload = { fromSeq: 0, toSeq: 5, content: "Three sums." };
    able
      .given([tooLong("call_4")])
      .when({ type: "summary_result", lane: "default", payload, call: { model: "test:small" } })
      .then(
        [{ kind: "summary", payload: { ...payload, contextRef: "default", call: { model: "test:small" } } }],
        [
          { type: "emit", event: { kind: "summary_completed" } },
          { type: "llm_stream", callId: "call_5" },
        ],
      );
  });
});

function streamIn(directives: readonly Directive[]) {
  return directives.find((directive) => directive.type === "llm_stream");
}

function messagesIn(directives: readonly Directive[]) {
  return streamIn(directives)?.messages ?? expect.fail("nothing was streamed");
}

function estimateOf(directives: readonly Directive[]): number {
  return streamIn(directives)?.basis.estimatedTokens ?? expect.fail("nothing was streamed");
}
