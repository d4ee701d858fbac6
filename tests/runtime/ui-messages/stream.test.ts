import { ToolError, type ToolOptions } from "heddle";
import { uiMessageStream } from "heddle/ai-sdk";
import { describe, expect, test } from "vitest";
import { anything, chat, chunksIn, logged, readBySdk, streamed } from "./chat.ts";

const done = { state: "done" } as const;

describe("what the AI SDK reads of a request", () => {
  test("is its text, piece by piece, under the id of the request", async () => {
    const { server, store } = await chat([{ text: ["Hel", "lo"] }]);
    const request = await server.ask("Hi");
    expect(await chunksIn(uiMessageStream(request))).toEqual([
      { type: "start", messageId: request.id },
      { type: "start-step" },
      { type: "text-start", id: "text-1" },
      { type: "text-delta", id: "text-1", delta: "Hel" },
      { type: "text-delta", id: "text-1", delta: "lo" },
      { type: "text-end", id: "text-1" },
      { type: "finish-step" },
      { type: "finish", finishReason: "stop" },
    ]);
    const { message, errors } = await streamed(request);
    expect(errors).toEqual([]);
    expect(message).toEqual({
      id: request.id,
      role: "assistant",
      parts: [{ type: "step-start" }, { type: "text", text: "Hello", ...done }],
    });
    expect(await logged(store)).toEqual(message);
  });

  test("has its thinking, in its place, unless it is not to be sent", async () => {
    const { server, store } = await chat([
      { parts: [{ thinking: ["a", "b"] }, { text: "One." }, { thinking: "c" }, { text: "Two." }] },
    ]);
    const request = await server.ask("Hi");
    const { message } = await streamed(request);
    expect(message.parts).toEqual([
      { type: "step-start" },
      { type: "reasoning", text: "ab", ...done },
      { type: "text", text: "One.", ...done },
      { type: "reasoning", text: "c", ...done },
      { type: "text", text: "Two.", ...done },
    ]);
    expect(await logged(store)).toEqual(message);
    const without = await streamed(request, { sendReasoning: false });
    expect(without.message.parts.map(({ type }) => type)).toEqual(["step-start", "text", "text"]);
  });

  test("has calls that run side by side, with what they gave: objects as objects, texts as texts", async () => {
    const { server, store } = await chat(
      [
        {
          text: "Let me look.",
          calls: [
            { name: "weather", arguments: { city: "Bern" } },
            { name: "time", input: ["{}"] },
          ],
        },
        "It rains at noon.",
      ],
      {
        tools: {
          weather: { inputSchema: anything, execute: () => ({ rain: true }) },
          time: { inputSchema: anything, execute: () => "12" },
        },
      },
    );
    const request = await server.ask("Well?");
    const { message, errors } = await streamed(request);
    expect(errors).toEqual([]);
    expect(message.parts).toEqual([
      { type: "step-start" },
      { type: "text", text: "Let me look.", ...done },
      {
        type: "tool-weather",
        toolCallId: "call_1",
        state: "output-available",
        input: { city: "Bern" },
        output: { rain: true },
      },
      { type: "tool-time", toolCallId: "call_2", state: "output-available", input: {}, output: "12" },
      { type: "step-start" },
      { type: "text", text: "It rains at noon.", ...done },
    ]);
    expect(await logged(store)).toEqual(message);
  });

  test("keeps tools of two steps apart that have one id", async () => {
    const { server, store } = await chat(
      [
        { calls: [{ id: "same", name: "echo", arguments: { n: 1 } }] },
        { calls: [{ id: "same", name: "echo", arguments: { n: 2 } }] },
        "Done.",
      ],
      { tools: { echo: { inputSchema: anything, execute: (input) => input } } },
    );
    const { message } = await streamed(await server.ask("Go"));
    const outputs = message.parts.flatMap((part) => ("output" in part ? [part.output] : []));
    expect(outputs).toEqual([{ n: 1 }, { n: 2 }]);
    expect(await logged(store)).toEqual(message);
  });

  test("hides what a tool threw, and shows what Heddle or a ToolError says", async () => {
    const { server, store } = await chat(
      [{ calls: [{ name: "secret" }, { name: "open" }, { name: "nowhere" }] }, "Sorry."],
      {
        tools: {
          secret: {
            inputSchema: anything,
            execute: () => {
              throw new Error("password hunter2");
            },
          },
          open: {
            inputSchema: anything,
            execute: () => {
              throw new ToolError({ code: "sold_out", message: "There are no tickets left." });
            },
          },
        },
      },
    );
    const request = await server.ask("Go");
    const { message, errors } = await streamed(request);
    expect(errors).toEqual([]);
    const texts = message.parts.flatMap((part) => ("errorText" in part ? [part.errorText] : []));
    expect(texts).toEqual([
      "The tool failed.",
      "There are no tickets left.",
      expect.stringContaining("There is no tool of this name"),
    ]);
    expect(await logged(store)).toEqual(message);
    const own = await streamed(request, { onError: ({ code, message }) => `${code}: ${message}` });
    expect(own.message.parts).toContainEqual(expect.objectContaining({ errorText: "tool_failed: password hunter2" }));
  });

  test("has what was steered in before the step that was shown it, and not what others put in", async () => {
    const { server, store } = await chat([{ calls: [{ name: "look" }] }, "The train, then.", "And a bed."], {
      tools: {
        look: {
          inputSchema: anything,
          execute: async () => {
            await server.steer("Take the train.", { id: "steer_1" });
            await server.inject("It snows.", { source: "weather" });
            await server.followUp("And a hotel?", { id: "steer_2" });
            return "seen";
          },
        },
      },
    });
    const request = await server.ask("Oslo?");
    const { message, errors } = await streamed(request);
    expect(errors).toEqual([]);
    expect(message.parts).toEqual([
      { type: "step-start" },
      { type: "tool-look", toolCallId: "call_1", state: "output-available", input: {}, output: "seen" },
      { type: "steering-message", id: "steer_1", parts: [{ type: "text", text: "Take the train." }] },
      { type: "step-start" },
      { type: "text", text: "The train, then.", ...done },
      { type: "steering-message", id: "steer_2", parts: [{ type: "text", text: "And a hotel?" }] },
      { type: "step-start" },
      { type: "text", text: "And a bed.", ...done },
    ]);
    expect(await logged(store)).toEqual(message);
  });

  test("says that a request failed, not why, and keeps the text before", async () => {
    const { server, store } = await chat([
      { text: ["Half ", "an"], after: 2, error: { status: 400, message: "key sk-123 is wrong" } },
    ]);
    const request = await server.ask("Hi");
    const chunks = await chunksIn(uiMessageStream(request));
    expect(chunks.slice(-3)).toEqual([
      { type: "error", errorText: "An error occurred." },
      { type: "finish-step" },
      { type: "finish", finishReason: "error" },
    ]);
    const { message, errors } = await streamed(request);
    expect(errors).toEqual(["An error occurred."]);
    expect(message.parts).toEqual([{ type: "step-start" }, { type: "text", text: "Half an", ...done }]);
    expect(await logged(store)).toEqual(message);
    const own = await streamed(request, { onError: ({ code }) => code });
    expect(own.errors).not.toEqual(errors);
  });

  test("ends with abort when the request is cancelled, and its tools with an error", async () => {
    const { server, store } = await chat([{ text: "Wait.", calls: [{ name: "slow" }] }], {
      tools: {
        slow: {
          inputSchema: anything,
          execute: (_input: unknown, { abortSignal }: ToolOptions) => {
            void server.cancel(undefined, "The user left.");
            return new Promise((_, reject) => abortSignal.addEventListener("abort", () => reject(new Error("no"))));
          },
        },
      },
    });
    const request = await server.ask("Hi");
    expect((await chunksIn(uiMessageStream(request))).at(-1)).toEqual({ type: "abort", reason: "The user left." });
    const { message, errors } = await streamed(request);
    expect(errors).toEqual([]);
    expect(message.parts.at(-1)).toMatchObject({ type: "tool-slow", state: "output-error" });
    expect(await logged(store)).toEqual(message);
  });

  test("takes back an answer of the wrong shape", async () => {
    const { server, store } = await chat(["no JSON", '{"n":1}'], {
      output: { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as never,
    });
    const request = await server.ask("A number");
    const { message } = await streamed(request);
    expect(message.parts).toEqual([
      { type: "step-start" },
      { type: "step-start" },
      { type: "text", text: '{"n":1}', ...done },
    ]);
    expect(await logged(store)).toEqual(message);
  });

  test("is whole also for who comes late to a request that keeps no deltas, or to a model that does not stream", async () => {
    for (const config of [{ captureDeltas: false }, { streaming: false }]) {
      const script = [{ text: "Look.", calls: [{ name: "a", arguments: { x: 1 } }] }, "Done."];
      const { server, store } = await chat(script, {
        ...config,
        tools: { a: { inputSchema: anything, execute: () => 1 } },
      });
      const request = await server.ask("Hi");
      await request.result;
      const { message, errors } = await streamed(request);
      expect(errors).toEqual([]);
      expect(await logged(store)).toEqual(message);
    }
  });

  test("holds data and metadata of your own", async () => {
    const { server } = await chat(["Hi."]);
    const request = await server.ask("Hi");
    const { message } = await streamed(request, {
      data: ({ kind, data }) =>
        kind === "llm_started" ? { type: "data-tokens", id: "1", data: data.estimatedTokens } : undefined,
      messageMetadata: ({ kind, data }) => (kind === "request_completed" ? { why: data.terminationReason } : undefined),
    });
    expect(message.metadata).toEqual({ why: "final_answer" });
    expect(message.parts).toContainEqual({ type: "data-tokens", id: "1", data: expect.any(Number) });
  });

  test("is left by a reader without harm to the request", async () => {
    const { server } = await chat([{ text: ["a", "b", "c"] }]);
    const request = await server.ask("Hi");
    const stream = uiMessageStream(request);
    const reader = stream.getReader();
    await reader.read();
    await reader.cancel();
    expect((await request.result).text).toBe("abc");
    expect((await readBySdk(uiMessageStream(request))).message.parts.at(-1)).toMatchObject({ text: "abc" });
  });
});
