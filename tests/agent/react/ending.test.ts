import { askSignal, modelCallsSignal, modelTextSignal, specify, toolResultSignal } from "heddle/testing";
import { describe, expect, test } from "vitest";
import type { Signal } from "../../../src/agent/signal.ts";
import { CALCULATOR } from "../support/calculator.ts";
import { summaryFailed } from "../support/failed-summary.ts";

const calculator = specify(CALCULATOR);
const ask = askSignal("What's 2+2?");
const cancel = { type: "cancel", reason: "Enough." } as const;
const add = { id: "a", name: "add" };
const pay = { id: "p", name: "pay" };
const END = { end: { status: "cancelled", reason: "Enough." } };
const needsApproval = { type: "approval_needed", callId: "call_1", toolCallId: "p" } as const;

test.each<Signal>([
  modelTextSignal("call_1", "4"),
  { type: "llm_error", callId: "call_1", failure: { code: "model_error", message: "No." } },
  toolResultSignal("call_1", "a", "4"),
  needsApproval,
  { type: "answer_needed", callId: "call_1", toolCallId: "a" },
  { type: "approve", toolCallId: "p" },
  { type: "deny", toolCallId: "p" },
  { type: "answer", toolCallId: "a", outcome: { content: "4", isError: false } },
  { type: "finish", terminationReason: "stopped" },
  { type: "hand_over", begun: [] },
  cancel,
])("a signal that comes when no request is open changes nothing: $type", (late) => {
  calculator.when(late).then([], []);
  calculator
    .given([ask, modelTextSignal("call_1", "4")])
    .when(late)
    .then([], []);
});

describe("a request that is cancelled", () => {
  test("while the model streams ends when the stream has ended, and keeps the text so far", () => {
    calculator
      .given([ask])
      .when(cancel)
      .then([], [{ type: "abort", requestId: "req_1", reason: "Enough." }]);
    const failure = { code: "aborted", message: "Aborted." };
    const partial = { content: "2+2 is", usage: { outputTokens: 3 } };
    calculator
      .given([ask, cancel])
      .when({ type: "llm_error", callId: "call_1", failure, partial })
      .then(
        [
          { payload: { content: "2+2 is", partial: true, call: { usage: { outputTokens: 3 } } } },
          { kind: "error", payload: END },
        ],
        [
          { type: "emit", event: { kind: "request_cancelled" } },
          { type: "stop", status: "cancelled" },
        ],
      );
  });

  test("does not call the model again where the model answers that the context is too long", () => {
    const failure = { code: "model_context_too_long", message: "Too long." };
    calculator
      .given([ask, cancel])
      .when({ type: "llm_error", callId: "call_1", failure })
      .then(
        [{ kind: "error", payload: END }],
        [
          { type: "emit", event: { kind: "request_cancelled" } },
          { type: "stop", status: "cancelled" },
        ],
      );
  });

  test("runs none of the calls that come all the same", () => {
    calculator
      .given([ask, cancel])
      .when(modelCallsSignal("call_1", [add]))
      .then(
        [{}, { payload: { role: "tool", content: expect.stringContaining("did not run") } }, { payload: END }],
        [
          { type: "emit", event: { kind: "tool_completed" } },
          { type: "stop", status: "cancelled" },
        ],
      );
  });

  test("waits for the running tools", () => {
    const called = calculator.given([ask, modelCallsSignal("call_1", [add, { id: "b", name: "add" }]), cancel]);
    called.when(toolResultSignal("call_1", "b", "2")).then([{ payload: { content: "2" } }], []);
    called
      .given([toolResultSignal("call_1", "b", "2")])
      .when(toolResultSignal("call_1", "a", "aborted", true))
      .then([{ payload: { toolCallId: "a" } }, { payload: END }], [{ type: "stop", status: "cancelled" }]);
  });

  test("waits for no approval and no answer", () => {
    const confirm = { type: "answer_needed", callId: "call_1", toolCallId: "c" } as const;
    const waiting = calculator.given([
      ask,
      modelCallsSignal("call_1", [pay, { id: "c", name: "confirm" }]),
      needsApproval,
      confirm,
    ]);
    waiting
      .when(cancel)
      .then(
        [
          { payload: { toolCallId: "p", content: expect.stringContaining("did not run") } },
          { payload: { toolCallId: "c", isError: true } },
          { payload: END },
        ],
        [{ type: "abort" }, { type: "stop", status: "cancelled" }],
      );
  });

  test("requests no approval any more", () => {
    calculator
      .given([ask, modelCallsSignal("call_1", [pay]), cancel])
      .when(needsApproval)
      .then([{ payload: { toolCallId: "p", isError: true } }, { payload: END }], [{ type: "stop" }]);
  });

  test("starts nothing that is approved too late", () => {
    calculator
      .given([ask, modelCallsSignal("call_1", [pay, add]), needsApproval, cancel])
      .when({ type: "approve", toolCallId: "p" })
      .then([], []);
  });

  test("while a summary is written ends when the summary has ended", () => {
    const policy = { autoSummarize: true, summarizeThreshold: 2, keepLastTurns: 1 };
    const summarizing = specify({ ...CALCULATOR, summarizes: true, contextPolicy: policy }).given([
      ask,
      modelTextSignal("call_1", "4"),
      askSignal("And 3+3?"),
    ]);
    summarizing.when(cancel).then([], [{ type: "abort" }]);
    summarizing
      .given([cancel])
      .when(summaryFailed(1))
      .then([{ payload: END }], [{ type: "stop", status: "cancelled" }]);
  });

  test("before it was resumed ends at once", () => {
    const { thread, settings } = calculator.given([ask]).when(modelCallsSignal("call_1", [add])).agent;
    specify(settings)
      .given(thread.toArray().map(({ seq: _, ...entry }) => entry))
      .when(cancel)
      .then([{ payload: { toolCallId: "a" } }, { payload: END }], [{ type: "stop", status: "cancelled" }]);
  });

  test("has its first reason, and only the request that is named", () => {
    const second = { type: "cancel", reason: "Really." } as const;
    calculator.given([ask, cancel]).when(second).then([], []);
    calculator
      .given([ask])
      .when({ ...cancel, requestId: "req_9" })
      .then([], []);
    calculator.when(cancel).then([], []);
  });
});

