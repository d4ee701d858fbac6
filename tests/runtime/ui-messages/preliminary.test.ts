import type { UIMessage } from "ai";
import { AgentHost, type AnyTool, memoryStore, ok, runTool, suspend, type ToolOptions } from "heddle";
import { resumeTurn, toUIMessages, uiMessageStream } from "heddle/ai-sdk";
import { describe, expect, test } from "vitest";
import { eventsOf, stage } from "../support/stage.ts";
import { agentOf, anything, chat, chunksIn, readBySdk, readBySdk6 } from "./chat.ts";

const script = [{ calls: [{ name: "search" }] }, "Done."];
const call = { id: "call_1", name: "search", arguments: {} };
const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;

async function* found(counts: readonly unknown[]) {
  for (const count of counts) yield count;
}

describe("the values that a tool yields", () => {
  const search: AnyTool = {
    inputSchema: anything,
    execute: () => found([{ found: 1 }, { found: 2 }, ok(3, { details: { found: 3 } })]),
    toModelOutput: () => ({ type: "text", value: "three" }),
  };

  test("are events and preliminary outputs, and the last one is the result", async () => {
    const { server } = await chat(script, { tools: { search } });
    const request = await server.ask("Go.");
    const outputs = (await chunksIn(uiMessageStream(request))).filter(({ type }) => type === "tool-output-available");
    const whole = { type: "tool-output-available", toolCallId: "call_1" };
    expect(outputs).toEqual([
      { ...whole, output: { found: 1 }, preliminary: true },
      { ...whole, output: { found: 2 }, preliminary: true },
      { ...whole, output: { found: 3 }, preliminary: true },
      { ...whole, output: { found: 3 } },
    ]);
    // A reader that comes late gets the last one only.
    const { message, errors } = await readBySdk(uiMessageStream(request));
    expect(errors).toEqual([]);
    expect((await readBySdk6(uiMessageStream(request, { client: 6 }))).errors).toEqual([]);
    const [loaded] = toUIMessages(await server.thread()).filter(({ role }) => role === "assistant");
    const toolPart = (parts: UIMessage["parts"]) => parts.find(({ type }) => type === "tool-search");
    expect(toolPart(message.parts)).toMatchObject({ state: "output-available", output: { found: 3 } });
    expect(toolPart(message.parts)).toMatchObject(toolPart((loaded?.parts ?? []) as UIMessage["parts"]) ?? {});
    const kept = (await eventsOf(request)).filter(({ kind }) => kind === "tool_output");
    expect(kept.map(({ data, toolName }) => [data, toolName])).toEqual([[{ output: { found: 3 } }, "search"]]);
  });

  test("that cannot be JSON are not emitted, and what fails in a listener does not end the call", async () => {
    const outputs: unknown[] = [];
    const tools = { search: { inputSchema: anything, execute: () => found([cyclic, 1n, "end"]) } };
    const onOutput = (output: unknown) => {
      outputs.push(output);
      throw new Error("no");
    };
    expect(await runTool(call, { tools, onOutput })).toMatchObject({ content: "end" });
    expect(outputs).toEqual(["1", "end"]);
  });

  test("the last one of a tool that is stopped is stored, and marked", async () => {
    const on = await stage();
    const endless: AnyTool = {
      inputSchema: anything,
      async *execute(_: object, { abortSignal }: ToolOptions) {
        for (let count = 1; ; count++) {
          yield { found: count };
          if (count === 2) await new Promise((resolve) => abortSignal.addEventListener("abort", resolve));
        }
      },
    };
    const server = await on.start({ script, tools: { search: endless } });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    await on.end(server.cancel());
    await on.end(request.result.catch(() => undefined));
    const outputs = (await eventsOf(request)).flatMap((event) => (event.kind === "tool_output" ? [event.data] : []));
    expect(outputs).toEqual([{ output: { found: 2 } }]); // the one after the stop is only the result
    const result = (await on.log()).find(({ payload }) => payload["role"] === "tool");
    expect(result?.payload).toMatchObject({ partial: "cancelled", content: expect.stringContaining('{"found":3}') });
    const { message } = await readBySdk(uiMessageStream(request, { thread: () => server.thread() }));
    const output = { state: "output-available", output: { found: 3 } }; // as the preliminary ones, and without the note
    expect(message.parts).toContainEqual(expect.objectContaining(output));
    expect(toUIMessages(await server.thread()).at(-1)?.parts).toContainEqual(expect.objectContaining(output));
  });

  test.each([
    ["an object", { found: 1 }, undefined, { found: 1 }],
    ["an object that afterToolCall has changed", { found: 1 }, { found: 2 }, { found: 2 }],
    ["a text", "one", undefined, expect.stringMatching(/^one\n\[Partial result: /)],
    ["its own details", ok({ found: 1 }, { details: 7 }), undefined, 7],
  ])("of a tool that takes too long are on the page as %s", async (_, value, changed, output) => {
    const on = await stage();
    const endless: AnyTool = {
      inputSchema: anything,
      timeoutMs: 1_000,
      async *execute(_input: object, { abortSignal }: ToolOptions) {
        yield value;
        await new Promise((resolve) => abortSignal.addEventListener("abort", resolve));
      },
    };
    const afterToolCall = (_call: unknown, result: { readonly content: unknown }) => {
      const content = String(result.content).replace(JSON.stringify(value), JSON.stringify(changed ?? value));
      return { ...result, content };
    };
    const server = await on.start({ script, tools: { search: endless }, toolMaxRetries: 0, afterToolCall });
    const request = await on.end(server.ask("Go."));
    await on.end(request.result);
    const outputs = toUIMessages(await server.thread()).flatMap(({ parts }) =>
      parts.flatMap((part) => ("output" in part ? [part.output] : [])),
    );
    expect(outputs).toEqual([output]);
    const result = (await on.log()).find(({ payload }) => payload["role"] === "tool");
    expect(JSON.stringify(result?.payload["content"])).toContain("[Partial result: ");
  });
});

describe("the parts that a tool writes", () => {
  const tool = (write: (options: ToolOptions) => void): AnyTool => ({
    inputSchema: anything,
    execute: (_: object, options: ToolOptions) => {
      write(options);
      return "found";
    },
  });

  const slowTool = (write: (options: ToolOptions) => Promise<void>): AnyTool => ({
    inputSchema: anything,
    execute: (_: object, options: ToolOptions) => write(options).then(() => "found"),
  });

  test("are events and data parts of the page, and the newest of one id stays", async () => {
    const search = tool(({ write }) => {
      write({ type: "data-progress", id: "p", data: { percent: 10 } });
      write({ type: "data-progress", id: "p", data: { percent: 90 } });
      write({ type: "data-note", data: 7n, transient: true });
    });
    const { server } = await chat(script, { tools: { search } });
    const request = await server.ask("Go.");
    const { message, errors } = await readBySdk(uiMessageStream(request));
    expect(errors).toEqual([]);
    expect(message.parts.filter(({ type }) => type.startsWith("data-"))).toEqual([
      { type: "data-progress", id: "p", data: { percent: 90 } },
    ]);
    const events = (await eventsOf(request)).flatMap((event) => (event.kind === "tool_data" ? [event.data] : []));
    expect(events.map(({ id }) => id)).toEqual(["p", undefined]); // a late reader gets the newest of one id
    expect(events.at(-1)).toEqual({ type: "data-note", data: "7", transient: true });
    const results = (await server.thread()).toArray().filter(({ payload }) => payload["role"] === "tool");
    expect(results.map(({ payload }) => payload["written"])).toEqual([
      [{ type: "data-progress", id: "p", data: { percent: 90 }, event: 7, first: 6 }],
    ]);
  });

  test("have the place of their first version for a late reader too, and a transient one replaces none", async () => {
    const search = tool(({ write }) => {
      for (const percent of [10, 20]) write({ type: "data-progress", id: "p", data: percent });
      write({ type: "data-note", id: "p", data: "between" });
      for (const percent of [30, 40, 90]) write({ type: "data-progress", id: "p", data: percent });
      write({ type: "data-progress", id: "p", data: 95, transient: true });
    });
    const { server } = await chat(script, { tools: { search } });
    const request = await server.ask("Go.");
    await request.result;
    const events = (await eventsOf(request)).flatMap((event) => (event.kind === "tool_data" ? [event.data.data] : []));
    expect(events).toEqual([20, "between", 90, 95]);
    const { message } = await readBySdk(uiMessageStream(request));
    expect(message.parts).toEqual(toUIMessages(await server.thread()).at(-1)?.parts);
    expect(message.parts.flatMap((part) => ("data" in part ? [part.data] : []))).toEqual([90, "between"]);
  });

  test("come back once after a restart, also those before a question, and no model is shown them", async () => {
    const store = memoryStore();
    const ask: AnyTool = {
      inputSchema: anything,
      answerSchema: anything,
      execute: (_: object, { write, answer }: ToolOptions) => {
        write({ type: "data-step", data: answer === undefined ? "asks" : "knows" });
        return answer === undefined ? suspend({ which: "one?" }) : "found";
      },
    };
    const shown: unknown[] = [];
    const told = { text: "Done.", expect: (sent: unknown) => shown.push(sent) > 0 };
    const config = { tools: { search: ask } };
    const first = AgentHost.create({ agent: agentOf(script, config), store, warn: () => undefined });
    const request = await first.ask("t", "Go.");
    await request.settled();
    await first.stop();
    const host = AgentHost.create({ agent: agentOf([told], config), store, warn: () => undefined });
    const turn = (await resumeTurn(host, "t")) ?? expect.fail("it is open");
    await host.answer("t", "call_1", {});
    const { message, errors } = await readBySdk(uiMessageStream(turn.request, { thread: turn.thread }));
    expect(errors).toEqual([]);
    expect(message.parts.filter(({ type }) => type.startsWith("data-"))).toMatchObject([
      { type: "data-step", data: "asks" },
      { type: "data-question", data: { question: { which: "one?" } } },
      { type: "data-step", data: "knows" },
    ]);
    expect(toUIMessages(await host.thread("t")).at(-1)?.parts).toEqual(message.parts);
    const again = (await resumeTurn(host, "t", { messageId: request.id })) ?? expect.fail("it is known");
    expect((await readBySdk(uiMessageStream(again.request, { thread: again.thread }))).message).toEqual(message);
    expect(JSON.stringify(shown)).not.toContain("data-step");
    await host.stop();
  });

  test("of calls that run at the same time keep their order", async () => {
    const turns = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const tools = {
      first: slowTool(async ({ write }) => {
        write({ type: "data-step", data: 1 });
        write({ type: "data-sum", id: "sum", data: 1 });
        turns[0].resolve();
        await turns[1].promise;
        write({ type: "data-step", data: 3 });
      }),
      second: slowTool(async ({ write }) => {
        await turns[0].promise;
        write({ type: "data-step", data: 2 });
        write({ type: "data-sum", id: "sum", data: 3 });
        turns[1].resolve();
      }),
    };
    const { server } = await chat([{ calls: [{ name: "first" }, { name: "second" }] }, "Done."], { tools });
    const { message } = await readBySdk(uiMessageStream(await server.ask("Go.")));
    const data = message.parts.flatMap((one) => ("data" in one ? [one.data] : []));
    expect(data).toEqual([1, 3, 2, 3]);
    expect(toUIMessages(await server.thread()).at(-1)?.parts).toEqual(message.parts);
  });

  test("are stored up to 8 MiB of a call", async () => {
    const big = "x".repeat(5 * 1024 * 1024);
    const search = tool(({ write }) => {
      write({ type: "data-a", id: "a", data: big });
      write({ type: "data-b", id: "b", data: big });
      write({ type: "data-a", id: "a", data: "small" });
      write({ type: "data-b", id: "b", data: big });
    });
    const { server } = await chat(script, { tools: { search } });
    await (await server.ask("Go.")).result;
    const parts = toUIMessages(await server.thread()).at(-1)?.parts ?? [];
    expect(parts.flatMap((one) => (one.type.startsWith("data-") && "data" in one ? [one.data] : []))).toEqual([
      "small",
      big,
    ]);
  });

  test.each([
    ["no part", undefined],
    ["another type", { type: "text", data: 1 }],
    ["no data", { type: "data-x" }],
    ["an id that is no text", { type: "data-x", id: 1, data: 1 }],
  ])("are refused when they are %s", async (_, part) => {
    const search = tool(({ write }) => write(part as never));
    const onData = () => expect.unreachable();
    const { failure } = await runTool(call, { tools: { search }, onData });
    expect(failure).toMatchObject({ code: "invalid_options", message: expect.stringContaining("data-<name>") });
  });
});
