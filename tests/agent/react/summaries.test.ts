import { askSignal, modelCallsSignal, modelTextSignal, specify, toolResultSignal } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { gapText } from "../../../src/agent/react/summary-plan.ts";
import type { EntryInput } from "../../../src/thread/entry.ts";
import { CALCULATOR } from "../support/calculator.ts";
import { summaryFailed } from "../support/failed-summary.ts";

const ask = askSignal("What's 2+2?");

/** Two answered requests. */
const history = [1, 2].flatMap((n) => [askSignal(`Question ${n}`), modelTextSignal(`call_${n}`, `Answer ${n}`)]);

describe("after a summary that was too long for its model", () => {
  const contextPolicy = { autoSummarize: true, maxInputTokens: 20_000, summarizeThreshold: 4, keepLastTurns: 1 };
  const long = "word ".repeat(600);
  const turns = [1, 2].flatMap((n) => [askSignal(`${n} ${long}`), modelTextSignal(`call_${n}`, long)]);
  const waiting = specify({ ...CALCULATOR, summarizes: true, contextPolicy }).given([...turns, ask]);
  const tooLong = (tokens: number) => summaryFailed(3, { code: "model_context_too_long", tokens });
  const limits = (tokens: number) =>
    waiting
      .when(tooLong(tokens))
      .directives.flatMap((directive) => (directive.type === "summarize" ? [directive.maxTokens] : []));

  const INSTRUCTIONS = 750;

  test("the next one has half of its tokens", () => {
    expect(limits(6000)).toEqual([3000 + INSTRUCTIONS]);
    expect(limits(4500)).toEqual([2250 + INSTRUCTIONS]);
  });

  test("the next one has half of the limit, if its text was longer than the limit", () => {
    expect(limits(40_000)).toEqual([5000 + INSTRUCTIONS]);
  });

  test("the request to the summarizer keeps a lower limit", () => {
    expect(limits(400)).toEqual([1000]);
    expect(limits(1)).toEqual([1000]);
  });

  test("two refusals halve the limit twice", () => {
    const again = summaryFailed(1, { code: "model_refused", tokens: 8000 });
    waiting
      .given([tooLong(4000)])
      .when(again)
      .then([{ kind: "note" }], [{ type: "summarize", maxTokens: 1000 + INSTRUCTIONS, range: { toSeq: 0 } }]);
  });
});

describe("after a failed summary", () => {
  const contextPolicy = { autoSummarize: true, summarizeThreshold: 4, keepLastTurns: 1 };
  const waiting = specify({ ...CALCULATOR, summarizes: true, contextPolicy }).given([...history, ask]);
  const summaries = ({ directives }: { readonly directives: readonly { readonly type: string }[] }) =>
    directives.filter(({ type }) => type === "summarize").length;

  test.each([
    ["model_context_too_long", 1],
    ["model_refused", 1],
    ["model_bad_request", 1],
    ["model_answer_too_large", 1],
    ["model_error", 0],
    ["summary_not_smaller", 0],
  ])("a smaller one is tried at once where that may help: %s", (code, tries) => {
    const outcome = waiting.when(summaryFailed(3, { code }));
    expect(summaries(outcome)).toBe(tries);
    expect(outcome.directives.filter(({ type }) => type === "llm_stream")).toHaveLength(1 - tries);
  });

  test("the next one waits, unless a summary of the same lane was written since", () => {
    const turns = [3, 4, 5].flatMap((n) => [modelTextSignal(`call_${n}`, "4"), askSignal("And 3+3?")]);
    /** The summaries that three more turns start, after the failure and these entries. */
    const triesAfter = (...entries: readonly EntryInput[]) => {
      const given = waiting.given([summaryFailed(3), ...entries]);
      const outcomes = turns.map((signal, at) => given.given(turns.slice(0, at)).when(signal));
      return outcomes.reduce((sum, outcome) => sum + summaries(outcome), 0);
    };
    const written = (contextRef: object): EntryInput => {
      return { kind: "summary", payload: { fromSeq: 0, toSeq: 1, content: "They met.", ...contextRef } };
    };
    expect(triesAfter()).toBe(0);
    expect(triesAfter(written({ contextRef: "other" }))).toBe(0);
    expect(triesAfter(written({ contextRef: "default" }))).toBe(1);
    expect(triesAfter(written({}))).toBe(1);
  });
});

