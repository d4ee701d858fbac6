import { type AgentEvent, RequestError } from "heddle";
import { type UIMessageSource, type UIStreamOptions, uiMessageStream, uiMessageStreamResponse } from "heddle/ai-sdk";
import type { EventDraft } from "heddle/core";
import { describe, expect, test } from "vitest";
import { chunksIn, readBySdk, readBySdk6, textOf } from "./chat.ts";

const view = { headSeqs: [], cleared: [], thinkingDropped: [] };
const started: EventDraft = { kind: "llm_started", callId: "c1", data: { estimatedTokens: 1, messages: 1 } };
const completed = (text: string, toolCalls: readonly { id: string; name: string; arguments: object }[] = []) =>
  ({
    kind: "llm_completed",
    callId: "c1",
    data: { entryId: "entry_1", text, toolCalls, usage: {}, finishReason: "stop", view },
  }) as EventDraft;
const says = (text: string, id = "0", type: "text" | "thinking" = "text"): EventDraft => {
  return { kind: "llm_delta", callId: "c1", data: { type, id, text } };
};
const writes = (toolCallId: string, text: string): EventDraft => {
  return {
    kind: "llm_delta",
    callId: "c1",
    toolCallId,
    toolName: "find",
    data: { type: "tool_input", id: toolCallId, text },
  };
};
const over = (text: string): EventDraft => {
  return { kind: "request_completed", data: { text, terminationReason: "final_answer", usage: {}, usageByModel: {} } };
};
const failure = { code: "overloaded", message: "Too busy." };

function source(drafts: readonly EventDraft[], more: Partial<UIMessageSource> = {}): UIMessageSource {
  const events = drafts.map((draft, index) => {
    const place = { id: `run.${index + 1}`, seq: index + 1, at: 0, runId: "run", requestId: "request", iteration: 1 };
    return { ...draft, ...place } as AgentEvent;
  });
  return {
    id: "request",
    state: "done",
    result: Promise.resolve({}) as never,
    async *events() {
      yield* events;
    },
    ...more,
  };
}

async function read(drafts: readonly EventDraft[], options?: UIStreamOptions) {
  const { message, errors } = await readBySdk(uiMessageStream(source(drafts), options));
  expect(errors).toEqual([]);
  return message;
}

describe("a message holds the answer, also when", () => {
  test("a call that had streamed some text is retried", async () => {
    const retried: EventDraft = { kind: "llm_retried", callId: "c1", data: { failure, attempt: 1, waitMs: 0 } };
    const message = await read([started, says("Wrong"), retried, says("Right"), completed("Right"), over("Right")]);
    expect(message.parts).toEqual([{ type: "step-start" }, { type: "text", text: "Right", state: "done" }]);
  });

  test("a call comes to nothing and another takes its place, with a word from the user between them", async () => {
    const steer: EventDraft = { kind: "input_injected", data: { id: "s", steer: "steer", content: "Go." } };
    const message = await read([
      started,
      says("Wrong"),
      steer,
      started,
      says("Right"),
      completed("Right"),
      over("Right"),
    ]);
    expect(message.parts).toEqual([
      { type: "step-start" },
      { type: "steering-message", id: "s", parts: [{ type: "text", text: "Go." }] },
      { type: "step-start" },
      { type: "text", text: "Right", state: "done" },
    ]);
    expect((await read([started, says("Wrong"), started, completed("Right"), over("Right")])).parts.length).toBe(2);
  });

  test("the reader has missed the beginning", async () => {
    const message = await read([started, says("b", "1", "thinking"), says("lo"), completed("Hello"), over("Hello")]);
    expect(message.parts).toMatchObject([{ type: "step-start" }, { type: "reasoning", text: "b" }, { text: "Hello" }]);
  });

  test("two blocks come at once", async () => {
    const events = [started, says("a", "0"), says("c", "1"), says("b", "0"), completed("abc"), over("abc")];
    expect(textOf(await read(events))).toBe("abc");
  });

  test("one id is used for one block after the other", async () => {
    const events = [started, says("a"), says("t", "0", "thinking"), says("b"), completed("ab"), over("ab")];
    expect((await read(events)).parts).toMatchObject([{}, { text: "a" }, { type: "reasoning" }, { text: "b" }]);
  });

  test("a call was begun that the answer does not have", async () => {
    const events = [started, writes("x", "{"), says("No."), completed("No."), over("No.")];
    expect((await read(events)).parts).toEqual([{ type: "step-start" }, { type: "text", text: "No.", state: "done" }]);
  });

  test("a call gets its id only at the end", async () => {
    const call = { id: "call_1", name: "find", arguments: { q: 1 } };
    const result: EventDraft = {
      kind: "tool_completed",
      callId: "c1",
      toolCallId: "call_1",
      toolName: "find",
      data: { content: "1", isError: false },
    };
    const message = await read([started, writes("", "{"), writes("", "}"), completed("", [call]), result, over("")]);
    expect(message.parts.at(-1)).toMatchObject({ toolCallId: "call_1", input: { q: 1 }, output: "1" });
  });

  test("the input of a call comes in pieces", async () => {
    const call = { id: "x", name: "find", arguments: { q: 1 } };
    const chunks = await chunksIn(
      uiMessageStream(source([started, writes("x", '{"q"'), writes("x", ":1}"), completed("", [call])])),
    );
    expect(chunks.slice(2, 6)).toEqual([
      { type: "tool-input-start", toolCallId: "x", toolName: "find" },
      { type: "tool-input-delta", toolCallId: "x", inputTextDelta: '{"q"' },
      { type: "tool-input-delta", toolCallId: "x", inputTextDelta: ":1}" },
      { type: "tool-input-available", toolCallId: "x", toolName: "find", input: { q: 1 } },
    ]);
  });

  test("the events begin behind a restart", async () => {
    const of = { callId: "c1", toolCallId: "x", toolName: "pay" };
    const resolved: EventDraft = { kind: "approval_resolved", ...of, data: { approved: false, reason: "No." } };
    const denied: EventDraft = { kind: "tool_completed", ...of, data: { content: "no", isError: true } };
    const message = await read([resolved, denied, over("")]);
    expect(message.parts).toEqual([
      {
        type: "tool-pay",
        toolCallId: "x",
        state: "output-denied",
        input: {},
        approval: { id: "c1:x", approved: false, reason: "No." },
      },
    ]);
  });
});

