import { convertToModelMessages, type UIMessage, validateUIMessages } from "ai";
import { AgentServer, memoryStore, type RequestError, Thread, type ToolOptions } from "heddle";
import { toUIMessages, uiMessageStream } from "heddle/ai-sdk";
import { describe, expect, test } from "vitest";
import { markOf } from "../../../src/runtime/ui-messages/message.ts";
import { agentOf, anything, chat, logged, readBySdk } from "./chat.ts";
import { CLIENTS } from "./clients.ts";

const imported = [
  { id: "u", role: "user", parts: [{ type: "text", text: "Before" }], metadata: { at: 1 } },
  { id: "a", role: "assistant", parts: [{ type: "text", text: "Said", state: "done" }] },
];

const taken = (list: readonly object[]) =>
  Thread.fromMessages(list, { format: "ui-messages" })
    .toArray()
    .map(({ kind, payload, refs }) => ({ kind, payload, refs }));

describe("the messages of a thread", () => {
  test("are one of the assistant for each request, under its id, and are taken by the AI SDK", async () => {
    const { server } = await chat([{ text: "Look.", calls: [{ name: "look" }] }, "One.", "Two."], {
      tools: { look: { inputSchema: anything, execute: () => ({ seen: 1 }) } },
    });
    const first = await server.ask("First");
    await first.result;
    const second = await server.ask([
      { type: "file", mediaType: "image/png", data: { base64: "aGk=" } },
      { type: "text", text: "Second" },
    ]);
    await second.result;
    const messages = toUIMessages(await server.thread());
    expect(messages.map(({ id, role }) => (role === "assistant" ? id : role))).toEqual([
      "user",
      first.id,
      "user",
      second.id,
    ]);
    expect(messages[2]?.parts).toEqual([
      { type: "file", mediaType: "image/png", url: "data:image/png;base64,aGk=" },
      { type: "text", text: "Second" },
    ]);
    const valid = await validateUIMessages({ messages });
    expect((await convertToModelMessages(valid)).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
      "assistant",
    ]);
  });

  test("are those that were taken in, as they were, and behind them what the agent wrote", async () => {
    const store = memoryStore();
    const thread = Thread.fromMessages(imported, { id: "thread_c", format: "ui-messages" });
    await store.append("thread_c", thread.toArray());
    const server = await AgentServer.start({ agent: agentOf(["Now."]), store, threadId: "thread_c" });
    const request = await server.ask("Again");
    await request.result;
    const messages = toUIMessages(await server.thread());
    expect(messages.slice(0, 2)).toEqual(imported);
    expect(messages.slice(2).map(({ role, parts }) => [role, parts.at(-1)])).toEqual([
      ["user", { type: "text", text: "Again" }],
      ["assistant", { type: "text", text: "Now.", state: "done" }],
    ]);
    await server.stop();
  });

  test("are those of the lane that is active", async () => {
    const { server } = await chat(["In the first.", "In the second."]);
    await (await server.ask("One")).result;
    await server.modifyContext({ contextRef: "second", operation: { type: "switch", reason: "manual" } });
    expect(toUIMessages(await server.thread())).toEqual([]);
    await (await server.ask("Two")).result;
    const texts = toUIMessages(await server.thread()).map(({ parts }) => parts.at(-1));
    expect(texts).toMatchObject([{ text: "Two" }, { text: "In the second." }]);
    const noted = (await server.thread()).append([
      { kind: "message", payload: { role: "user", content: "Without a lane" } },
      { kind: "message", payload: { role: "assistant", content: "In it", contextRef: "second" } },
      { kind: "message", payload: { role: "user", content: "In another", contextRef: "default" } },
    ]);
    expect(toUIMessages(noted).slice(2)).toMatchObject([
      { role: "user", parts: [{ type: "text", text: "Without a lane" }] },
      { role: "assistant", parts: [{ type: "step-start" }, { type: "text", text: "In it" }] },
    ]);
  });

  test("stay those of their lane behind a malformed switch", async () => {
    const { server } = await chat(["In the first."]);
    await (await server.ask("One")).result;
    const operation = { type: "switch", reason: "manuel" };
    const payload = { opId: "o", contextRef: "second", operation };
    const thread = (await server.thread()).append({ kind: "ai_context_operation", payload } as never);
    expect(toUIMessages(thread)).toEqual(toUIMessages(await server.thread()));
    expect(toUIMessages(thread)).toHaveLength(2);
    await server.stop();
  });

  test("are those of the lane that is named, also of what was taken in", async () => {
    const { server } = await chat(["In the first."]);
    await (await server.ask("One")).result;
    const operation = { type: "switch", reason: "manual" };
    const thread = (await server.thread())
      .append({ kind: "ai_context_operation", payload: { opId: "o", contextRef: "second", operation } } as never)
      .append(taken(imported) as never);
    expect(toUIMessages(thread)).toEqual(imported);
    expect(toUIMessages(thread, { lane: "default" })).toEqual(toUIMessages(await server.thread()));
    const list = thread.toMessages({ format: "ui-messages", lane: "default" });
    expect(list.map(({ id }) => id)).toEqual(toUIMessages(await server.thread()).map(({ id }) => id));
  });

  test("have ids of their own, also where the page named the question", async () => {
    const { server, store } = await chat([{ calls: [{ name: "look" }] }, "Train.", "Bus."], {
      tools: {
        look: {
          inputSchema: anything,
          execute: async () => {
            await server.steer("By train.", { id: "steer_1" });
            return "seen";
          },
        },
      },
    });
    const requests = [await server.ask("Oslo?", { refs: { messageId: "m1" } })];
    await requests[0]?.result;
    requests.push(await server.ask("Rome?", { refs: { messageId: "m2" } }));
    await requests[1]?.result;
    const ids = (thread: Thread | undefined) => thread?.toMessages({ format: "ui-messages" }).map(({ id }) => id);
    const given = ids(await server.thread());
    expect(new Set(given).size).toBe(6);
    expect([given?.[0], given?.[1], given?.[4], given?.[5]]).toEqual(["m1", requests[0]?.id, "m2", requests[1]?.id]);
    expect(ids(await store.load("thread_c"))).toEqual(given);
  });

  test("share nothing with the thread", async () => {
    const { server } = await chat([{ calls: [{ name: "look", arguments: { a: { b: 1 } } }] }, "Ok."], {
      tools: { look: { inputSchema: anything, execute: () => ({ c: [1] }) } },
    });
    await (await server.ask("Go")).result;
    const [, message] = toUIMessages(await server.thread()) as [unknown, UIMessage];
    const part = message.parts[1] as unknown as { input: { a: { b: number } }; output: { c: number[] } };
    part.input.a.b = 2;
    part.output.c.push(2);
    expect(toUIMessages(await server.thread())[1]?.parts[1]).toMatchObject({
      input: { a: { b: 1 } },
      output: { c: [1] },
    });
  });

  test("have sources and calls of providers, and no metadata that a stream does not have either", () => {
    const refs = { requestId: "r", callId: "c" };
    const metadata = { anthropic: { signature: "sig" } };
    const content = [
      { type: "thinking", text: "t", metadata },
      { type: "source", sourceType: "url", id: "s1", url: "https://example.com", title: "A page" },
      { type: "provider_call", id: "p", name: "web_search", arguments: { q: 1 } },
      { type: "provider_result", id: "p", name: "web_search", result: { hits: 2 } },
      { type: "custom", kind: "openai.compaction" },
    ];
    const thread = Thread.create().append({
      kind: "ai_message",
      payload: { contextRef: "default", role: "assistant", content } as never,
      refs,
    });
    expect(toUIMessages(thread)).toEqual([
      {
        id: "r",
        role: "assistant",
        parts: [
          { type: "step-start" },
          { type: "reasoning", text: "t", state: "done" },
          { type: "source-url", sourceId: "s1", url: "https://example.com", title: "A page" },
          {
            type: "tool-web_search",
            toolCallId: "p",
            providerExecuted: true,
            state: "output-available",
            input: { q: 1 },
            output: { hits: 2 },
          },
          { type: "custom", kind: "openai.compaction" },
        ],
      },
    ]);
  });
});

