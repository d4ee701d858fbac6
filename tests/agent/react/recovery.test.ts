import { askSignal, modelCallsSignal, modelTextSignal, specify, toolResultSignal } from "heddle/testing";
import { describe, expect, test } from "vitest";
import type { ReactAgent } from "../../../src/agent/react/agent.ts";
import type { EntryInput } from "../../../src/thread/entry.ts";
import { CALCULATOR } from "../support/calculator.ts";
import { ASKED_ELSEWHERE, endedElsewhere } from "../support/other-process.ts";

const calculator = specify(CALCULATOR);
const ask = askSignal("What's 2+2?");
const resume = { type: "resume" } as const;
const approval = { type: "approval_needed", callId: "call_1", toolCallId: "t" } as const;

/** What a process finds that starts on the thread of another. */
function left({ thread }: ReactAgent): EntryInput[] {
  return thread.toArray().map(({ seq: _, ...entry }) => entry);
}

function calling(name: string) {
  return calculator.given([ask, modelCallsSignal("call_1", [{ id: "t", name }])]);
}

function died(given: typeof calculator, signal: Parameters<typeof calculator.when>[0]) {
  return calculator.given(left(given.when(signal).agent));
}

const UNKNOWN = {
  payload: { role: "tool", toolCallId: "t", isError: true, content: expect.stringContaining("unknown") },
};

const INTERRUPTED = { kind: "tool_interrupted", callId: "call_1", toolCallId: "t", toolName: "add", data: {} } as const;
const LATE = { code: "request_timeout", message: "Too late." } as const;

