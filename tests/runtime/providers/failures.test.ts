import { describe, expect, test } from "vitest";
import type { AgentEvent } from "../../../src/agent/event.ts";
import type { AgentRequest } from "../../../src/runtime/request/request.ts";
import { RequestError } from "../../../src/runtime/request/request-error.ts";
import type { AgentServer } from "../../../src/runtime/server/agent-server.ts";
import type { Answer } from "../../support/protocol/server.ts";
import { APIS, EVERY_WAY, modelAt } from "./support/models.ts";
import { proveBodies, stage, told } from "./support/stage.ts";

// What goes wrong at a provider has one name, whichever package it comes through, and what may pass is tried again.

const IDLE_MS = 7_000;

/** Of a request that has failed: its failure, and how often its calls were made again. */
async function failed(request: AgentRequest) {
  const error: unknown = await request.result.then(
    () => new Error("The request has not failed."),
    (error) => error,
  );
  if (!RequestError.isInstance(error)) throw error;
  const events = await told(request);
  expect(events.at(-1)?.kind).toBe("request_failed");
  return { code: error.failure?.code, retryable: error.failure?.retryable, retries: retriesIn(events) };
}

function retriesIn(events: readonly AgentEvent[]) {
  return events.flatMap((event) => (event.kind === "llm_retried" ? [event.data] : []));
}

