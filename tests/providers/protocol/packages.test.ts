import type { LanguageModelV4FunctionTool } from "@ai-sdk/provider";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ProtocolServer, startProtocolServer } from "../../support/protocol/server.ts";
import { user } from "../support/messages.ts";
import { APIS, ask, callOf, modelOf, WAYS } from "./support/packages.ts";

// The real packages understand what the server says, and the server what they ask.

let server: ProtocolServer;
beforeEach(async () => {
  server = await startProtocolServer();
});
afterEach(() => server.stop());

const add: LanguageModelV4FunctionTool = {
  type: "function",
  name: "add",
  inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } },
};
const CHAT_ORDER = ["text-start", "tool-call"];
const question = [user("What's 2+2?")];

describe.each(APIS)("%s", (api) => {
  describe.each(WAYS)("%s", (way) => {
    test("text", async () => {
      server.answer({ text: ["Four", ", I", " think 🙂"], usage: { input: 12, output: 5, cacheRead: 3 } });
      const { text, finishReason, usage } = await ask(modelOf(server, api), way, callOf(api, question));
      expect({ text, finishReason }).toEqual({ text: "Four, I think 🙂", finishReason: "stop" });
      expect(usage.inputTokens).toMatchObject({ total: 12, noCache: 9, cacheRead: 3 });
      expect(usage.outputTokens.total).toBe(5);
      expect(server.requests).toMatchObject([{ api, accepted: true, streaming: way === "doStream" }]);
      expect(await server.requests[0]?.ended).toBe("answered");
    });

    test("parallel calls, with text before them", async () => {
      const calls = [
        { name: "add", arguments: { a: 2, b: 2 } },
        { name: "add", arguments: { a: "grüße 🙂", b: {} } },
      ];
      server.answer({ text: "Adding.", calls });
      const answer = await ask(modelOf(server, api), way, callOf(api, question, { tools: [add] }));
      expect(answer.text).toBe("Adding.");
      expect(answer.finishReason).toBe("tool-calls");
      expect(answer.calls.map(({ toolName, input }) => ({ name: toolName, arguments: JSON.parse(input) }))).toEqual(
        calls,
      );
      expect(new Set(answer.calls.map(({ toolCallId }) => toolCallId)).size).toBe(2);
    });

    test("thinking, where the API shows any, and what it costs", async () => {
      server.answer({ thinking: ["Two and", " two"], text: "4", usage: { output: 9, reasoning: 6 } });
      const { text, thinking, usage } = await ask(modelOf(server, api), way, callOf(api, question));
      expect(text).toBe("4");
      expect(thinking).toBe(api === "openai-chat" ? "" : "Two and two");
      expect(usage.outputTokens).toMatchObject({ total: 9, reasoning: 6 });
    });

    test("an answer that is cut off by its length", async () => {
      server.answer({ text: "Fo", finish: "length" });
      expect((await ask(modelOf(server, api), way, callOf(api, question))).finishReason).toBe("length");
    });

    test("an answer that a filter stopped", async () => {
      server.answer({ text: "Fo", finish: "content_filter" });
      expect((await ask(modelOf(server, api), way, callOf(api, question))).finishReason).toBe("content-filter");
    });

    test("a refusal", async () => {
      server.answer({ error: "refusal", text: "I will not." });
      const { finishReason } = await ask(modelOf(server, api), way, callOf(api, question));
      expect(finishReason).toBe("content-filter");
    });
  });

  test("parts come in the order of the stream", async () => {
    server.answer({ parts: [{ text: "Adding." }, { call: { name: "add", arguments: {} } }, { text: "Wait." }] });
    const { stream } = await modelOf(server, api).doStream(callOf(api, question, { tools: [add] }));
    const types = (await Array.fromAsync(stream)).map(({ type }) => type);
    const said = types.filter((type) => type === "text-start" || type === "tool-call");
    // Chat has one text, whatever comes between.
    expect(said).toEqual(
      api === "openai-chat" || api === "openai-compatible" ? CHAT_ORDER : ["text-start", "tool-call", "text-start"],
    );
  });

  test("arguments that are no JSON", async () => {
    server.answer({ calls: [{ name: "add", arguments: '{"a":' }] });
    const { calls, finishReason } = await ask(
      modelOf(server, api),
      "doStream",
      callOf(api, question, { tools: [add] }),
    );
    if (api === "gemini") expect({ calls, finishReason }).toEqual({ calls: [], finishReason: "error" });
    else expect(calls.map(({ input }) => input)).toEqual(['{"a":']);
  });

  test("the deltas of a stream are those of the answer", async () => {
    server.answer({ text: ["a", "bc", "🙂"] });
    const { stream } = await modelOf(server, api).doStream(callOf(api, question));
    const deltas = (await Array.fromAsync(stream)).flatMap((part) => (part.type === "text-delta" ? [part.delta] : []));
    expect(deltas.filter((delta) => delta !== "")).toEqual(["a", "bc", "🙂"]);
  });

  test("the same answers give the same ids in every run", async () => {
    const run = async (): Promise<unknown> => {
      await using own = await startProtocolServer();
      own.answer({ thinking: "hm", calls: [{ name: "add", arguments: {} }] });
      return (await ask(modelOf(own, api), "doGenerate", callOf(api, question, { tools: [add] }))).content;
    };
    expect(await run()).toEqual(await run());
  });
});

test("answers are given in order, then the newest rule that has one", async () => {
  server.answer((request) => ({ text: `rule for ${request.model}` }), { text: "first" }, { text: "second" });
  server.answer(({ api }) => (api === "gemini" ? { text: "rule for Google" } : undefined));
  expect(server.unused).toBe(2);
  const texts: string[] = [];
  for (const api of ["openai-chat", "anthropic", "anthropic", "gemini"] as const) {
    texts.push((await ask(modelOf(server, api), "doGenerate", callOf(api, question))).text);
  }
  expect(texts).toEqual(["first", "second", "rule for claude-sonnet-5", "rule for Google"]);
  expect(server.unused).toBe(0);
});

test("without an answer a request fails and is not worth a retry", async () => {
  const asked = ask(modelOf(server, "anthropic"), "doGenerate", callOf("anthropic", question));
  await expect(asked).rejects.toMatchObject({
    isRetryable: false,
    message: expect.stringContaining("no answer is left"),
  });
});
