import type { UIMessage } from "ai";
import { type AnyTool, ok, runTool, type ToolOptions } from "heddle";
import { toUIMessages, uiMessageStream } from "heddle/ai-sdk";
import { describe, expect, test } from "vitest";
import { eventsOf, stage } from "../support/stage.ts";
import { anything, chat, chunksIn, readBySdk, readBySdk6 } from "./chat.ts";

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
    expect(JSON.stringify((await server.thread()).toArray())).not.toContain("percent");
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
