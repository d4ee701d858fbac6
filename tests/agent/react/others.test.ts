import { askSignal, modelCallsSignal, specify, toolResultSignal } from "heddle/testing";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/thread/json.ts";
import { CALCULATOR } from "../support/calculator.ts";

const calculator = specify(CALCULATOR);
const refs = { requestId: "req_1", runId: "run_1" };
const called = calculator.given([askSignal("Go"), modelCallsSignal("call_1", [{ id: "t", name: "add" }])]);

function written(payload: JsonObject, callId?: string) {
  return { kind: "ai_message", payload, refs: { ...refs, ...(callId !== undefined && { callId }), toolCallId: "t" } };
}

describe("what others write into the thread of a request that runs", () => {
  test("is no end of a call when it is words between the call and its result", () => {
    const words = written({ role: "user", content: "Hurry.", steer: "steer", requestId: "req_1", runId: "run_1" });
    called
      .given([words])
      .when(toolResultSignal("call_1", "t", "4"))
      .then(
        [{ payload: { role: "tool", content: "4" } }],
        [{ type: "llm_stream", messages: [{}, {}, { role: "assistant" }, { role: "tool" }, { content: "Hurry." }] }],
      );
  });

  test("is no result of a call that has the id of an earlier one", () => {
    const again = called.given([
      toolResultSignal("call_1", "t", "1"),
      modelCallsSignal("call_2", [{ id: "t", name: "add" }]),
    ]);
    const late = written({ role: "tool", toolCallId: "t", name: "add", content: "late" }, "call_1");
    again.given([late]).when({ type: "notice" }).then([], []);
    again
      .given([late])
      .when(toolResultSignal("call_2", "t", "2"))
      .then([{ payload: { content: "2" } }], [{ type: "llm_stream" }]);
  });

  test("is a result also when it does not say of which model call", () => {
    const result = written({ role: "tool", toolCallId: "t", name: "add", content: "5" });
    called
      .given([result])
      .when({ type: "notice" })
      .then([], [{ type: "emit", event: { kind: "tool_completed", data: { content: "5" } } }, { type: "llm_stream" }]);
  });

  test("does not decide on a call that has begun", () => {
    const decision = { kind: "approval_resolved", payload: { toolCallId: "t", approved: false }, refs };
    const { state } = calculator
      .given([
        askSignal("Go"),
        modelCallsSignal("call_1", [{ id: "t", name: "pay" }]),
        { type: "approval_needed", callId: "call_1", toolCallId: "t" },
        { type: "approve", toolCallId: "t" },
        decision,
      ])
      .when({ type: "notice" })
      .then([], []).agent;
    expect(state.run?.calls[0]?.status).toBe("started");
  });

  test("does not keep a run from ending when the tool reports back after all", () => {
    const result = written({ role: "tool", toolCallId: "t", name: "add", content: "5" }, "call_1");
    called
      .given([{ type: "cancel" }, result])
      .when(toolResultSignal("call_1", "t", "aborted", true))
      .then([{ kind: "error", payload: { end: { status: "cancelled" } } }], [{ type: "stop", status: "cancelled" }]);
  });

  test("leaves nothing to wait for when the run has continued without the tool", () => {
    const result = written({ role: "tool", toolCallId: "t", name: "add", content: "5" }, "call_1");
    called
      .given([
        result,
        { type: "notice" },
        modelCallsSignal("call_2", [{ id: "p", name: "pay" }]),
        { type: "approval_needed", callId: "call_2", toolCallId: "p" },
      ])
      .when({ type: "cancel" })
      .then([{ payload: { toolCallId: "p" } }, { kind: "error" }], [{ type: "stop", status: "cancelled" }]);
  });

  test("starts nothing in a run that is ending", () => {
    const decision = { kind: "approval_resolved", payload: { toolCallId: "p", approved: true }, refs };
    calculator
      .given([
        askSignal("Go"),
        modelCallsSignal("call_1", [
          { id: "p", name: "pay" },
          { id: "t", name: "add" },
        ]),
        { type: "approval_needed", callId: "call_1", toolCallId: "p" },
        { type: "cancel" },
        decision,
      ])
      .when({ type: "notice" })
      .then([], []);
  });
});