describe("after a reload, the message of a request", () => {
  const secret = { status: 400, message: "key sk-123 is wrong" };

  test("that failed in the middle of its answer is marked, with the code and not with what may be secret", async () => {
    const { server, store } = await chat([{ text: ["Half ", "an"], after: 2, error: secret }]);
    const request = await server.ask("Hi");
    await request.result.catch(() => undefined);
    expect(await logged(store)).toEqual({
      id: request.id,
      role: "assistant",
      parts: [{ type: "step-start" }, { type: "text", text: "Half an", state: "done" }],
      metadata: { heddle: { status: "failed", code: "model_bad_request", reason: "An error occurred." } },
    });
    const own = toUIMessages(await server.thread(), { onError: ({ message }) => message }).at(-1);
    expect(own?.metadata?.heddle.reason).toContain("The provider refused the request");
  });

  test("that failed before its first word stands under the question, and is legal for every version", async () => {
    const { server } = await chat([{ error: secret }, "Two."]);
    const request = await server.ask("One");
    await request.result.catch(() => undefined);
    await (await server.ask("Two?")).result;
    const messages = toUIMessages(await server.thread());
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    const metadata = { heddle: { status: "failed", code: expect.any(String), reason: "An error occurred." } };
    expect(messages[1]).toEqual({ id: request.id, role: "assistant", parts: [{ type: "step-start" }], metadata });
    for (const { validate, toModelMessages } of CLIENTS) {
      await validate(messages);
      expect((await toModelMessages(messages)).map(({ role }) => role)).toEqual(["user", "user", "assistant"]);
    }
  });

  test("that failed by an error of Heddle is marked with its message, as it was streamed", async () => {
    const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
    const call = { name: "pay", arguments: { note: "word ".repeat(5000) } };
    const { server, store } = await chat([{ calls: [call] }, "Paid."], { tools: { pay } });
    const request = await server.ask("Pay.", { contextPolicy: { maxInputTokens: 4000 } });
    await request.settled();
    await server.approve("call_1");
    const { failure } = (await request.result.catch((error: unknown) => error)) as RequestError;
    expect(failure?.code).toBe("budget_overflow");
    const { message, errors } = await readBySdk(uiMessageStream(request));
    expect(errors).toEqual([failure?.message]);
    const heddle = { status: "failed", code: "budget_overflow", reason: failure?.message };
    expect(message.metadata).toEqual({ heddle });
    expect(await logged(store)).toMatchObject({ metadata: { heddle } });
  });

  test("that failed by an error that Heddle does not know has no cause", async () => {
    for (const code of ["runtime_failed", "model_error"]) {
      expect(markOf({ status: "failed", failure: { code, message: "key sk-123" } }, undefined)).toEqual({
        heddle: { status: "failed", code, reason: "An error occurred." },
      });
    }
  });

  test("that was cancelled is marked with the reason, with or without text", async () => {
    const reason = "The user left.";
    const tools = {
      slow: {
        inputSchema: anything,
        execute: (_input: unknown, { abortSignal }: ToolOptions) => {
          void server.cancel(undefined, reason);
          return new Promise((_, reject) => abortSignal.addEventListener("abort", () => reject(new Error("no"))));
        },
      },
    };
    const { server, store } = await chat([{ text: "Wait.", calls: [{ name: "slow" }] }], { tools });
    await (await server.ask("Hi")).result.catch(() => undefined);
    const metadata = { heddle: { status: "cancelled", code: "request_cancelled", reason } };
    expect((await logged(store)).metadata).toEqual(metadata);
    const silent = await chat([{ hang: true }]);
    const asked = await silent.server.ask("Hi");
    await silent.server.cancel(undefined, reason);
    await asked.result.catch(() => undefined);
    expect(await logged(silent.store)).toEqual({
      id: asked.id,
      role: "assistant",
      parts: [{ type: "step-start" }],
      metadata,
    });
  });

  test("that ended well has no mark", async () => {
    const { server } = await chat(["Fine."]);
    await (await server.ask("Hi")).result;
    expect(toUIMessages(await server.thread()).every((message) => !("metadata" in message))).toBe(true);
  });
});

test("something that is not a thread is refused, with how to load one", () => {
  expect(() => toUIMessages([] as never)).toThrow(
    expect.objectContaining({ code: "not_a_thread", message: expect.stringContaining("store.load") }),
  );
});
