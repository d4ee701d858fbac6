import { defineAgent, jsonSchema, memoryStore, rebuildCall } from "heddle";
import { recordedCall } from "heddle/core";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { anything, failureOf, proveAll, type Stage, stage } from "../support/stage.ts";

const find = { inputSchema: anything, execute: () => "found" };
const add = {
  inputSchema: jsonSchema<{ a: number }>(
    { type: "object", properties: { a: { type: "number" } } },
    {
      validate: (value) =>
        typeof Object(value).a === "number"
          ? { success: true, value: value as { a: number } }
          : { success: false, error: new Error("a must be a number") },
    },
  ),
  execute: ({ a }: { a: number }) => a + 1,
};
const NODE = { holder: "node" };

const run = async (on: Stage, server: Awaited<ReturnType<Stage["start"]>>, text = "Go.") =>
  on.end((await on.end(server.ask(text))).result);
const records = async (on: Stage) => (await on.log()).flatMap((entry) => recordedCall(entry) ?? []);

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("prepareStep on %s", (_name, open) => {
  test("changes one call, with the facts of the AI SDK, and every call is proven", async () => {
    const on = await stage({ store: open() });
    const seen: unknown[] = [];
    const large = scriptedModel([{ expect: { system: "Look.", tools: ["find"] }, calls: [{ name: "find" }] }], {
      provider: "openai",
      modelId: "large",
    });
    const server = await on.start({
      systemPrompt: "Be brief.",
      script: [{ expect: { system: "Be brief.", tools: ["add", "find"] }, text: "Done." }],
      models: { large },
      tools: { find, add },
      contextPolicy: { maxInputTokens: 9_000 },
      prepareStep: ({ stepNumber, steps, messages, model }: never) => {
        seen.push([
          stepNumber,
          (steps as unknown[]).length,
          (messages as unknown[]).length,
          (model as { modelId: string }).modelId,
        ]);
        if (stepNumber > 0) return undefined;
        const toolChoice = { type: "tool", toolName: "find" } as const;
        return {
          model: "large",
          system: "Look.",
          activeTools: ["find"],
          toolChoice,
          providerOptions: { openai: { x: 1 } },
        };
      },
    } as never);
    const result = await run(on, server);
    expect(result.text).toBe("Done.");
    expect(Object.keys(result.usageByModel)).toContain("openai:large");
    expect(seen).toMatchObject([
      [0, 0, 2, expect.any(String)],
      [1, 1, 4, expect.any(String)],
    ]);
    const [first, second] = await records(on);
    expect(first).toMatchObject({ model: "openai:large", sent: expect.any(String) });
    expect(second?.sent).toBeUndefined();
    const rebuilt = await rebuildCall(on.store, on.threadId, result.calls[0]?.callId ?? "");
    expect(rebuilt).toMatchObject({
      settings: { toolChoice: { type: "tool", toolName: "find" }, providerOptions: { openai: { x: 1 } } },
      toolSpec: [{ name: "find" }],
    });
    expect(rebuilt.messages[0]).toEqual({ role: "system", content: "Look." });
    expect(await proveAll(on.store, on.threadId)).toBe(2);
  });

  test("is called once for a call that is retried, and again in the process that takes over", async () => {
    const on = await stage({ store: open() });
    let count = 0;
    const prepareStep = () => ({ system: `Step ${++count}.` });
    const script = [{ error: { status: 503 } }, { expect: { system: "Step 1." }, text: "Done." }];
    const server = await on.start({ script, prepareStep } as never, NODE);
    expect((await run(on, server)).text).toBe("Done.");
    expect(count).toBe(1);
    await on.end(server.stop());
    const dying = await on.start({ script: [{ hang: true }], prepareStep } as never, NODE);
    const { id } = await on.end(dying.ask("More."));
    await on.settled();
    await on.end(dying.stop({ graceMs: 0 }));
    const next = await on.start(
      { script: [{ expect: { system: "Step 3." }, text: "More." }], prepareStep } as never,
      NODE,
    );
    expect((await on.end(next.result(id))).text).toBe("More.");
    await proveAll(on.store, on.threadId);
  });

  test("of a call that falls back keeps all but its model, which has failed", async () => {
    const on = await stage({ store: open() });
    const errors = Array.from({ length: 2 }, () => ({ error: { status: 404 } }));
    const chosen = scriptedModel(errors, { provider: "openai", modelId: "chosen" });
    const first = scriptedModel([], { provider: "openai", modelId: "first" });
    const second = scriptedModel([{ expect: { system: "Step 1." }, text: "Done." }], {
      provider: "x",
      modelId: "second",
    });
    let count = 0;
    const prepareStep = () => ({ model: chosen, system: `Step ${++count}.` });
    const server = await on.start({ model: [first, second], prepareStep } as never);
    expect((await run(on, server)).text).toBe("Done.");
    expect([chosen, first, second].map(({ requests }) => requests.length)).toEqual([1, 0, 1]);
    expect(await records(on)).toMatchObject([{ model: "openai:chosen" }, { model: "x:second" }]);
    await proveAll(on.store, on.threadId);
  });

  test("keeps the summary where it replaces the prompt, also without a prompt before", async () => {
    const on = await stage({ store: open() });
    const payload = { fromSeq: 0, toSeq: 1, content: "They counted." };
    await on.store.append(on.threadId, [
      { kind: "message", payload: { role: "user", content: "One?" } },
      { kind: "message", payload: { role: "assistant", content: "1." } },
      { kind: "summary", payload },
    ]);
    const server = await on.start({ script: ["Done."], prepareStep: () => ({ system: "Look." }) } as never);
    const { calls } = await run(on, server);
    const { messages } = await rebuildCall(on.store, on.threadId, calls[0]?.callId ?? "");
    expect(messages.map(({ content }) => content)).toEqual([
      "Look.",
      "Summary of earlier conversation:\nThey counted.",
      "Go.",
    ]);
  });

  test("repairToolCall repairs unknown tools and bad arguments before the answer is stored", async () => {
    const on = await stage({ store: open() });
    const repairs: unknown[] = [];
    const calls = [
      { id: "c1", name: "ad", arguments: { a: 1 } },
      { id: "c2", name: "add", arguments: { a: "two" } },
      { id: "c3", name: "add", input: "{a: 3" },
      { id: "c4", name: "add", arguments: { a: 4 } },
      { id: "c5", name: "none" },
    ];
    const server = await on.start({
      script: [{ calls }, "Done."],
      tools: { add },
      repairToolCall: async ({ toolCall, error, inputSchema, tools }: never) => {
        const { toolCallId, input } = toolCall as { toolCallId: string; input: string };
        const schema = await (inputSchema as (tool: object) => Promise<object>)({ toolName: "add" });
        repairs.push([toolCallId, input, (error as { code: string }).code, Object.keys(tools), Object.keys(schema)]);
        return toolCallId === "c5" ? null : { toolName: "add", input: `{"a":${Number(toolCallId.slice(1))}}` };
      },
    } as never);
    expect((await run(on, server)).text).toBe("Done.");
    const facts = [["add"], ["type", "properties"]];
    expect(repairs.toSorted()).toEqual([
      ["c1", '{"a":1}', "tool_unknown", ...facts],
      ["c2", '{"a":"two"}', "tool_bad_arguments", ...facts],
      ["c3", "{a: 3", "tool_bad_arguments", ...facts],
      ["c5", "{}", "tool_unknown", ...facts],
    ]);
    const log = await on.log();
    const results = log.filter(({ payload }) => "toolCallId" in payload).map(({ payload }) => payload["content"]);
    expect(results.slice(0, 5).toSorted()).toEqual(["2", "3", "4", "5", expect.stringContaining("tool_unknown")]);
    const [record] = await records(on);
    expect(record?.repaired).toMatchObject([{ id: "c1", name: "ad" }, { id: "c2" }, { id: "c3", arguments: "{a: 3" }]);
    await proveAll(on.store, on.threadId);
  });
});

