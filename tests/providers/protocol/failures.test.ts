import { APICallError } from "@ai-sdk/provider";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Answer, type ProtocolServer, startProtocolServer } from "../../support/protocol/server.ts";
import { user } from "../support/messages.ts";
import { APIS, ask, callOf, modelOf, WAYS } from "./support/packages.ts";

// What goes wrong with a provider goes wrong with the server, and the real packages see it so.

let server: ProtocolServer;
beforeEach(async () => {
  server = await startProtocolServer({ maxInputTokens: 1000 });
});
afterEach(() => server.stop());

const question = [user("Hi")];
const long = [user("word ".repeat(1000))];

/** The status of each error, for each API. */
const STATUS = {
  "openai-chat": { rate_limited: 429, overloaded: 503, auth: 401, context_too_long: 400, server_error: 500 },
  "openai-compatible": { rate_limited: 429, overloaded: 503, auth: 401, context_too_long: 400, server_error: 500 },
  "openai-responses": { rate_limited: 429, overloaded: 503, auth: 401, context_too_long: 400, server_error: 500 },
  anthropic: { rate_limited: 429, overloaded: 529, auth: 401, context_too_long: 400, server_error: 500 },
  gemini: { rate_limited: 429, overloaded: 503, auth: 400, context_too_long: 400, server_error: 500 },
} as const;

const TOO_LONG = {
  "openai-chat": /maximum context length is 1000 tokens\. However, your messages resulted in \d{4} tokens/,
  "openai-compatible": /maximum context length is 1000 tokens\. However, your messages resulted in \d{4} tokens/,
  "openai-responses": /input exceeds the context window of this model/,
  anthropic: /^prompt is too long: \d{4} tokens > 1000 maximum$/,
  gemini: /^The input token count \(\d{4}\) exceeds the maximum number of tokens allowed \(1000\)\.$/,
} as const;

describe.each(APIS)("%s", (api) => {
  describe.each(WAYS)("%s", (way) => {
    const asking = (messages = question): Promise<unknown> => ask(modelOf(server, api), way, callOf(api, messages));
    const failure = (): Promise<APICallError> => asking().then(Promise.reject, (error: APICallError) => error);

    test.each(Object.entries(STATUS[api]))("%s has the provider's status", async (error, status) => {
      server.answer({ error: error as keyof (typeof STATUS)[typeof api] });
      const thrown = await failure();
      expect(APICallError.isInstance(thrown)).toBe(true);
      expect(thrown.statusCode).toBe(status);
      expect(thrown.isRetryable).toBe(status === 429 || status >= 500);
      expect(server.requests[0]?.accepted, "it was the server's trouble, not the request's").toBe(true);
    });

    test("a rate limit says when to come again, and the message is the one that was asked for", async () => {
      server.answer({ error: "rate_limited", retryAfterMs: 20, message: "Slowly!" });
      const { message, responseHeaders } = await failure();
      expect(message).toBe("Slowly!");
      expect(responseHeaders).toMatchObject({ "retry-after-ms": "20", "retry-after": "1" });
    });

    test("what is longer than the window is refused in the provider's words", async () => {
      await expect(asking(long)).rejects.toThrow(TOO_LONG[api]);
      expect(server.requests).toMatchObject([{ accepted: false, violation: { rule: "context_too_long" } }]);
      expect(await server.requests[0]?.ended).toBe("refused");
    });

    test("an answer that fails in the middle is an error, and never a whole answer", async () => {
      server.answer({ error: "mid_stream", text: ["Fo", "ur"], message: "Sorry about that!" });
      await expect(asking()).rejects.toMatchObject({ message: expect.stringContaining("Sorry about that!") });
    });

    test("a connection that is cut is an error, and not the client's doing", async () => {
      server.answer({ error: "cut", text: ["Fo", "ur"] });
      await expect(asking()).rejects.toThrow();
      expect(server.requests).toMatchObject([{ aborted: false }]);
      expect(await server.requests[0]?.ended).toBe("broken");
    });

    test("a part that is not JSON is an error", async () => {
      server.answer({ error: "malformed", text: ["Fo", "ur"] });
      await expect(asking()).rejects.toThrow(/JSON/);
    });

    test("a client that disconnects before an answer is noticed", async () => {
      server.answer({ error: "stall" });
      const controller = new AbortController();
      const asked = ask(modelOf(server, api), way, callOf(api, question, { abortSignal: controller.signal }));
      const request = await server.received(1);
      controller.abort(new Error("enough"));
      await expect(asked).rejects.toThrow();
      expect(await request.ended).toBe("aborted");
      expect(request.aborted).toBe(true);
    });
  });

  test("a client that disconnects in the middle of a stream has the text so far", async () => {
    server.answer({ error: "stall", text: ["Fo", "ur", "teen"], after: 2 });
    const controller = new AbortController();
    const { stream } = await modelOf(server, api).doStream(callOf(api, question, { abortSignal: controller.signal }));
    let text = "";
    const reading = (async () => {
      for await (const part of stream) {
        if (part.type === "text-delta") text += part.delta;
        if (text === "Four") controller.abort(new Error("enough"));
      }
    })();
    await expect(reading).rejects.toThrow();
    expect(text).toBe("Four");
    expect(await server.requests[0]?.ended).toBe("aborted");
  });

  test("an answer that waits is held back, and is aborted as any other", async () => {
    server.answer({ text: ["Fo", "ur"], waitFor: new Promise(() => {}) });
    const controller = new AbortController();
    const { stream } = await modelOf(server, api).doStream(callOf(api, question, { abortSignal: controller.signal }));
    let text = "";
    const reading = (async () => {
      for await (const part of stream) {
        if (part.type === "text-delta") text += part.delta;
        if (text === "Fo") controller.abort(new Error("enough"));
      }
    })();
    await expect(reading).rejects.toThrow();
    expect(text).toBe("Fo");
    expect(await server.requests[0]?.ended).toBe("aborted");
  });

  test("an answer waits for its given promise", async () => {
    const gate = Promise.withResolvers<void>();
    server.answer({ text: ["Fo", "ur"], waitFor: gate.promise });
    const { stream } = await modelOf(server, api).doStream(callOf(api, question));
    let text = "";
    for await (const part of stream) {
      if (part.type !== "text-delta") continue;
      text += part.delta;
      if (text === "Fo") gate.resolve();
    }
    expect(text).toBe("Four");
  });

  test("an error before any content is an error, though the status was good", async () => {
    server.answer({ error: "mid_stream", text: ["Fo", "ur"], after: 0, message: "Sorry about that!" });
    const asked = ask(modelOf(server, api), "doStream", callOf(api, question));
    await expect(asked).rejects.toMatchObject({ message: expect.stringContaining("Sorry about that!") });
    expect(server.requests[0]?.accepted).toBe(true);
  });
});

test("a server that stops does not count as a client that disconnected", async () => {
  server.answer({ error: "stall" } satisfies Answer);
  const asked = ask(modelOf(server, "anthropic"), "doGenerate", callOf("anthropic", question));
  const request = await server.received(1);
  await Promise.all([expect(asked).rejects.toThrow(), server.stop()]);
  expect(await request.ended).toBe("broken");
  server = await startProtocolServer();
});