describe.each(EVERY_WAY)("$api, $way", (setting) => {
  const { api, streaming } = setting;

  test("a rate limit is waited for as long as the provider says, and reported", async () => {
    const scene = await stage(setting);
    scene.provider.answer({ error: "rate_limited", retryAfterMs: 20 }, { text: "Four" });
    const server = await scene.start();
    const request = await server.ask("What's 2+2?");
    expect((await request.result).text).toBe("Four");
    const retries = retriesIn(await told(request));
    expect(retries).toMatchObject([{ attempt: 1, waitMs: 20, failure: { code: "model_rate_limited" } }]);
    expect(await proveBodies(scene)).toBe(1);
  });

  test.each([
    ["overloaded", ["model_overloaded", "model_unavailable"], 5],
    ["server_error", ["model_unavailable"], 5],
    ["auth", ["model_auth"], 1],
    ["bad_request", ["model_bad_request"], 1],
  ] as const)("%s is %s, asked for %i times", async (error, codes, requests) => {
    const scene = await stage(setting);
    scene.provider.answer(() => ({ error }));
    const server = await scene.start();
    const { code, retryable, retries } = await failed(await server.ask("What's 2+2?"));
    expect(codes).toContain(code);
    expect({
      retryable: retryable ?? false,
      retries: retries.length,
      requests: scene.provider.requests.length,
    }).toEqual({
      retryable: requests > 1,
      retries: requests - 1,
      requests,
    });
    scene.provider.answer({ text: "Four" });
    expect((await (await server.ask("And now?")).result).text).toBe("Four");
  });

  test("what the provider's filter stops is refused", async () => {
    const scene = await stage(setting);
    scene.provider.answer({ finish: "content_filter" });
    const server = await scene.start();
    expect(await failed(await server.ask("How?"))).toMatchObject({ code: "model_refused" });
    scene.provider.answer({ text: "Four" });
    expect((await (await server.ask("What's 2+2?")).result).text).toBe("Four");
    expect(await proveBodies(scene)).toBe(2);
  });

  test("an answer that is cut before its first word is empty, and not asked for again", async () => {
    const scene = await stage(setting);
    scene.provider.answer({ thinking: "Let me see", finish: "length" }, { text: "Four" });
    const server = await scene.start();
    expect(await failed(await server.ask("How?"))).toMatchObject({ code: "model_answer_empty", retries: [] });
    expect((await (await server.ask("What's 2+2?")).result).text).toBe("Four");
    expect(await proveBodies(scene)).toBe(2);
  });

  test("a model that refuses in words of its own has answered", async () => {
    const scene = await stage(setting);
    scene.provider.answer({ error: "refusal", text: "I will not." });
    const server = await scene.start();
    const request = await server.ask("How?");
    if (api === "gemini") {
      expect(await failed(request)).toMatchObject({ code: "model_refused" }); // it gives no words
    } else {
      expect((await request.result).text).toBe("I will not.");
    }
    scene.provider.answer({ text: "Four" });
    expect((await (await server.ask("What's 2+2?")).result).text).toBe("Four");
    expect(await proveBodies(scene)).toBe(2);
  });

  test.each([
    ["mid_stream", 1],
    ["cut", 1],
    ["malformed", 1],
    ["mid_stream", 0],
    ["cut", 0],
    ["malformed", 0],
  ] as const)("%s after %i deltas is no answer, and the call is made again", async (error, after) => {
    const scene = await stage(setting);
    scene.provider.answer({ error, after, text: ["Fo", "ur"] }, { text: ["Fi", "ve"] });
    const server = await scene.start();
    const request = await server.ask("What's 2+2?");
    expect((await request.result).text).toBe("Five");
    expect(retriesIn(await told(request))).toHaveLength(1);
    expect(await saidLast(server)).toMatchObject({ role: "assistant", call: { attempts: 2 } });
    scene.provider.answer(() => ({ text: "Six" }));
    expect((await (await server.ask("And now?")).result).text).toBe("Six");
    expect(await proveBodies(scene)).toBe(2);
  });

  test.each(["mid_stream", "cut", "malformed"] as const)("%s in the last attempt fails the request", async (error) => {
    const scene = await stage(setting);
    scene.provider.answer({ error, after: 1, text: ["Fo", "ur"] });
    const server = await scene.start({ modelMaxRetries: 0 });
    const { code, retries } = await failed(await server.ask("What's 2+2?"));
    const codes = {
      mid_stream: ["model_error", "model_unavailable"],
      cut: [streaming ? "model_stream_interrupted" : "model_unavailable"],
      malformed: ["model_error"],
    };
    expect(codes[error]).toContain(code);
    expect(retries).toEqual([]);
    if (streaming) expect(await saidLast(server)).toMatchObject({ partial: true, content: "Fo" });
  });

  test("an abort reaches the provider, and the text until then is stored and marked", async () => {
    const scene = await stage(setting);
    scene.provider.answer({ error: "stall", text: ["Fo", "ur"] });
    const server = await scene.start();
    const request = await server.ask("What's 2+2?");
    const asked = await scene.provider.received(1);
    if (streaming) for await (const { kind } of request.events()) if (kind === "llm_delta") break;
    expect(await server.cancel()).toBe(true);
    expect(await asked.ended).toBe("aborted");
    expect((await told(request)).at(-1)?.kind).toBe("request_cancelled");
    if (streaming) expect(await saidLast(server)).toMatchObject({ role: "assistant", content: "Fo", partial: true });
    scene.provider.answer({ text: "Five" });
    expect((await (await server.ask("And now?")).result).text).toBe("Five");
    expect(await proveBodies(scene)).toBe(2);
  });
});

