import { describe, expect, test } from "vitest";
import { recorder } from "./support/recorder.ts";
import { answer, asked, completed, event, llmStream, outcome, scene, toolExec } from "./support/scene.ts";

const chat = {
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": "openai",
  "gen_ai.request.model": "gpt-5",
} as const;

describe("what is measured", () => {
  test("of a model call is its time and its tokens, by type", async () => {
    const record = await recorder();
    record.telemetry.model(llmStream(), scene({ times: [1_000, 3_500] })).answered(answer);
    const said = { ...chat, "gen_ai.response.model": "gpt-5-2026" };
    expect(await record.measured()).toStrictEqual([
      { name: "gen_ai.client.operation.duration", attributes: said, count: 1, sum: 2.5 },
      {
        name: "gen_ai.client.token.usage",
        attributes: { ...said, "gen_ai.token.type": "input" },
        count: 1,
        sum: 100,
      },
      {
        name: "gen_ai.client.token.usage",
        attributes: { ...said, "gen_ai.token.type": "output" },
        count: 1,
        sum: 20,
      },
    ]);
  });

  test("of a stream is the time to its first piece, and to each further one", async () => {
    const record = await recorder();
    const span = record.telemetry.model(llmStream(), scene({ times: [0, 1_000, 1_750, 1_800, 2_000, 9_000] }));
    span.received?.(); // before it was sent: nothing to count from
    span.sending({ messages: [], settings: {} });
    span.received?.();
    span.received?.();
    span.received?.();
    span.answered({ ...answer, usage: {} });
    span.received?.();
    expect((await record.measured()).filter(({ name }) => name.includes("chunk"))).toStrictEqual([
      { name: "gen_ai.client.operation.time_to_first_chunk", attributes: chat, count: 1, sum: 0.75 },
      { name: "gen_ai.client.operation.time_per_output_chunk", attributes: chat, count: 2, sum: 0.25 },
    ]);
  });

  test("of a call is its cost, also of one that failed", async () => {
    const record = await recorder();
    const failure = { code: "model_overloaded", message: "Too busy." };
    record.telemetry.model(llmStream(), scene()).answered(answer, 0.25);
    record.telemetry.model(llmStream(), scene()).failed(failure, { inputTokens: 9 }, 0.5);
    expect((await record.measured()).filter(({ name }) => name === "gen_ai.usage.cost")).toStrictEqual([
      {
        name: "gen_ai.usage.cost",
        attributes: { ...chat, "gen_ai.response.model": "gpt-5-2026" },
        count: 1,
        sum: 0.25,
      },
      { name: "gen_ai.usage.cost", attributes: { ...chat, "error.type": "model_overloaded" }, count: 1, sum: 0.5 },
    ]);
  });

  test("of tokens leaves estimates out", async () => {
    const record = await recorder();
    record.telemetry.model(llmStream(), scene()).answered({ ...answer, usage: { inputTokens: 9, estimated: true } });
    expect((await record.measured()).map(({ name }) => name)).toEqual(["gen_ai.client.operation.duration"]);
    expect(record.span("chat gpt-5").attributes["heddle.usage.estimated"]).toBe(true);
  });

  test("of tokens is what the provider reported, and nothing when it reported nothing", async () => {
    const record = await recorder();
    record.telemetry.model(llmStream(), scene()).answered({ ...answer, usage: {} });
    expect((await record.measured()).map(({ name }) => name)).toEqual(["gen_ai.client.operation.duration"]);
  });

  test("says nothing of what it does not know", async () => {
    const record = await recorder();
    const { response: _, ...bare } = answer;
    record.telemetry.model(llmStream(), scene()).answered(bare);
    const said = (await record.measured()).map(({ attributes }) => Object.keys(attributes).sort());
    const keys = Object.keys(chat).sort();
    expect(said).toEqual([keys, [...keys, "gen_ai.token.type"], [...keys, "gen_ai.token.type"]]);
  });

  test("of a failed call is its time, by its code, and the tokens that were used until then", async () => {
    const record = await recorder();
    const failure = { code: "model_overloaded", message: "Too busy." };
    record.telemetry.model(llmStream(), scene()).failed(failure, { inputTokens: 9 });
    const said = { ...chat, "error.type": "model_overloaded" };
    expect(await record.measured()).toMatchObject([
      { name: "gen_ai.client.operation.duration", attributes: said, count: 1 },
      { name: "gen_ai.client.token.usage", attributes: { ...said, "gen_ai.token.type": "input" }, sum: 9 },
    ]);
  });

  test("is counted once, whatever is emitted after the end", async () => {
    const record = await recorder();
    const failure = { code: "model_aborted", message: "Stopped." };
    const span = record.telemetry.model(llmStream(), scene());
    span.failed(failure, { inputTokens: 9 });
    span.failed(failure, { inputTokens: 9 });
    span.answered(answer);
    expect((await record.measured()).map(({ count }) => count)).toEqual([1, 1]);
  });

  test("of a tool is its time, by name and by the code of its failure", async () => {
    const record = await recorder();
    const failure = { code: "tool_failed", message: "No." };
    record.telemetry.tool(toolExec(), scene({ times: [0, 250] })).ended(outcome());
    record.telemetry.tool(toolExec("made_up"), scene()).ended(outcome({ isError: true, failure }));
    const said = { "gen_ai.tool.type": "function", "gen_ai.agent.name": "support" };
    expect(await record.measured()).toStrictEqual([
      {
        name: "gen_ai.execute_tool.duration",
        attributes: { ...said, "gen_ai.tool.name": "weather" },
        count: 1,
        sum: 0.25,
      },
      {
        name: "gen_ai.execute_tool.duration",
        attributes: { ...said, "gen_ai.tool.name": "_OTHER", "error.type": "tool_failed" },
        count: 1,
        sum: 0,
      },
    ]);
  });

  test("of a request is its time, unless it continues in another process", async () => {
    const record = await recorder();
    const failure = { code: "request_timeout", message: "Too long." };
    record.telemetry.request(asked, scene({ times: [0, 4_000] })).event(completed);
    record.telemetry.request(asked, scene()).event(event({ kind: "request_failed", data: { failure } }));
    record.telemetry.request(asked, scene()).suspended();
    const agent = { "gen_ai.agent.name": "support" };
    expect(await record.measured()).toStrictEqual([
      { name: "gen_ai.invoke_agent.duration", attributes: agent, count: 1, sum: 4 },
      {
        name: "gen_ai.invoke_agent.duration",
        attributes: { ...agent, "error.type": "request_timeout" },
        count: 1,
        sum: 0,
      },
    ]);
  });

  test("never runs backwards when the clock does", async () => {
    const record = await recorder();
    record.telemetry.tool(toolExec(), scene({ times: [9_000, 1_000] })).ended(outcome());
    expect(await record.measured()).toMatchObject([{ sum: 0 }]);
  });
});
