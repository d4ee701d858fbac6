import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { describe, expect, test } from "vitest";
import { ThreadError } from "../../../src/thread/errors.ts";
import { fake } from "../model/support/fakes.ts";
import { type Recorder, recorder } from "./support/recorder.ts";
import { answer, asked, completed, event, llmStream, outcome, scene, toolExec } from "./support/scene.ts";

const retryable = { code: "model_rate_limited", message: "The provider says: slow down, Ada.", retryable: true };

describe("a model call", () => {
  test("has a client span that says what was asked for", async () => {
    const record = await recorder();
    record.telemetry.model(llmStream(), scene()).answered(answer);
    const { kind, attributes, status } = record.span("chat gpt-5");
    expect(kind).toBe(SpanKind.CLIENT);
    expect(status.code).toBe(SpanStatusCode.UNSET);
    expect({ ...attributes }).toStrictEqual({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-5",
      "gen_ai.request.max_tokens": 500,
      "gen_ai.request.temperature": 0.2,
      "gen_ai.request.seed": 7,
      "gen_ai.request.stop_sequences": ["END"],
      "gen_ai.request.stream": true,
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.response.id": "resp_1",
      "gen_ai.response.model": "gpt-5-2026",
      "gen_ai.usage.input_tokens": 100,
      "gen_ai.usage.output_tokens": 20,
      "gen_ai.usage.cache_read.input_tokens": 60,
      "gen_ai.usage.cache_creation.input_tokens": 10,
      "gen_ai.usage.reasoning.output_tokens": 5,
      "gen_ai.agent.name": "support",
      "gen_ai.conversation.id": "thread_1",
      "heddle.request.id": "req_1",
      "heddle.run.id": "run_1",
      "heddle.call.id": "call_1",
      "heddle.iteration": 1,
      "heddle.lane": "default",
      "heddle.estimated_tokens": 321,
      "heddle.view.start_seq": 2,
    });
  });

  test("is recorded with the settings that were sent in the end", async () => {
    const record = await recorder();
    const span = record.telemetry.model(llmStream(), scene());
    span.sending({ messages: [], settings: { temperature: 1, responseFormat: { type: "json" } } });
    span.answered(answer);
    expect(record.span("chat gpt-5").attributes).toMatchObject({
      "gen_ai.request.temperature": 1,
      "gen_ai.output.type": "json",
    });
  });

  test("that fails is an error with its code and what it cost until then", async () => {
    const record = await recorder();
    record.telemetry.model(llmStream(), scene()).failed(retryable, { inputTokens: 3 });
    const { status, attributes } = record.span("chat gpt-5");
    expect(status).toEqual({ code: SpanStatusCode.ERROR });
    expect(attributes).toMatchObject({ "error.type": "model_rate_limited", "gen_ai.usage.input_tokens": 3 });
  });

  test("says in seconds when the first piece of a stream came, counted from its sending", async () => {
    const record = await recorder();
    const span = record.telemetry.model(llmStream(), scene({ times: [0, 1_000, 1_750, 1_800, 5_000] }));
    span.sending({ messages: [], settings: {} });
    span.received?.();
    span.received?.();
    span.answered(answer);
    expect(record.span("chat gpt-5").attributes["gen_ai.response.time_to_first_chunk"]).toBe(0.75);
  });

  test("has its cost, and the request the cost of its calls and summaries in this process", async () => {
    const record = await recorder();
    const at = scene();
    const request = record.telemetry.request(asked, at);
    record.telemetry.model(llmStream(), at).answered(answer, 0.25);
    record.telemetry.model(llmStream(), at).failed(retryable, { inputTokens: 3 }, 0.5);
    record.telemetry.model(llmStream(), at).answered(answer);
    const summary = record.telemetry.summary({ range, requestId: "req_1" }, at);
    summary.answered(answer, 1);
    summary.ended();
    record.telemetry.summary({ range }, at).answered(answer, 64); // of no request
    request.suspended();
    const costs = record.spans().map(({ name, attributes }) => [name, attributes["gen_ai.usage.cost"]]);
    expect(costs).toEqual([
      ["chat gpt-5", 0.25],
      ["chat gpt-5", 0.5],
      ["chat gpt-5", undefined],
      ["chat gpt-5", 1],
      ["heddle.summarize", undefined],
      ["chat gpt-5", 64],
      ["invoke_agent support", 1.75],
    ]);
  });

  test("ends once: what fails after the answer changes nothing", async () => {
    const record = await recorder();
    const span = record.telemetry.model(llmStream(), scene());
    span.answered(answer);
    span.failed(retryable);
    expect(record.span("chat gpt-5").attributes).not.toHaveProperty("error.type");
  });

  test.each([
    ["content-filter", "content_filter"],
    ["tool-calls", "tool_call"],
    ["length", "length"],
  ] as const)("that finished with %s says so as %s", async (finishReason, told) => {
    const record = await recorder();
    record.telemetry.model(llmStream(), scene()).answered({ ...answer, finishReason });
    expect(record.span("chat gpt-5").attributes["gen_ai.response.finish_reasons"]).toEqual([told]);
  });

  test.each([
    ["openai.chat", "openai"],
    ["azure.responses", "azure.ai.openai"],
    ["anthropic.messages", "anthropic"],
    ["google.generative-ai", "gcp.gemini"],
    ["google.vertex.chat", "gcp.vertex_ai"],
    ["vertex.anthropic.messages", "gcp.vertex_ai"],
    ["amazon-bedrock", "aws.bedrock"],
    ["mistral.chat", "mistral_ai"],
    ["xai.chat", "x_ai"],
    ["my-own.chat", "my-own"],
  ])("of a model of %s names the provider %s", async (provider, name) => {
    const record = await recorder();
    record.telemetry.model(llmStream(), scene({ provider })).answered(answer);
    expect(record.span("chat gpt-5").attributes["gen_ai.provider.name"]).toBe(name);
  });
});