test.each([
  ["throws", () => Promise.reject(new Error("no"))],
  ["never answers", () => new Promise(() => undefined)],
  ["returns a text", () => "large"],
])("a prepareStep that %s fails the request, and onError gets the error", async (_what, prepareStep) => {
  const on = await stage();
  const errors: unknown[] = [];
  const server = await on.start({ script: [], prepareStep } as never, { onError: (error) => errors.push(error) });
  const { failure } = await failureOf(on.end((await on.end(server.ask("Go."))).result));
  expect(failure?.code).toBe("prepare_step_failed");
  expect(errors).toHaveLength(1);
});

test("a call of another model is stored whole: the log is rendered for the model of the request", async () => {
  const on = await stage();
  const large = scriptedModel(["Done."], { provider: "openai", modelId: "large" });
  const server = await on.start({ script: [], prepareStep: () => ({ model: large }) } as never);
  await run(on, server);
  const [record] = await records(on);
  const blob = await on.store.getBlob(record?.sent ?? "");
  expect(Object.keys(blob as object)).toEqual(["messages", "tools", "settings"]);
});

test("an unknown model of prepareStep fails the request", async () => {
  const on = await stage();
  const server = await on.start({ script: [], prepareStep: () => ({ model: "none" }) } as never);
  expect((await failureOf(on.end((await on.end(server.ask("Go."))).result))).failure?.code).toBe("model_unresolved");
});

test.each([
  ["throws", () => Promise.reject(new Error("no"))],
  ["never answers", () => new Promise(() => undefined)],
])("a repair that %s leaves the call, whose error the model gets", async (_what, experimental_repairToolCall) => {
  const on = await stage();
  const errors: unknown[] = [];
  const script = [{ calls: [{ name: "none" }] }, "Done."];
  const config = { script, tools: { find }, experimental_repairToolCall };
  const server = await on.start(config as never, { onError: (_error, { code }) => errors.push(code) });
  expect((await run(on, server)).text).toBe("Done.");
  expect(errors).toEqual(["tool_repair_failed"]);
});

test("the two names of repairToolCall are not given together", () => {
  const repairToolCall = () => null;
  const config = { model: scriptedModel([]), repairToolCall, experimental_repairToolCall: repairToolCall };
  expect(() => defineAgent(config)).toThrow(/another name of repairToolCall/);
});