describe("a client of AI SDK 6", () => {
  const retried: EventDraft = { kind: "llm_retried", callId: "c1", data: { failure, attempt: 1, waitMs: 0 } };

  test("gets an answer that is retried as another step, and ends without an error", async () => {
    const drafts = [started, says("Wro"), writes("x", "{"), retried, says("Right"), completed("Right"), over("Right")];
    const { parts, errors } = await readBySdk6(uiMessageStream(source(drafts), { client: 6 }));
    expect(errors).toEqual([]);
    expect(parts).toMatchObject([
      { type: "step-start" },
      { type: "text", text: "Wro", state: "done" },
      { type: "tool-find", toolCallId: "x", state: "output-error", errorText: "This call was not made." },
      { type: "step-start" },
      { type: "text", text: "Right", state: "done" },
    ]);
    const chunks = await chunksIn(uiMessageStream(source(drafts.slice(0, 2).concat(retried)), { client: 6 }));
    expect(chunks.slice(-4).map(({ type }) => type)).toEqual(["finish-step", "start-step", "finish-step", "finish"]);
  });

  test("gets no finish reason that it does not know", async () => {
    const interrupted = { ...completed("Hi"), data: { ...completed("Hi").data, finishReason: "interrupted" } };
    const drafts = [started, interrupted as EventDraft, over("Hi")];
    const [six, seven] = await Promise.all(
      ([6, 7] as const).map(async (client) => (await chunksIn(uiMessageStream(source(drafts), { client }))).at(-1)),
    );
    expect([six, seven]).toEqual([
      { type: "finish", finishReason: "other" },
      { type: "finish", finishReason: "interrupted" },
    ]);
  });
});

test("a message that is continued has its calls, and does not get them again", async () => {
  const of = { callId: "c1", toolCallId: "x", toolName: "pay" };
  const resolved: EventDraft = { kind: "approval_resolved", ...of, data: { approved: true } };
  const chunks = await chunksIn(uiMessageStream(source([resolved, over("")]), { after: 0 }));
  expect(chunks.slice(1, 2)).toEqual([{ type: "tool-approval-response", approvalId: "c1:x", approved: true }]);
});

test("the stream of a request that continues in another process ends without an end, so that the page connects again", async () => {
  const error = new RequestError({ code: "request_suspended", message: "It goes on elsewhere." });
  const result = Promise.reject(error);
  result.catch(() => undefined);
  const made = source([started, says("Hal")], { result });
  expect((await chunksIn(uiMessageStream(made))).at(-1)).toMatchObject({ type: "text-delta", delta: "Hal" });
  expect(await uiMessageStreamResponse(made).text()).not.toMatch(/finish|error|abort|DONE/);
});
