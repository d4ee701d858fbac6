import { hasToolCall } from "heddle";
import type { CompletedExchange } from "heddle/core";
import { askSignal, modelCallsSignal, modelTextSignal, specify, toolResultSignal } from "heddle/testing";
import { describe, expect, test } from "vitest";
import type { ReactSettings } from "../../../src/agent/react/settings.ts";
import { CALCULATOR } from "../support/calculator.ts";

const ask = askSignal("What's 2+2?");
const add = { id: "a", name: "add", arguments: { a: 2 } };
const pay = { id: "p", name: "pay" };
const confirm = { id: "c", name: "confirm" };
const STOPPED = { end: { status: "completed", terminationReason: "stopped" } };
const finish = { type: "finish", terminationReason: "stopped" } as const;
const needsApproval = { type: "approval_needed", callId: "call_1", toolCallId: "p" } as const;
const needsAnswer = { type: "answer_needed", callId: "call_1", toolCallId: "c" } as const;
const calculator = specify(CALCULATOR);

function stopping(stopWhen: ReactSettings["stopWhen"]) {
  return specify({ ...CALCULATOR, stopWhen });
}

describe("a run is stopped by its own predicate", () => {
  test("which is called when the results of an exchange are in, and gets the exchange", () => {
    const told: CompletedExchange[] = [];
    const seeing = stopping((exchange) => {
      told.push(exchange);
      return true;
    });
    seeing
      .given([ask, modelCallsSignal("call_1", [add], { content: "Let me see." })])
      .when(toolResultSignal("call_1", "a", "4"))
      .then(
        [{ payload: { role: "tool", content: "4" } }, { kind: "note", payload: STOPPED }],
        [
          { type: "emit", event: { kind: "request_completed", data: { terminationReason: "stopped" } } },
          { type: "stop", status: "completed" },
        ],
      );
    expect(told).toEqual([
      {
        steps: [expect.any(Object)],
        iteration: 1,
        text: "Let me see.",
        toolCalls: [{ id: "a", name: "add", arguments: { a: 2 } }],
        results: [{ toolCallId: "a", name: "add", content: "4", isError: false }],
        usage: expect.any(Object),
        usageByModel: { "test:model": expect.any(Object) },
      },
    ]);
  });

  test("not before all results are in, and not where it returns false", () => {
    const never = stopping(() => false);
    never
      .given([ask, modelCallsSignal("call_1", [add])])
      .when(toolResultSignal("call_1", "a", "4"))
      .then([{}], [{ type: "llm_stream" }]);
    const always = stopping(() => true);
    always
      .given([ask, modelCallsSignal("call_1", [add, { id: "b", name: "add" }])])
      .when(toolResultSignal("call_1", "a", "4"))
      .then([{}]);
    always
      .given([ask])
      .when(modelTextSignal("call_1", "4"))
      .then([{ payload: { end: { terminationReason: "final_answer" } } }]);
  });

  test("also where another process has taken the run up", () => {
    const { agent } = stopping(() => true)
      .given([ask])
      .when(modelCallsSignal("call_1", [{ id: "l", name: "look" }]));
    const entries = agent.thread.toArray().map(({ seq: _, ...entry }) => entry);
    specify(agent.settings)
      .given([...entries, { type: "resume" }])
      .when(toolResultSignal("call_1", "l", "seen"))
      .then([{}, { payload: STOPPED }], [{ type: "stop", status: "completed" }]);
  });

  test.each([
    ["throws", () => JSON.parse("secret")],
    ["answers later", async () => true],
    ["answers later, and that badly", () => Promise.reject(new Error("secret"))],
    ["answers nothing", () => undefined],
  ])("and fails as stop_when_failed when that %s", (_, stopWhen) => {
    const { entries } = stopping(stopWhen as never)
      .given([ask, modelCallsSignal("call_1", [add])])
      .when(toolResultSignal("call_1", "a", "4"))
      .then(
        [{}, { kind: "error", payload: { code: "stop_when_failed", end: { status: "failed" } } }],
        [{ type: "stop", status: "failed" }],
      );
    expect(JSON.stringify(entries)).not.toContain("secret");
  });

  test("such as that a tool was called", () => {
    const steps = [{ toolCalls: [{ toolName: "look" }] }, { toolCalls: [{ toolName: "add" }] }];
    expect(hasToolCall("pay", "add")({ steps })).toBe(true);
    expect(hasToolCall("pay", "look")({ steps })).toBe(false);
    expect(hasToolCall("pay")({ steps: [] })).toBe(false);
  });
});

describe("a run that a caller finishes", () => {
  test("runs none of the calls that the model still makes", () => {
    calculator
      .given([ask, finish])
      .when(modelCallsSignal("call_1", [add]))
      .then(
        [
          { payload: { role: "assistant" } },
          { payload: { toolCallId: "a", isError: true, content: expect.stringContaining("did not run") } },
          { payload: STOPPED },
        ],
        [{ type: "stop", status: "completed" }],
      );
  });

  test("does not wait for an answer from outside", () => {
    calculator
      .given([ask, modelCallsSignal("call_1", [pay, confirm]), needsApproval, needsAnswer])
      .when(finish)
      .then(
        [
          { payload: { toolCallId: "p", content: expect.stringContaining("did not run") } },
          { payload: { toolCallId: "c", content: expect.stringContaining("answered") } },
          { payload: STOPPED },
        ],
        [
          { type: "emit", event: { kind: "tool_completed" } },
          { type: "emit", event: { kind: "tool_completed" } },
          { type: "stop", status: "completed" },
        ],
      );
  });

  test("waits for running work, and takes no decision meanwhile", () => {
    const finishing = calculator.given([ask, modelCallsSignal("call_1", [pay, add]), needsApproval, finish]);
    finishing.when({ type: "approve", toolCallId: "p" }).then([], []);
    finishing.when(toolResultSignal("call_1", "a", "4")).then([{}, { payload: STOPPED }], [{ type: "stop" }]);
  });

  test("requests neither approvals nor answers any more", () => {
    for (const [call, needed] of [
      [pay, needsApproval],
      [confirm, needsAnswer],
    ] as const) {
      calculator
        .given([ask, modelCallsSignal("call_1", [call]), finish])
        .when(needed)
        .then([{ payload: { isError: true } }, { payload: STOPPED }], [{ type: "stop", status: "completed" }]);
    }
  });

  test("makes no shorter call after one that was too long", () => {
    const failure = { code: "model_context_too_long", message: "Too long." };
    calculator
      .given([ask, finish])
      .when({ type: "llm_error", callId: "call_1", failure })
      .then([{ kind: "error" }, { payload: STOPPED }], [{ type: "stop", status: "completed" }]);
  });

  test("is cancelled all the same when a caller cancels it", () => {
    calculator
      .given([ask, modelCallsSignal("call_1", [add]), finish, { type: "cancel" }])
      .when(toolResultSignal("call_1", "a", "4"))
      .then([{}, { payload: { end: { status: "cancelled" } } }], [{ type: "stop", status: "cancelled" }]);
  });

  test("is the one that is named", () => {
    const waiting = calculator.given([ask, modelCallsSignal("call_1", [pay]), needsApproval]);
    waiting.when({ ...finish, requestId: "req_9" }).then([], []);
    waiting.when({ ...finish, requestId: "req_1" }).then([{}, { payload: STOPPED }]);
  });
});