describe("a call of a tool", () => {
  test("has an internal span", async () => {
    const record = await recorder();
    record.telemetry.tool(toolExec(), scene()).ended(outcome({ attempts: 2 }));
    const { kind, attributes } = record.span("execute_tool weather");
    expect(kind).toBe(SpanKind.INTERNAL);
    expect({ ...attributes }).toStrictEqual({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "weather",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": "tool_1",
      "gen_ai.agent.name": "support",
      "gen_ai.conversation.id": "thread_1",
      "heddle.request.id": "req_1",
      "heddle.run.id": "run_1",
      "heddle.call.id": "call_1",
      "heddle.iteration": 1,
      "heddle.attempts": 2,
    });
  });

  test("that fails is an error with its code", async () => {
    const record = await recorder();
    const failure = { code: "tool_timeout", message: "It took too long." };
    record.telemetry.tool(toolExec(), scene()).ended(outcome({ isError: true, failure }));
    const { status, attributes } = record.span("execute_tool weather");
    expect(status.code).toBe(SpanStatusCode.ERROR);
    expect(attributes["error.type"]).toBe("tool_timeout");
  });

  test("that another process began and no process ended is an error of its own", async () => {
    const record = await recorder();
    const request = record.telemetry.request(asked, scene());
    const tool = { callId: "call_1", toolCallId: "tool_1", toolName: "weather" };
    request.event(event({ kind: "tool_interrupted", ...tool, data: {} }));
    request.event(completed);
    const { status, attributes, parentSpanContext } = record.span("execute_tool weather");
    expect(status.code).toBe(SpanStatusCode.ERROR);
    expect(attributes).toMatchObject({
      "error.type": "interrupted",
      "gen_ai.tool.call.id": "tool_1",
      "heddle.call.id": "call_1",
      "heddle.attempts": 0,
    });
    expect(parentSpanContext?.spanId).toBe(record.span("invoke_agent support").spanContext().spanId);
    const [measured] = await record.measured();
    expect(measured).toMatchObject({
      name: "gen_ai.execute_tool.duration",
      attributes: { "gen_ai.tool.name": "weather", "error.type": "interrupted" },
      count: 1,
    });
  });

  test("that the model has made up does not bring its name into traces", async () => {
    const record = await recorder();
    const failure = { code: "tool_unknown", message: "No such tool." };
    record.telemetry.tool(toolExec("call_ada_at_home"), scene()).ended(outcome({ isError: true, failure }));
    expect(record.span("execute_tool _OTHER").attributes["gen_ai.tool.name"]).toBe("_OTHER");
  });
});