describe("a policy that wants summaries", () => {
  const policy = { autoSummarize: true, summarizeThreshold: 4, keepLastTurns: 1, summarizationModel: "test:small" };
  const thrifty = specify({ ...CALCULATOR, summarizes: true, contextPolicy: policy });

  test("gets one before the call", () => {
    thrifty
      .given(history)
      .when(ask)
      .then([{}], [{ type: "summarize", reason: "automatic", model: "test:small", range: { toSeq: 3 } }]);
  });

  test("continues without a summary where it fails, and does not retry that boundary", () => {
    const given = thrifty.given([...history, ask]);
    const failed = summaryFailed(3);
    given
      .when(failed)
      .then([{ kind: "note" }], [{ type: "emit", event: { kind: "summary_failed" } }, { type: "llm_stream" }]);
    const again = given
      .given([failed, modelCallsSignal("call_3", [{ id: "a", name: "add" }])])
      .when(toolResultSignal("call_3", "a", "4"));
    again.then([{}], [{ type: "llm_stream" }]);
    expect(again.directives.some(({ type }) => type === "summarize")).toBe(false);
  });

  test("waits for its own summary only", () => {
    const payload = { fromSeq: 0, toSeq: 1, content: "One sum." };
    const { entries, directives } = thrifty
      .given([...history, ask])
      .when({ type: "summary_result", lane: "default", payload });
    expect(entries.map(({ kind }) => kind)).toEqual(["summary"]);
    expect(directives.map(({ type }) => type)).toEqual(["emit"]);
  });

  test("gets one in the middle of a request that outgrows the window by itself", () => {
    const contextPolicy = { autoSummarize: true, maxInputTokens: 700, reserveOutputTokens: 100 };
    const small = specify({ ...CALCULATOR, summarizes: true, contextPolicy });
    const rounds = Array.from({ length: 9 }, (_, index) => [
      modelCallsSignal(`call_${index + 1}`, [{ id: "c", name: "add" }]),
      toolResultSignal(`call_${index + 1}`, "c", "A long result. ".repeat(16)),
    ]).flat();
    const outcomes = rounds.map((signal, index) => small.given([ask, ...rounds.slice(0, index)]).when(signal));
    const summarizes = outcomes.flatMap(({ directives }) => directives.filter(({ type }) => type === "summarize"));
    expect(summarizes).toMatchObject([{ reason: "automatic", range: { fromSeq: 0 } }]);
  });

  const call = { model: "test:small", usage: { inputTokens: 50, outputTokens: 5 }, finishReason: "stop" };
  const summary = { fromSeq: 0, toSeq: 3, content: "A sum." };

  test("pays for it: what its call used is of the request, in its events, its result and its limits", () => {
    const spent = specify({
      ...CALCULATOR,
      summarizes: true,
      contextPolicy: policy,
      isSpent: ({ inputTokens = 0 }) => inputTokens >= 53,
    }).given([...history, ask]);
    const written = { type: "summary_result", lane: "default", payload: summary, call } as const;
    const of = { refs: { requestId: "req_3" } };
    spent
      .when(written)
      .then(
        [{ kind: "summary", payload: { content: "A sum.", call }, ...of }],
        [
          { type: "emit", event: { kind: "summary_completed", data: { toSeq: 3, usage: call.usage } } },
          { type: "llm_stream" },
        ],
      );
    const usage = { inputTokens: 53, outputTokens: 5 };
    spent
      .given([written, modelCallsSignal("call_3", [{ id: "a", name: "add" }], { usage: { inputTokens: 3 } })])
      .when(toolResultSignal("call_3", "a", "4"))
      .then(
        [{}, { payload: { end: { terminationReason: "limit" } } }],
        [{ type: "emit", event: { kind: "request_completed", data: { usage, finishReason: "tool-calls" } } }],
      );
  });

  test("pays for no summary that another request has asked for", () => {
    const given = thrifty.given([
      askSignal("Question 1"),
      modelTextSignal("call_1", "Answer 1"),
      askSignal("Question 2"),
    ]);
    const payload = { fromSeq: 0, toSeq: 1, content: "One sum." };
    const { entries, agent } = given.when({ type: "summary_result", lane: "default", payload, call });
    expect(entries).toMatchObject([{ kind: "summary", payload: { call }, refs: {} }]);
    expect(entries[0]?.refs.requestId).toBeUndefined();
    expect(agent.state.run?.usage).toEqual({});
  });

  test("takes a steer that came while it was written along", () => {
    thrifty
      .given([...history, ask, { type: "steer", id: "s", steer: "steer", content: "In words." }])
      .when(summaryFailed(3))
      .then([{ kind: "note" }, { payload: { content: "In words." } }], [{ type: "llm_stream" }]);
  });
});

test("the text for a skipped piece counts its messages, names its tools once and keeps the summary before it", () => {
  const call = (id: string, name: string) => ({ id, name, arguments: {} });
  const range = {
    fromSeq: 4,
    toSeq: 8,
    messages: [
      { role: "user", content: "secret" },
      { role: "assistant", content: "", toolCalls: [call("a", "add"), call("b", "look"), call("c", "add")] },
    ],
  } as const;
  const gap =
    "Entries 4 to 8 could not be summarized and are missing here: 1 messages of the user and 1 of the assistant, " +
    'with calls of "add", "look".';
  expect(gapText(range)).toBe(gap);
  const previous = { fromSeq: 0, toSeq: 3, content: "They met." };
  expect(gapText({ ...range, previous })).toBe(`They met.\n\n${gap}`);
});