test("what breaks around a run fails it, with the same rules", () => {
  const failure = { code: "total_timeout", message: "The request took too long." };
  calculator
    .given([ask, modelCallsSignal("call_1", [add]), { type: "fail", failure }])
    .when(toolResultSignal("call_1", "a", "4"))
    .then(
      [{}, { kind: "error", payload: { code: "total_timeout", end: { status: "failed", failure } } }],
      [{ type: "emit", event: { kind: "request_failed", data: { failure } } }],
    );
});

describe("a run that is to finish", () => {
  const finish = { type: "finish", terminationReason: "stopped" } as const;

  test("makes no further call when the results are in", () => {
    const finishing = calculator.given([ask, modelCallsSignal("call_1", [add]), finish]);
    finishing
      .when(toolResultSignal("call_1", "a", "4"))
      .then([{}, { kind: "note", payload: { end: { terminationReason: "stopped" } } }], [{ type: "stop" }]);
  });

  test("takes no more words, and says so", () => {
    calculator
      .given([ask, { type: "steer", id: "s1", steer: "steer", content: "In words." }, finish])
      .when(modelTextSignal("call_1", "4"))
      .then(
        [{ payload: { end: { status: "completed" } } }],
        [{ type: "settle", id: "s1", end: { status: "dropped" } }],
      );
  });

  test("keeps the answer that is being written", () => {
    calculator
      .given([ask, finish])
      .when(modelTextSignal("call_1", "4"))
      .then([{ payload: { content: "4", end: { terminationReason: "final_answer" } } }], [{ type: "stop" }]);
  });
});

test("a model error is the end, with the basis of the call and the partial answer", () => {
  const failure = { code: "model_error", message: "No." };
  const failed = calculator.given([ask]);
  failed.when({ type: "llm_error", callId: "call_1", failure }).then(
    [
      {
        kind: "error",
        payload: { code: "model_error", call: { basisLastSeq: 0, finishReason: "error" }, end: { status: "failed" } },
        refs: { callId: "call_1" },
      },
    ],
    [{ type: "emit", event: { kind: "request_failed" } }],
  );
});
