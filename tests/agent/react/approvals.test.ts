import { askSignal, modelCallsSignal, specify, toolResultSignal } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { isWaiting } from "../../../src/agent/react/agent.ts";
import { CALCULATOR } from "../support/calculator.ts";

const pay = { id: "p", name: "pay" };
const calculator = specify(CALCULATOR);
const called = calculator.given([askSignal("Pay."), modelCallsSignal("call_1", [pay])]);
const waiting = called.given([{ type: "approval_needed", callId: "call_1", toolCallId: "p" }]);

describe("a call that needs approval", () => {
  test("is asked for in the log, and waits", () => {
    const outcome = called.when({ type: "approval_needed", callId: "call_1", toolCallId: "p" });
    outcome.then(
      [{ kind: "approval_requested", payload: { toolCallId: "p", name: "pay" }, refs: { callId: "call_1" } }],
      [
        { type: "emit", event: { kind: "approval_requested" } },
        { type: "await_approval", call: { id: "p" } },
      ],
    );
    expect(isWaiting(outcome.agent)).toBe(true);
    expect(isWaiting(called.when({ type: "notice" }).agent)).toBe(false);
  });

  test("is not asked for again, and not for a call that is not open", () => {
    for (const toolCallId of ["p", "unknown"]) {
      waiting.when({ type: "approval_needed", callId: "call_1", toolCallId }).then([], []);
      waiting.when({ type: "answer_needed", callId: "call_1", toolCallId }).then([], []);
    }
    for (const type of ["approve", "deny"] as const) waiting.when({ type, toolCallId: "unknown" }).then([], []);
  });

  test("runs at once when it is approved, and the log says that it has begun", () => {
    waiting.when({ type: "approve", toolCallId: "p", by: "anna" }).then(
      [{ kind: "approval_resolved", payload: { toolCallId: "p", approved: true, by: "anna", started: true } }],
      [
        { type: "emit", event: { kind: "approval_resolved" } },
        { type: "tool_exec", approved: true, call: { id: "p" } },
      ],
    );
  });

  test("is run and answered with the arguments of its approval, which the log has beside its own", () => {
    const editedArguments = { to: "Bea" };
    const approved = waiting.when({ type: "approve", toolCallId: "p", by: "anna", editedArguments });
    approved.then(
      [{ kind: "approval_resolved", payload: { approved: true, by: "anna", editedArguments } }],
      [
        { type: "emit", event: { kind: "approval_resolved", data: { arguments: editedArguments } } },
        { type: "tool_exec", approved: true, edited: true, call: { id: "p", arguments: editedArguments } },
      ],
    );
    const outcome = { content: "paid", isError: false };
    const ran = waiting
      .given([{ type: "approve", toolCallId: "p", editedArguments }])
      .when({ type: "tool_result", callId: "call_1", toolCallId: "p", outcome });
    ran.then([{ payload: { role: "tool", toolCallId: "p", editedArguments } }], [{ type: "llm_stream" }]);
    const [llm] = ran.directives.filter(({ type }) => type === "llm_stream");
    const shown =
      llm?.type === "llm_stream" ? llm.messages.flatMap((one) => ("toolCalls" in one ? one.toolCalls : [])) : [];
    expect(shown).toEqual([{ id: "p", name: "pay", arguments: editedArguments }]);
  });

  test("that is denied is not edited", () => {
    const denied = waiting.when({ type: "deny", toolCallId: "p", editedArguments: { to: "Bea" } });
    expect(JSON.stringify(denied.agent.thread.toArray())).not.toContain("editedArguments");
  });

  test("that is denied gives the model an error, with the reason", () => {
    waiting
      .when({ type: "deny", toolCallId: "p", reason: "Too much." })
      .then(
        [
          { kind: "approval_resolved", payload: { approved: false, reason: "Too much." } },
          { payload: { role: "tool", isError: true, content: expect.stringContaining("Too much.") } },
        ],
        [{ type: "emit", event: { kind: "tool_completed" } }, { type: "llm_stream" }],
      );
  });

  test("is decided once, and only when it waits", () => {
    waiting
      .given([{ type: "approve", toolCallId: "p" }])
      .when({ type: "deny", toolCallId: "p" })
      .then([], []);
    called.when({ type: "approve", toolCallId: "p" }).then([], []);
    waiting.when({ type: "approve", toolCallId: "x" }).then([], []);
  });

  test("that another process has approved begins with an entry, and then runs", () => {
    const refs = { requestId: "req_1", runId: "run_1", callId: "call_1", toolCallId: "p" };
    waiting
      .given([{ kind: "approval_resolved", payload: { toolCallId: "p", approved: true }, refs }])
      .when({ type: "notice" })
      .then([{ kind: "tool_started", payload: { toolCallId: "p" } }], [{ type: "tool_exec", approved: true }]);
  });

  test.each(["reason", "note"])("that another process has denied is emitted, with its %s", (field) => {
    const refs = { requestId: "req_1", runId: "run_1", callId: "call_1", toolCallId: "p" };
    const payload = { toolCallId: "p", approved: false, by: "anna", [field]: "Too much." }; // `note` in logs of 0.1
    waiting
      .given([{ kind: "approval_resolved", payload, refs }])
      .when({ type: "notice" })
      .then(
        [{ payload: { role: "tool", isError: true, content: expect.stringContaining("Too much.") } }],
        [
          {
            type: "emit",
            event: { kind: "approval_resolved", data: { approved: false, by: "anna", reason: "Too much." } },
          },
          { type: "emit", event: { kind: "tool_completed" } },
          { type: "llm_stream" },
        ],
      );
  });

  test("is not touched by an answer from outside", () => {
    const outcome = { content: "paid", isError: false };
    waiting.when({ type: "answer", toolCallId: "p", outcome }).then([], []);
  });
});