describe.each(APIS)("%s", (api) => {
  test("a stream that falls silent is aborted, and the call is retried", async () => {
    const scene = await stage({ api, streaming: true });
    scene.provider.answer({ error: "stall", text: ["Fo", "ur"], after: 0 }, { error: "stall", text: ["Fo", "ur"] });
    const server = await scene.start({ streamIdleTimeoutMs: IDLE_MS, modelMaxRetries: 1 });
    const request = await server.ask("What's 2+2?");
    for await (const { kind } of request.events()) {
      if (kind === "llm_started") break;
    }
    await scene.provider.received(1);
    await until(() => scene.timers.fire(IDLE_MS) > 0);
    for await (const { kind } of request.events()) if (kind === "llm_delta") break;
    scene.timers.fire(IDLE_MS);
    expect(await failed(request)).toMatchObject({
      code: "model_stream_idle",
      retries: [{ failure: { code: "model_stream_idle" } }],
    });
    expect(await Promise.all(scene.provider.requests.map(({ ended }) => ended))).toEqual(["aborted", "aborted"]);
    expect(await proveBodies(scene)).toBe(1);
  });

  test("an answer without streaming that never comes is aborted at the request's time limit", async () => {
    const scene = await stage({ api, streaming: false });
    scene.provider.answer({ error: "stall", text: "Four" });
    const server = await scene.start({ totalTimeoutMs: IDLE_MS });
    const request = await server.ask("What's 2+2?");
    const asked = await scene.provider.received(1);
    expect(scene.timers.fire(IDLE_MS)).toBe(1);
    expect(await failed(request)).toMatchObject({ code: "request_timeout", retries: [] });
    expect(await asked.ended).toBe("aborted");
  });

  test("a stream that ends as if it were complete, and is not, is no whole answer", async () => {
    const scene = await stage({ api, streaming: true });
    scene.provider.answer({ text: ["Fo", "ur"], waitFor: new Promise(() => {}) });
    const model = modelAt(scene.provider.url, api, { fetch: endingBehind("Fo") });
    const server = await scene.start({ model, modelMaxRetries: 0 });
    const request = await server.ask("What's 2+2?");
    expect(await failed(request)).toEqual({ code: "model_stream_interrupted", retryable: true, retries: [] });
    expect(await saidLast(server)).toMatchObject({ partial: true });
  });

  test("a prompt that is too long is retried once with less, and then fails", async () => {
    const scene = await stage({ api, streaming: true, options: { maxInputTokens: 1500 } });
    scene.provider.answer(() => ({ text: `Sunny. ${"Really. ".repeat(30)}` }));
    const server = await scene.start({ tools: {} });
    let asked = 0;
    let request: AgentRequest;
    do {
      request = await server.ask(`Weather, for the time ${++asked}? ${"Please. ".repeat(30)}`);
      await request.result;
    } while (scene.provider.requests.every(({ accepted }) => accepted) && asked < 40);
    const refused = scene.provider.requests.find(({ accepted }) => !accepted);
    const less = scene.provider.requests.at(-1);
    expect(refused?.violation?.rule).toBe("context_too_long");
    expect(less?.accepted).toBe(true);
    expect(JSON.stringify(less?.body).length).toBeLessThan(JSON.stringify(refused?.body).length * 0.75);
    expect(await proveBodies(scene)).toBe(asked + 1);
  });

  test("what cannot be made short enough fails", async () => {
    const scene = await stage({ api, streaming: true });
    scene.provider.answer(() => ({ error: "context_too_long" }));
    const server = await scene.start({ tools: {} });
    expect(await failed(await server.ask(["What", "is", "it?"].join(" ".repeat(50))))).toMatchObject({
      code: "model_context_too_long",
    });
    // Where the refusal has numbers, they say that nothing would be short enough.
    expect(scene.provider.requests).toHaveLength(api === "openai-responses" ? 2 : 1);
    scene.provider.answer(() => ({ text: "Four" }) satisfies Answer);
    expect((await (await server.ask("What's 2+2?")).result).text).toBe("Four");
  });
});

/** Ends each answer behind the piece that holds this text. */
function endingBehind(text: string): typeof fetch {
  return async (...args) => {
    const response = await fetch(...args);
    const decoder = new TextDecoder();
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        controller.enqueue(chunk);
        if (decoder.decode(chunk).includes(JSON.stringify(text))) controller.terminate();
      },
    });
    return new Response(response.body?.pipeThrough(cut), response);
  };
}

/** The last thing that was said, by whomever. */
async function saidLast(server: AgentServer): Promise<unknown> {
  return (await server.thread()).filterByKind("ai_message").at(-1)?.payload;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}