describe("a request", () => {
  test("has a span of the agent, with what it cost in all", async () => {
    const record = await recorder();
    record.telemetry.request(asked, scene()).event(completed);
    const { kind, attributes, status } = record.span("invoke_agent support");
    expect(kind).toBe(SpanKind.INTERNAL);
    expect(status.code).toBe(SpanStatusCode.UNSET);
    expect({ ...attributes }).toStrictEqual({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-5",
      "gen_ai.agent.name": "support",
      "gen_ai.conversation.id": "thread_1",
      "gen_ai.usage.input_tokens": 200,
      "gen_ai.usage.output_tokens": 40,
      "heddle.request.id": "req_1",
      "heddle.run.id": "run_1",
      "heddle.request.status": "completed",
      "heddle.termination_reason": "final_answer",
    });
  });

  test("that failed is an error, one that was cancelled or suspended is none", async () => {
    const record = await recorder();
    const at = scene();
    record.telemetry.request(asked, at).event(event({ kind: "request_failed", data: { failure: retryable } }));
    record.telemetry.request(asked, at).event(event({ kind: "request_cancelled", data: { reason: "Ada left." } }));
    record.telemetry.request(asked, at).suspended();
    const ends = record.spans().map(({ status, attributes }) => ({
      code: status.code,
      status: attributes["heddle.request.status"],
      error: attributes["error.type"],
    }));
    expect(ends).toEqual([
      { code: SpanStatusCode.ERROR, status: "failed", error: "model_rate_limited" },
      { code: SpanStatusCode.UNSET, status: "cancelled", error: undefined },
      { code: SpanStatusCode.UNSET, status: "suspended", error: undefined },
    ]);
  });

  test("that failed or was cancelled has what it cost until then", async () => {
    const record = await recorder();
    const used = { usage: { inputTokens: 9, estimated: true }, usageByModel: {} } as const;
    const at = scene();
    record.telemetry.request(asked, at).event(event({ kind: "request_failed", data: { failure: retryable, ...used } }));
    record.telemetry.request(asked, at).event(event({ kind: "request_cancelled", data: { reason: "Left.", ...used } }));
    const counts = { "gen_ai.usage.input_tokens": 9, "heddle.usage.estimated": true };
    expect(record.spans().map(({ attributes }) => attributes)).toMatchObject([counts, counts]);
  });

  test("is the parent of its own model calls, tools and summaries only", async () => {
    const record = await recorder();
    const at = scene();
    const request = record.telemetry.request(asked, at);
    const other = record.telemetry.request({ requestId: "req_2", runId: "run_2" }, at);
    record.telemetry.model(llmStream(), at).answered(answer);
    record.telemetry.tool(toolExec(), at).ended(outcome());
    const summary = record.telemetry.summary({ range, requestId: "req_1" }, at);
    summary.answered(answer);
    summary.ended();
    other.event(completed);
    request.event(completed);
    const [own, others] = [spanOf(record, "req_1"), spanOf(record, "req_2")];
    expect(parentOf(record, "execute_tool weather")).toBe(own);
    expect(parentOf(record, "heddle.summarize")).toBe(own);
    expect(record.spans().filter(({ parentSpanContext }) => parentSpanContext?.spanId === others)).toEqual([]);
    const chats = record.spans().filter(({ name }) => name === "chat gpt-5");
    expect(chats.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual([
      own,
      record.span("heddle.summarize").spanContext().spanId,
    ]);
    expect(new Set(record.spans().map((span) => span.spanContext().traceId)).size).toBe(2);
  });

  test("has no children once it has ended", async () => {
    const record = await recorder();
    record.telemetry.request(asked, scene()).event(completed);
    record.telemetry.tool(toolExec(), scene()).ended(outcome());
    expect(record.span("execute_tool weather").parentSpanContext).toBeUndefined();
  });

  test("records retries, approvals and steers as events, without their content", async () => {
    const record = await recorder();
    const request = record.telemetry.request(asked, scene());
    const tool = { callId: "call_1", toolCallId: "tool_1", toolName: "weather" };
    request.event(
      event({ kind: "llm_retried", callId: "call_1", data: { failure: retryable, attempt: 1, waitMs: 500 } }),
    );
    request.event(event({ kind: "llm_delta", callId: "call_1", data: { type: "text", id: "1", text: "Ada" } }));
    request.event(event({ kind: "tool_started", ...tool, data: { arguments: { name: "Ada" } } }));
    request.event(event({ kind: "approval_requested", ...tool, data: { arguments: { name: "Ada" } } }));
    request.event(event({ kind: "approval_resolved", ...tool, data: { approved: true, by: "Ada", reason: "Ada" } }));
    request.event(event({ kind: "answer_requested", ...tool, data: { arguments: { name: "Ada" } } }));
    request.event(event({ kind: "input_injected", data: { id: "steer_1", steer: "steer", content: "Ada" } }));
    request.event(event({ kind: "output_repaired", data: { issues: ["Ada"], attempt: 1 } }));
    request.event(completed);
    const { events } = record.span("invoke_agent support");
    expect(events.map(({ name, attributes }) => [name, attributes])).toStrictEqual([
      [
        "heddle.llm_retried",
        {
          "heddle.call.id": "call_1",
          "error.type": "model_rate_limited",
          "heddle.attempt": 1,
          "heddle.wait_ms": 500,
        },
      ],
      ["heddle.approval_requested", { "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "tool_1" }],
      [
        "heddle.approval_resolved",
        { "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "tool_1", "heddle.approved": true },
      ],
      ["heddle.answer_requested", { "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "tool_1" }],
      ["heddle.input_injected", { "heddle.steer": "steer" }],
      ["heddle.output_repaired", { "heddle.attempt": 1 }],
    ]);
  });
});

const range = { fromSeq: 0, toSeq: 4, messages: [] };

describe("a summary", () => {
  test("has a span that says what it covers, around the call of the model that the policy names", async () => {
    const record = await recorder();
    const small = fake(() => [], { provider: "anthropic.messages", modelId: "small" });
    const summary = record.telemetry.summary({ range, model: "cheap" }, scene({ models: { cheap: small } }));
    summary.answered(answer);
    summary.ended();
    const covers = { "heddle.summary.from_seq": 0, "heddle.summary.to_seq": 4 };
    expect(record.span("heddle.summarize").attributes).toMatchObject(covers);
    expect(record.span("chat small").attributes).toMatchObject({ ...covers, "gen_ai.provider.name": "anthropic" });
  });

  test("that is not taken is an error, and the call that made it is none", async () => {
    const record = await recorder();
    const summary = record.telemetry.summary({ range }, scene());
    summary.answered(answer);
    summary.failed(new ThreadError({ code: "summary_not_accepted", message: "It says nothing." }));
    expect(record.span("heddle.summarize").attributes["error.type"]).toBe("summary_not_accepted");
    expect(record.span("chat gpt-5").status.code).toBe(SpanStatusCode.UNSET);
  });

  test("by a function of the application is not a model call", async () => {
    const record = await recorder();
    const summarizer = { summarize: () => Promise.resolve("") };
    record.telemetry.summary({ range }, scene({ summarizer })).failed(new TypeError("Ada"));
    expect(record.spans().map(({ name, attributes }) => [name, attributes["error.type"]])).toEqual([
      ["heddle.summarize", "_OTHER"],
    ]);
  });
});

function spanOf(record: Recorder, requestId: string): string | undefined {
  const spans = record.spans().filter(({ name }) => name === "invoke_agent support");
  return spans.find(({ attributes }) => attributes["heddle.request.id"] === requestId)?.spanContext().spanId;
}

function parentOf(record: Recorder, name: string): string | undefined {
  return record.span(name).parentSpanContext?.spanId;
}