describe("a call that is answered from outside", () => {
  const asking = calculator.given([
    askSignal("Sure?"),
    modelCallsSignal("call_1", [{ id: "c", name: "confirm" }]),
    { type: "answer_needed", callId: "call_1", toolCallId: "c" },
  ]);

  test("waits without an entry", () => {
    calculator
      .given([askSignal("Sure?"), modelCallsSignal("call_1", [{ id: "c", name: "confirm" }])])
      .when({ type: "answer_needed", callId: "call_1", toolCallId: "c" })
      .then(
        [],
        [
          { type: "emit", event: { kind: "answer_requested" } },
          { type: "await_answer", call: { id: "c" } },
        ],
      );
  });

  test("and is asked about first waits with one, which says that it may be answered", () => {
    for (const asks of [{ guards: true }, { traits: { confirm: { client: true, guarded: true } } }]) {
      specify({ ...CALCULATOR, ...asks })
        .given([askSignal("Sure?"), modelCallsSignal("call_1", [{ id: "c", name: "confirm" }])])
        .when({ type: "answer_needed", callId: "call_1", toolCallId: "c" })
        .then([{ kind: "tool_started", payload: { toolCallId: "c" } }], [{ type: "emit" }, { type: "await_answer" }]);
    }
  });

  test("continues with the answer", () => {
    asking
      .when({ type: "answer", toolCallId: "c", outcome: { content: "yes", isError: false } })
      .then([{ payload: { role: "tool", toolCallId: "c", content: "yes" } }], [{ type: "llm_stream" }]);
  });

  test("is none that a tool is running on", () => {
    calculator
      .given([askSignal("Go"), modelCallsSignal("call_1", [{ id: "a", name: "add" }])])
      .when({ type: "answer", toolCallId: "a", outcome: { content: "5", isError: false } })
      .then([], []);
  });
});

test("a tool that others have answered meanwhile may report back; it changes nothing", () => {
  const refs = { requestId: "req_1", runId: "run_1", callId: "call_1", toolCallId: "a" };
  const payload = { contextRef: "default", role: "tool", toolCallId: "a", name: "add", content: "5" };
  calculator
    .given([
      askSignal("Go"),
      modelCallsSignal("call_1", [{ id: "a", name: "add" }]),
      { kind: "ai_message", payload, refs },
    ])
    .when({ type: "notice" })
    .then([], [{ type: "emit", event: { kind: "tool_completed" } }, { type: "llm_stream" }]);
  calculator
    .given([
      askSignal("Go"),
      modelCallsSignal("call_1", [{ id: "a", name: "add" }]),
      { kind: "ai_message", payload, refs },
      { type: "notice" },
    ])
    .when(toolResultSignal("call_1", "a", "4"))
    .then([], []);
});
