import { context, SpanStatusCode, trace } from "@opentelemetry/api";
import { afterEach, expect, test } from "vitest";
import type { AgentConfig } from "../../../src/agent/definition/config.ts";
import { defineAgent } from "../../../src/agent/definition/define-agent.ts";
import type { AnyTool } from "../../../src/agent/definition/tool.ts";
import type { Usage } from "../../../src/agent/model-call.ts";
import { AgentServer } from "../../../src/runtime/server/agent-server.ts";
import { openTelemetry } from "../../../src/runtime/telemetry/open-telemetry.ts";
import type { Telemetry } from "../../../src/runtime/telemetry/telemetry.ts";
import type { ScriptedRequest } from "../../../src/scripted-model/request.ts";
import type { ScriptedStep } from "../../../src/scripted-model/script.ts";
import { scriptedModel } from "../../../src/scripted-model/scripted-model.ts";
import { memoryStore } from "../../../src/stores/memory-store.ts";
import { stage } from "../support/stage.ts";
import { KeptContext } from "./support/kept-context.ts";
import { recorder } from "./support/recorder.ts";

const ASK = "How warm is it in Ghent?";
const calls: ScriptedStep = { calls: [{ name: "weather", arguments: { city: "Ghent" } }] };
const weather: AnyTool = { inputSchema: { type: "object" }, execute: () => "18 degrees" };

function started(telemetry: Telemetry, script: readonly ScriptedStep[], config: Partial<AgentConfig> = {}) {
  const agent = defineAgent({ name: "support", model: scriptedModel(script), tools: { weather }, ...config });
  return AgentServer.start({ agent, store: memoryStore(), telemetry, threadId: "thread_1" });
}

afterEach(() => context.disable());

test("a request with a tool is one trace: the agent, its two calls of the model, and the tool between them", async () => {
  const record = await recorder();
  const server = await started(record.telemetry, [calls, "It is 18 degrees in Ghent."]);
  const request = await server.ask(ASK);
  await request.result;
  await server.stop();

  const root = record.span("invoke_agent support");
  const inside = record.spans().filter((span) => span !== root);
  expect(inside.map(({ name }) => name.split(" ")[0])).toEqual(["chat", "execute_tool", "chat"]);
  for (const span of inside) expect(span.parentSpanContext?.spanId).toBe(root.spanContext().spanId);
  for (const { attributes } of record.spans()) {
    expect(attributes).toMatchObject({
      "gen_ai.conversation.id": "thread_1",
      "gen_ai.agent.name": "support",
      "heddle.request.id": request.id,
    });
  }
  expect(root.attributes["heddle.request.status"]).toBe("completed");
  expect(JSON.stringify(record.spans().map(({ attributes, events }) => [attributes, events]))).not.toContain("Ghent");
  const names = new Set((await record.measured()).map(({ name }) => name));
  expect([...names].sort()).toEqual([
    "gen_ai.client.operation.duration",
    "gen_ai.client.operation.time_to_first_chunk",
    "gen_ai.client.token.usage",
    "gen_ai.execute_tool.duration",
    "gen_ai.invoke_agent.duration",
  ]);
});

test("what the model and the tool trace themselves belongs below their spans", async () => {
  context.setGlobalContextManager(new KeptContext());
  const record = await recorder();
  const active: (string | undefined)[] = [];
  const look = (): boolean => active.push(trace.getActiveSpan()?.spanContext().spanId) > 0;
  const looking = { ...weather, execute: () => String(look()) };
  const server = await started(record.telemetry, [calls, { expect: look, text: "It is 18 degrees." }], {
    tools: { weather: looking },
  });
  const request = await server.ask(ASK);
  await request.result;
  await server.stop();
  expect(active).toEqual(
    record
      .spans()
      .slice(1, 3)
      .map((span) => span.spanContext().spanId),
  );
});

test("only a streamed call has the times of its pieces, and a retry is counted without its wait", async () => {
  const retried: readonly ScriptedStep[] = [
    { error: { status: 503 } },
    { text: ["It ", "is ", "18."], delayMs: 40, deltaDelayMs: 10 },
  ];
  const on = await stage();
  const record = await recorder();
  const server = await on.start({ script: retried }, { telemetry: record.telemetry });
  await on.end((await on.end(server.ask(ASK))).result);
  const other = await recorder();
  const whole = await on.start(
    { script: ["It is 18."], streaming: false },
    { telemetry: other.telemetry, threadId: "t2" },
  );
  await on.end((await on.end(whole.ask(ASK))).result);
  const times = (await record.measured()).filter(({ name }) => /chunk|operation.duration/.test(name));
  expect(times.map(({ name, count, sum }) => [name.split(".").at(-1), count, sum?.toFixed(3)])).toEqual([
    ["duration", 1, "0.000"],
    ["duration", 1, "0.060"],
    ["time_to_first_chunk", 1, "0.040"],
    ["time_per_output_chunk", 2, "0.020"],
  ]);
  expect((await other.measured()).filter(({ name }) => name.includes("chunk"))).toEqual([]);
});

test.each([
  ["a function", (usage: Usage) => (usage.inputTokens ?? 0) * 0.5, 5],
  ["a function that returns a promise", async (usage: Usage) => (usage.outputTokens ?? 0) * 0.25, 0.5],
  [
    "a function that throws",
    () => {
      throw new Error("no price");
    },
    undefined,
  ],
  ["a function that gives no cost", () => -1, undefined],
])("the cost of a call is that of %s", async (_name, costUsd, cost) => {
  const record = await recorder();
  const answers = [{ text: "Warm.", usage: { inputTokens: 10, outputTokens: 2 } }];
  const server = await started(record.telemetry, answers, { limits: { costUsd } });
  await (await server.ask(ASK)).result;
  await server.stop();
  expect(record.span("chat scripted-model").attributes["gen_ai.usage.cost"]).toBe(cost);
  expect(record.span("invoke_agent support").attributes["gen_ai.usage.cost"]).toBe(cost);
});

