import { AgentHost, react, ToolError, type Tools } from "heddle";
import type { OnError } from "heddle/core";
import { describe, expect, test } from "vitest";
import { ModelError } from "../../../src/runtime/model/failure.ts";
import { agentOf } from "../host/support/hosts.ts";
import { anything, eventsOf, failureOf, stage } from "../support/stage.ts";

const refusal = new Error("temperature is not supported; key sk-12345 of org acme");
const refusing = { error: refusal };

/** What `onError` was told. */
function listening() {
  const told: unknown[] = [];
  const onError: OnError = (error, { threadId: _, ...of }) => void told.push([error, of]);
  return { told, onError };
}

function throws(error: unknown): () => never {
  return () => {
    throw error;
  };
}

describe("why a model gave no answer", () => {
  test("is the cause of the request's error, in the process that asked, and nowhere else", async () => {
    const on = await stage();
    const server = await on.start({
      modelMaxRetries: 0,
      script: [refusing],
    });
    const request = await server.ask("Hi");
    const error = await failureOf(on.end(request.result));
    expect(error).toMatchObject({ code: "request_failed", cause: { name: "ModelError", cause: refusal } });
    expect(ModelError.isInstance(error.cause)).toBe(true);
    const kept = JSON.stringify([error, await on.log(), await eventsOf(request)]);
    expect(kept).not.toMatch(/sk-12345/);
  });

  test("is the cause of a run's error, too", async () => {
    const agent = agentOf([refusing], { modelMaxRetries: 0 });
    await expect(react.run("Hi", agent)).rejects.toMatchObject({ cause: { cause: refusal } });
  });

  test("is not the cause of what goes wrong later", async () => {
    const on = await stage();
    const tooLong = { error: { status: 400, message: "Your input exceeds the context window of this model." } };
    const output = { type: "object", properties: { a: { type: "number" } }, required: ["a"] } as const;
    const server = await on.start({ script: [tooLong, "no JSON"], output, outputRetries: 0, modelMaxRetries: 0 });
    const error = await failureOf(on.end((await server.ask("Hi")).result));
    expect(error.failure?.code).toBe("output_invalid");
    expect(error.cause).toBeUndefined();
  });
});

describe("onError gets the error as it was thrown", () => {
  const thrown = new Error("postgres://u:secret@db");

  test("by a tool, in each attempt", async () => {
    const on = await stage();
    const { told, onError } = listening();
    const busy = new ToolError({ message: "Busy.", retryable: true });
    const errors = [busy, thrown];
    const tools: Tools = { pay: { inputSchema: anything, maxRetries: 1, execute: () => throws(errors.shift())() } };
    const server = await on.start({ tools, script: [{ calls: [{ name: "pay" }] }, "Done."] }, { onError });
    const request = await server.ask("Go.");
    await on.end(request.result);
    const of = { requestId: request.id, toolName: "pay", toolCallId: "call_1", code: "tool_failed" };
    expect(told).toEqual([
      [busy, of],
      [thrown, of],
    ]);
  });

  test.each([
    ["guardTools", { guardTools: throws(thrown) }, "tool_denied"],
    [
      "needsApproval",
      { tools: { pay: { inputSchema: anything, needsApproval: throws(thrown), execute: () => 1 } } },
      "approval_failed",
    ],
  ])("by %s", async (_, config, code) => {
    const on = await stage();
    const { told, onError } = listening();
    const tools: Tools = { pay: { inputSchema: anything, execute: () => 1 } };
    const server = await on.start({ tools, script: [{ calls: [{ name: "pay" }] }, "Done."], ...config }, { onError });
    const request = await server.ask("Go.");
    await on.end(eventsOf(request, { until: "waiting" }));
    expect(told).toEqual([[thrown, { requestId: request.id, toolName: "pay", toolCallId: "call_1", code }]]);
  });

  test("by transformRequest, which is the request's cause as well", async () => {
    const on = await stage();
    const { told, onError } = listening();
    const server = await on.start({ transformRequest: throws(thrown) }, { onError });
    const request = await server.ask("Go.");
    expect((await failureOf(on.end(request.result))).cause).toBe(thrown);
    expect(told).toEqual([[thrown, { requestId: request.id, code: "request_transform_failed" }]]);
  });

  test("by a summarizer", async () => {
    const on = await stage();
    const { told, onError } = listening();
    const contextPolicy = {
      maxThreadTokens: 50,
      keepLastTurns: 1,
      autoSummarize: true,
      summarization: "request_new",
    } as const;
    const summarizer = { summarize: async () => throws(thrown)() };
    const server = await on.start({ contextPolicy, summarizer, script: ["One.", "Two."] }, { onError });
    await on.end((await server.ask("word ".repeat(300))).result);
    const request = await server.ask("Second");
    await on.end(request.result);
    expect(told).toEqual([[thrown, { requestId: request.id, code: "summary_failed" }]]);
  });

  test("by the function that makes the prompt", async () => {
    const on = await stage();
    const { told, onError } = listening();
    const server = await on.start({ systemPrompt: throws(thrown) }, { onError });
    await expect(on.end(server.ask("Go."))).rejects.toMatchObject({ code: "system_prompt_failed", cause: thrown });
    expect(told).toEqual([[thrown, { code: "system_prompt_failed" }]]);
  });

  test("by a provider, to hosts and to runs without a server", async () => {
    const on = await stage();
    const agent = agentOf([refusing, refusing], { modelMaxRetries: 0 });
    const threads: string[] = [];
    const onError: OnError = (error, { code, threadId }) => {
      expect(error).toMatchObject({ name: "ModelError", cause: refusal, code });
      threads.push(threadId);
    };
    const host = AgentHost.create({ agent, store: on.store, onError });
    await expect((await host.ask("thread_1", "Hi")).result).rejects.toThrow();
    await host.stop();
    await expect(react.run("Hi", agent, { onError, threadId: "thread_2" })).rejects.toThrow();
    expect(threads).toEqual(["thread_1", "thread_2"]);
  });

  test("and ends nothing, whatever it does", async () => {
    const on = await stage();
    const tools: Tools = { pay: { inputSchema: anything, execute: throws(thrown) } };
    const script = [{ calls: [{ name: "pay" }, { name: "pay" }] }, "Done."];
    let count = 0;
    const onError = (): unknown => (++count === 1 ? throws(new Error("deaf"))() : Promise.reject(new Error("deaf")));
    const server = await on.start({ tools, script }, { onError });
    expect((await on.end((await server.ask("Go.")).result)).text).toBe("Done.");
    expect(count).toBe(2);
  });
});