describe("a process that finds a request under way", () => {
  test("calls the model when it was the model's turn", () => {
    died(calculator, ask)
      .when(resume)
      .then([], [{ type: "llm_stream", iteration: 1 }]);
    died(calling("add"), toolResultSignal("call_1", "t", "4"))
      .when(resume)
      .then(
        [],
        [
          { type: "checkpoint", reason: "after_tools" },
          { type: "llm_stream", iteration: 2 },
        ],
      );
  });

  test("sends a paused answer back, within the limit of calls", () => {
    const paused = modelTextSignal("call_1", "", { content: "I search.", finishReason: "paused" });
    died(calculator.given([ask]), paused)
      .when(resume)
      .then(
        [],
        [
          { type: "checkpoint", reason: "after_tools" },
          { type: "llm_stream", iteration: 2 },
        ],
      );
    const once = calculator.given([{ ...ask, options: { maxIterations: 1 } }]).when(paused);
    calculator
      .given(left(once.agent).slice(0, -1)) // without the end
      .when(resume)
      .then([{ payload: { end: { terminationReason: "max_iterations" } } }]);
  });

  test("closes a call that may have run, before the model is called", () => {
    died(calling("add"), { type: "notice" })
      .when(resume)
      .then(
        [UNKNOWN],
        [
          { type: "emit", event: INTERRUPTED },
          { type: "emit", event: { kind: "tool_completed" } },
          { type: "llm_stream" },
        ],
      );
  });

  test("closes a call whose tool is gone with the answer that it may have got", () => {
    const of = { callId: "call_1", toolCallId: "t" } as const;
    const asked = calling("look").given([{ type: "question_asked", ...of, question: "Sure?" }]);
    const answered = asked.when({ type: "answer_question", toolCallId: "t", answer: "yes" });
    const gone = specify({ ...CALCULATOR, traits: {} });
    gone
      .given(left(answered.agent))
      .when(resume)
      .then([{ payload: { ...UNKNOWN.payload, content: expect.stringContaining('"answer":"yes"') } }]);
    gone
      .given(left(asked.when({ type: "notice" }).agent))
      .given([resume, { type: "answer_question", toolCallId: "t", answer: "no" }])
      .when({ type: "tool_result", ...of, isGone: true, outcome: { content: "gone", isError: true } })
      .then(
        [{ payload: { content: "gone" } }],
        [{ type: "emit", event: { ...INTERRUPTED, toolName: "look" } }, { type: "emit" }, { type: "llm_stream" }],
      );
  });

  test("says at once that a call may have run, also where a call before it still waits", () => {
    const calls = [
      { id: "p", name: "pay" },
      { id: "t", name: "add" },
    ];
    const asked = calculator.given([ask, modelCallsSignal("call_1", calls)]);
    died(asked, { ...approval, toolCallId: "p" })
      .when(resume)
      .then([UNKNOWN], [{ type: "await_approval" }, { type: "emit", event: INTERRUPTED }]);
  });

  test("runs a call again that is repeatable", () => {
    died(calling("look"), { type: "notice" })
      .when(resume)
      .then([], [{ type: "tool_exec", approved: false }]);
  });

  test("asks on for approval, and for answers", () => {
    died(calling("pay"), approval)
      .when(resume)
      .then([], [{ type: "await_approval" }]);
    died(calling("confirm"), { type: "notice" })
      .when(resume)
      .then([], [{ type: "await_answer" }]);
  });

  test("requests the check again whether a call may be answered, if it is unknown whether that was done", () => {
    const answer = { type: "answer_needed", callId: "call_1", toolCallId: "t" } as const;
    for (const asks of [{ guards: true }, { traits: { confirm: { client: true, guarded: true } } }]) {
      const guarded = specify({ ...CALCULATOR, ...asks });
      const called = guarded.given([askSignal("Sure?"), modelCallsSignal("call_1", [{ id: "t", name: "confirm" }])]);
      const left = (signal: Parameters<typeof called.when>[0]) =>
        guarded.given(
          called
            .when(signal)
            .agent.thread.toArray()
            .map(({ seq: _, ...entry }) => entry),
        );
      left({ type: "notice" })
        .when(resume)
        .then([], [{ type: "tool_exec", approved: false }]);
      left(answer)
        .when(resume)
        .then([], [{ type: "await_answer" }]);
      left(answer)
        .given([resume])
        .when({ type: "answer", toolCallId: "t", outcome: { content: "yes", isError: false } })
        .then([{ payload: { content: "yes" } }], [{ type: "llm_stream" }]);
    }
  });

  test("runs what was approved and not begun, and closes what was approved and begun", () => {
    const refs = { requestId: "req_1", runId: "run_1", callId: "call_1", toolCallId: "t" };
    const approved = { kind: "approval_resolved", payload: { toolCallId: "t", approved: true }, refs };
    died(calling("pay"), approval)
      .given([approved])
      .when(resume)
      .then([{ kind: "tool_started" }], [{ type: "tool_exec", approved: true }]);
    died(calling("pay").given([approval]), { type: "approve", toolCallId: "t" })
      .when(resume)
      .then([UNKNOWN], [{ type: "llm_stream" }]);
  });

  test("sends the model the calls that were denied meanwhile", () => {
    const refs = { requestId: "req_1", runId: "run_1", callId: "call_1", toolCallId: "t" };
    died(calling("pay"), approval)
      .given([{ kind: "approval_resolved", payload: { toolCallId: "t", approved: false }, refs }])
      .when(resume)
      .then([{ payload: { content: expect.stringContaining("denied") } }], [{ type: "llm_stream" }]);
  });

  test("runs calls that are known not to have run", () => {
    died(calling("add"), { type: "notice" })
      .when({ type: "resume", untouched: true })
      .then([], [{ type: "tool_exec", call: { id: "t" } }]);
  });

  const refs = { requestId: "req_1", runId: "run_1" };
  const stopped = (...begun: string[]): EntryInput => ({ kind: "note", payload: { handedOver: { begun } }, refs });
  const handedOver = (...names: string[]) => {
    const calls = names.map((name) => ({ id: name, name }));
    return calculator.given([ask, modelCallsSignal("call_1", calls)]);
  };
  const later = (given: typeof calculator) => calculator.given(left(given.when({ type: "notice" }).agent));
  const unknown = (toolCallId: string) => ({ payload: { ...UNKNOWN.payload, toolCallId } });

  test("takes a thread over with a note, also where a call only waits", () => {
    const waiting = later(handedOver("confirm").given([stopped()]));
    waiting.when(resume).then([{ kind: "note", payload: { attempt: 1 } }], [{ type: "await_answer" }]);
    later(waiting.given([resume]))
      .when(resume)
      .then([], [{ type: "await_answer" }]);
  });

  test("closes a call that had begun at the stop, also where its tool needs an approval since", () => {
    later(handedOver("pay").given([stopped("pay")]))
      .when(resume)
      .then(
        [{ payload: { attempt: 1 } }, unknown("pay")],
        [{ type: "emit" }, { type: "emit" }, { type: "llm_stream" }],
      );
    later(handedOver("pay").given([stopped()]))
      .when(resume)
      .then([{ payload: { attempt: 1 } }], [{ type: "tool_exec", approved: false }]);
  });

  test("does not run calls of a later answer that may have run, where no note was written", () => {
    const result = { role: "tool", toolCallId: "confirm", content: "yes" };
    const answer = { role: "assistant", content: "", toolCalls: [{ id: "t", name: "add", arguments: {} }] };
    const [confirmed, called] = [result, answer].map((payload, index) => {
      return { kind: "ai_message", payload: { ...payload, ...refs }, refs: { ...refs, callId: `call_${index + 1}` } };
    });
    later(handedOver("confirm").given([stopped(), confirmed ?? {}, called ?? {}]))
      .when(resume)
      .then([UNKNOWN], [{ type: "emit", event: { ...INTERRUPTED, callId: "call_2" } }, { type: "llm_stream" }]);
  });

  test("does not run a call that was begun after the stop, where no note was written", () => {
    const of = { ...refs, callId: "call_1", toolCallId: "pay" };
    const begun = {
      kind: "approval_resolved",
      payload: { toolCallId: "pay", approved: true, started: true },
      refs: of,
    };
    const asked = handedOver("pay", "add").given([{ ...approval, toolCallId: "pay" }, stopped(), begun]);
    later(asked)
      .when(resume)
      .then(
        [{ kind: "note", payload: { attempt: 1 } }, unknown("pay")],
        [{ type: "emit" }, { type: "emit" }, { type: "tool_exec", call: { id: "add" } }],
      );
  });

  test("may close it instead", () => {
    died(calling("add"), { type: "notice" })
      .when({ type: "resume", recover: "fail" })
      .then(
        [{ payload: { toolCallId: "t" } }, { kind: "error", payload: { code: "request_interrupted" } }],
        [
          { type: "emit", event: INTERRUPTED },
          { type: "stop", status: "failed" },
        ],
      );
    const confirm = died(calling("confirm"), { type: "notice" }).when({ type: "fail", failure: LATE });
    expect(confirm.directives).not.toContainEqual(expect.objectContaining({ event: INTERRUPTED })); // no tool ran
  });

  test("says the end where only that is missing", () => {
    const said = calculator.given([ask]).when(modelTextSignal("call_1", "4"));
    const [question, answer] = left(said.agent);
    const { end: _, ...payload } = { end: undefined, ...answer?.payload };
    calculator
      .given([question ?? {}, { ...answer, payload }])
      .when(resume)
      .then(
        [{ kind: "note", payload: { end: { terminationReason: "final_answer" } } }],
        [{ type: "emit", event: { kind: "request_completed", data: { text: "4" } } }],
      );
  });

  test("leaves calls alone that it began before it was resumed", () => {
    const early = died(calling("pay"), approval).given([{ type: "approve", toolCallId: "t" }]);
    early.when(resume).then([], []);
    early
      .given([resume])
      .when(toolResultSignal("call_1", "t", "paid"))
      .then([{ payload: { content: "paid" } }], [{ type: "llm_stream" }]);
  });

  test("that is running already continues unchanged", () => {
    calling("add").when(resume).then([], []);
    calculator.when(resume).then([], []);
  });

  test.each(["a model call", "a summary"])(
    "leaves the request of another process alone while it waits for %s",
    (kind) => {
      const contextPolicy = { autoSummarize: true, summarizeThreshold: 4, keepLastTurns: 1 };
      const summarizing = specify({ ...CALCULATOR, summarizes: kind === "a summary", contextPolicy });
      const answered = [1, 2].flatMap((n) => [askSignal(`Question ${n}`), modelTextSignal(`call_${n}`, "Yes.")]);
      const waiting = summarizing.given([...answered, ask]);
      const { flight } = waiting.when({ type: "notice" }).agent;
      expect([flight.call !== undefined, flight.summary !== undefined]).toEqual([
        kind === "a model call",
        kind === "a summary",
      ]);
      const outcome = waiting.given([endedElsewhere(3), ASKED_ELSEWHERE]).when(resume);
      expect(outcome.agent.state.run?.runId).toBe("run_other");
      outcome.then([], []);
    },
  );

  test("keeps the options of the request", () => {
    const once = askSignal("Go", { options: { maxIterations: 1, allowedTools: ["add"] } });
    died(
      calculator.given([once, modelCallsSignal("call_1", [{ id: "t", name: "add" }])]),
      toolResultSignal("call_1", "t", "4"),
    )
      .when(resume)
      .then([], []);
    died(calculator, once)
      .when(resume)
      .then([], [{ type: "llm_stream", toolSpec: [{ name: "add" }] }]);
  });
});

test("a request that another process has ended is emitted here", () => {
  const end = { status: "cancelled", reason: "Elsewhere." };
  const refs = { requestId: "req_1", runId: "run_1" };
  calculator
    .given([ask, { kind: "error", payload: { end }, refs }])
    .when({ type: "notice" })
    .then(
      [],
      [
        { type: "abort" },
        { type: "emit", event: { kind: "request_cancelled", data: { reason: "Elsewhere." } } },
        { type: "stop", status: "cancelled" },
      ],
    );
});
