import { askSignal, modelCallsSignal, modelTextSignal, specify, toolResultSignal } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { CALCULATOR } from "../support/calculator.ts";

const calculator = specify(CALCULATOR);
const ask = askSignal("What's 2+2?");
const add = { id: "a", name: "add" };

describe("an ask", () => {
  test("is committed, and the model is shown it", () => {
    calculator.when(ask).then(
      [
        {
          kind: "ai_message",
          payload: { contextRef: "default", role: "user", content: "What's 2+2?", requestId: "req_1", runId: "run_1" },
          refs: { requestId: "req_1", runId: "run_1" },
        },
      ],
      [
        { type: "emit", event: { kind: "request_started" } },
        { type: "emit", iteration: 1, event: { kind: "llm_started", callId: "call_1" } },
        {
          type: "llm_stream",
          callId: "call_1",
          iteration: 1,
          messages: [
            { role: "system", content: "You are a calculator." },
            { role: "user", content: "What's 2+2?" },
          ],
        },
      ],
    );
  });

  test("keeps what it asks for beside the text, and its refs go with every entry", () => {
    const options = { allowedTools: ["add"], maxIterations: 2 };
    const outcome = calculator
      .given([askSignal("Go", { options, refs: { agentId: "desk" } })])
      .when(modelCallsSignal("call_1", [add]));
    outcome.then([{ payload: { toolCalls: [add] }, refs: { agentId: "desk", callId: "call_1", iteration: 1 } }]);
    expect(outcome.agent.state.run?.options).toEqual(options);
    const streamed = calculator.when(askSignal("Go", { options })).directives.find(({ type }) => type === "llm_stream");
    expect(streamed).toMatchObject({ toolSpec: [{ name: "add" }] });
  });
});

test("the policy of a request is its own: before the one set on the agent, before the definition's", () => {
  const policyOf = (name: string) => ({ systemPrompt: name });
  const agent = specify({ model: "test:model", contextPolicy: policyOf("definition") });
  const shown = (of: Pick<typeof agent, "when">, ask: ReturnType<typeof askSignal>) =>
    of.when(ask).directives.find((directive) => directive.type === "llm_stream")?.messages[0]?.content;
  const setting = { type: "context_policy", value: policyOf("set") } as const;
  const set = agent.given([{ kind: "ai_setting", payload: { opId: "1", setting } }]);
  expect(shown(agent, ask)).toBe("definition");
  expect(shown(set, ask)).toBe("set");
  expect(shown(set, askSignal("Go", { options: { contextPolicy: policyOf("request") } }))).toBe("request");
});

describe("an answer", () => {
  test("without calls is the end, in one entry with the basis of its call", () => {
    const outcome = calculator.given([ask]).when(modelTextSignal("call_1", "4", { usage: { inputTokens: 9 } }));
    outcome.then(
      [
        {
          kind: "ai_message",
          payload: {
            role: "assistant",
            content: "4",
            call: { v: 2, model: "test:model", basisLastSeq: 0, usage: { inputTokens: 9 } },
            end: { status: "completed", terminationReason: "final_answer" },
          },
          refs: { callId: "call_1", iteration: 1 },
        },
      ],
      [
        { type: "emit", event: { kind: "llm_completed" } },
        { type: "checkpoint", reason: "after_llm" },
        { type: "checkpoint", reason: "terminal" },
        {
          type: "emit",
          event: { kind: "request_completed", data: { text: "4", terminationReason: "final_answer" } },
        },
        { type: "stop", status: "completed" },
      ],
    );
    expect(outcome.agent.state.run).toBeUndefined();
  });

  test("with calls and text is one entry, and every call is given to be run", () => {
    calculator
      .given([ask])
      .when(modelCallsSignal("call_1", [add, { id: "b", name: "look" }], { content: "Let me see." }))
      .then(
        [{ payload: { content: "Let me see.", toolCalls: [{ id: "a" }, { id: "b" }] } }],
        [
          { type: "checkpoint", reason: "after_llm" },
          { type: "tool_exec", approved: false, call: { id: "a" } },
          { type: "tool_exec", approved: false, call: { id: "b" } },
        ],
      );
  });

  test("that says nothing ends the request all the same", () => {
    calculator
      .given([ask])
      .when(modelTextSignal("call_1", ""))
      .then([{ payload: { content: "", end: { status: "completed" } } }], [{ type: "stop", status: "completed" }]);
  });

  test("that no caller waits for any more changes nothing", () => {
    const given = calculator.given([ask, modelTextSignal("call_1", "4")]);
    given.when(modelTextSignal("call_1", "5")).then([], []);
    calculator.given([ask]).when(modelTextSignal("call_7", "5")).then([], []);
  });

  test("cut at its longest runs no calls, and the model learns why", () => {
    calculator
      .given([ask])
      .when(modelCallsSignal("call_1", [add], { finishReason: "length" }))
      .then(
        [
          { payload: { role: "assistant" } },
          { payload: { role: "tool", toolCallId: "a", isError: true, content: expect.stringContaining("truncated") } },
        ],
        [
          { type: "emit", event: { kind: "tool_completed", toolCallId: "a" } },
          { type: "llm_stream", iteration: 2 },
        ],
      );
  });

  test("whose stream broke off is kept as partial, and the request fails", () => {
    calculator
      .given([ask])
      .when(modelTextSignal("call_1", "2+2 is", { finishReason: "interrupted" }))
      .then(
        [
          { payload: { content: "2+2 is", partial: true } },
          { kind: "error", payload: { end: { status: "failed", failure: { code: "model_stream_interrupted" } } } },
        ],
        [{ type: "emit", event: { kind: "request_failed" } }],
      );
  });

  test("whose stream broke off in the last attempt runs no calls and keeps its text, and the request fails", () => {
    calculator
      .given([ask])
      .when(modelCallsSignal("call_1", [add], { content: "Let me see.", finishReason: "interrupted" }))
      .then(
        [
          { payload: { content: "Let me see.", partial: true, toolCalls: undefined } },
          { kind: "error", payload: { end: { status: "failed", failure: { code: "model_stream_interrupted" } } } },
        ],
        [{ type: "emit", event: { kind: "request_failed" } }],
      );
    calculator
      .given([ask])
      .when(modelCallsSignal("call_1", [add], { finishReason: "error" }))
      .then([{ kind: "error", payload: { end: { status: "failed" } } }], [{ type: "stop", status: "failed" }]);
  });

  test("withheld by the provider fails the request", () => {
    calculator
      .given([ask])
      .when(modelTextSignal("call_1", "", { finishReason: "content-filter" }))
      .then([{}, { kind: "error", payload: { code: "model_refused" } }], [{ type: "stop", status: "failed" }]);
  });

  test("may only call what the request allows: other calls are closed at once", () => {
    calculator
      .given([askSignal("Go", { options: { allowedTools: ["add"] } })])
      .when(modelCallsSignal("call_1", [{ id: "p", name: "pay" }, add]))
      .then(
        [{}, { payload: { role: "tool", toolCallId: "p", isError: true, content: expect.stringContaining("add") } }],
        [{ type: "emit", event: { kind: "tool_completed", toolCallId: "p" } }],
      );
  });
});