test("a cancelled call has its estimated cost, and does not wait for a promise", async () => {
  for (const [costUsd, cost] of [
    [() => 2, 2],
    [() => new Promise<number>(() => undefined), undefined],
  ] as const) {
    const on = await stage();
    const record = await recorder();
    const server = await on.start(
      { script: [{ text: "It is", hang: true }], limits: { costUsd } },
      { telemetry: record.telemetry },
    );
    const request = await on.end(server.ask(ASK));
    await on.settled();
    await on.end(server.cancel(request.id));
    expect(on.ports.clock()).toBe(1_000);
    const { attributes } = record.span("chat scripted-model");
    expect(attributes).toMatchObject({ "error.type": "model_aborted", "heddle.usage.estimated": true });
    expect(attributes["gen_ai.usage.cost"]).toBe(cost);
    await on.end(server.stop());
  }
});

test("a function for costs is not called for telemetry where there is none", async () => {
  const agent = defineAgent({
    name: "a",
    model: scriptedModel(["Warm."]),
    limits: { costUsd: () => expect.unreachable() },
  });
  const server = await AgentServer.start({ agent, store: memoryStore() });
  expect((await (await server.ask(ASK)).result).text).toBe("Warm.");
  await server.stop();
});

test("a request has its words where content is allowed, also in the process that resumes it", async () => {
  const on = await stage();
  const NODE = { holder: "node" };
  const [before, after] = [await recorder(), await recorder()];
  const first = await on.start({ script: [{ hang: true }], redact: false }, { ...NODE, telemetry: before.telemetry });
  const { id } = await on.end(first.ask(ASK));
  const second = await on.start(
    { script: ["It is 18 degrees."], redact: false },
    { ...NODE, telemetry: after.telemetry },
  );
  await on.end(second.result(id));
  const { attributes } = after.span("invoke_agent agent");
  expect(attributes["gen_ai.input.messages"]).toContain(ASK);
  expect(attributes["gen_ai.output.messages"]).toContain("It is 18 degrees.");
});

test("a call is recorded as it was sent, after transformRequest", async () => {
  const record = await recorder();
  const transformRequest = () => ({ settings: { temperature: 0.9 } });
  const server = await started(record.telemetry, ["It is 18 degrees."], { transformRequest, temperature: 0.1 });
  await (await server.ask(ASK)).result;
  await server.stop();
  expect(record.span("chat scripted-model").attributes["gen_ai.request.temperature"]).toBe(0.9);
});

test("a summary that a request calls for is a part of it, with the tokens that it cost", async () => {
  const record = await recorder();
  const contextPolicy = {
    autoSummarize: true,
    summarization: "request_new",
    summarizeThreshold: 2,
    keepLastTurns: 1,
  } as const;
  const usage = { inputTokens: 70, outputTokens: 7 };
  const long = "It is warm. ".repeat(100);
  const answers = (request: ScriptedRequest) => (request.tools.length > 0 ? long : { text: "Warm.", usage });
  const server = await started(record.telemetry, [answers, answers, answers, answers, answers], { contextPolicy });
  await (await server.ask(ASK)).result;
  const second = await server.ask(ASK);
  await second.result;
  await server.stop();
  const summary = record.span("heddle.summarize");
  expect(summary.attributes["heddle.request.id"]).toBe(second.id);
  const asked = record.spans().find((span) => span.parentSpanContext?.spanId === summary.spanContext().spanId);
  expect(asked?.attributes).toMatchObject({ "gen_ai.usage.input_tokens": 70, "gen_ai.usage.output_tokens": 7 });
});

test("a request whose model fails is an error, in the call and in the whole", async () => {
  const record = await recorder();
  const server = await started(record.telemetry, [{ error: { status: 401 } }]);
  const request = await server.ask(ASK);
  await expect(request.result).rejects.toThrow();
  await server.stop();
  expect(record.spans().map(({ status, attributes }) => [status.code, attributes["error.type"]])).toEqual([
    [SpanStatusCode.ERROR, "model_auth"],
    [SpanStatusCode.ERROR, "model_auth"],
  ]);
});

test("a request that waits for approval when the server stops ends as suspended", async () => {
  const record = await recorder();
  const server = await started(record.telemetry, [calls], { tools: { weather: { ...weather, needsApproval: true } } });
  const request = await server.ask(ASK);
  for await (const _ of request.events({ until: "waiting" }));
  await server.stop({ graceMs: 0 });
  const { attributes, events } = record.span("invoke_agent support");
  expect(attributes["heddle.request.status"]).toBe("suspended");
  expect(events.map(({ name }) => name)).toEqual(["heddle.approval_requested"]);
});

test("a run is the same under telemetry that breaks", async () => {
  const broken = (): never => {
    throw new Error("the tracer is broken");
  };
  const telemetry = await openTelemetry({ tracer: { startSpan: broken }, meter: { createHistogram: broken } });
  const server = await started(telemetry, [calls, "It is 18 degrees in Ghent."]);
  const request = await server.ask(ASK);
  expect((await request.result).text).toBe("It is 18 degrees in Ghent.");
  await server.stop();
});