describe("results", () => {
  const called = calculator.given([ask, modelCallsSignal("call_1", [add, { id: "b", name: "look" }])]);

  test("are committed as they come and emitted in the order of the calls", () => {
    called
      .when(toolResultSignal("call_1", "b", "second"))
      .then([{ payload: { role: "tool", toolCallId: "b", name: "look", content: "second" } }], []);
    called
      .given([toolResultSignal("call_1", "b", "second")])
      .when(toolResultSignal("call_1", "a", "first"))
      .then(
        [{ payload: { toolCallId: "a" } }],
        [
          { type: "emit", event: { kind: "tool_completed", toolCallId: "a", data: { content: "first" } } },
          { type: "emit", event: { kind: "tool_completed", toolCallId: "b", data: { content: "second" } } },
          { type: "checkpoint", reason: "after_tools" },
          {
            type: "llm_stream",
            callId: "call_2",
            messages: [{}, {}, { role: "assistant" }, { content: "first" }, { content: "second" }],
          },
        ],
      );
  });

  test("that come twice count once", () => {
    called
      .given([toolResultSignal("call_1", "a", "1")])
      .when(toolResultSignal("call_1", "a", "2"))
      .then([], []);
  });

  test("of an earlier exchange are ignored, also when the server uses its ids again", () => {
    const again = called.given([
      toolResultSignal("call_1", "a", "1"),
      toolResultSignal("call_1", "b", "1"),
      modelCallsSignal("call_2", [{ id: "a", name: "add" }]),
    ]);
    again.when(toolResultSignal("call_1", "a", "late")).then([], []);
    again
      .when(toolResultSignal("call_2", "a", "new"))
      .then(
        [{ payload: { toolCallId: "a", content: "new" }, refs: { callId: "call_2" } }],
        [{ type: "emit", event: { kind: "tool_completed", data: { content: "new" } } }],
      );
  });

  test("of two calls with one id are two", () => {
    const twins = calculator.given([ask, modelCallsSignal("call_1", [add, add])]);
    twins
      .given([toolResultSignal("call_1", "a", "1")])
      .when(toolResultSignal("call_1", "a", "2"))
      .then([{ payload: { content: "2" } }], [{ type: "llm_stream" }]);
  });
});

describe("the last iteration", () => {
  const once = specify({ ...CALCULATOR, maxIterations: 1 });

  test("ends with a note when tools have answered, and keeps the last text", () => {
    once
      .given([ask, modelCallsSignal("call_1", [add], { content: "Adding." })])
      .when(toolResultSignal("call_1", "a", "4"))
      .then(
        [{}, { kind: "note", payload: { end: { status: "completed", terminationReason: "max_iterations" } } }],
        [{ type: "emit", event: { kind: "request_completed", data: { text: "Adding." } } }],
      );
  });

  test("is the request's own where it says so", () => {
    calculator
      .given([askSignal("Go", { options: { maxIterations: 1 } }), modelCallsSignal("call_1", [add])])
      .when(toolResultSignal("call_1", "a", "4"))
      .then([{}, { kind: "note" }], [{ type: "stop", status: "completed" }]);
  });
});

test("a request that has used up what it may cost ends after the tools", () => {
  const thrifty = specify({ ...CALCULATOR, isSpent: ({ inputTokens = 0 }) => inputTokens > 5 });
  thrifty
    .given([ask, modelCallsSignal("call_1", [add], { usage: { inputTokens: 6 } })])
    .when(toolResultSignal("call_1", "a", "4"))
    .then([{}, { payload: { end: { terminationReason: "limit" } } }], [{ type: "stop", status: "completed" }]);
});
