import { memoryStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { type ScriptedStep, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { fastFile } from "../../support/temp-folder.ts";
import { anything, failureOf, proveAll, type Stage, stage } from "../support/stage.ts";

const find = { inputSchema: anything, execute: () => "found" };
const NODE = { holder: "node" };

/** A model of a script, and the options that each of its calls had, without the prompt. */
function recorded(on: Stage, script: readonly ScriptedStep[]) {
  const model = scriptedModel(script, { after: on.ports.after });
  const options = () => model.requests.map(({ options: { prompt: _prompt, tools: _tools, ...rest } }) => rest);
  return { model, options };
}

const SETTINGS = {
  maxOutputTokens: 500,
  temperature: 0.2,
  topP: 0.9,
  stopSequences: ["END"],
  seed: 7,
  reasoning: "high",
} as const;

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("settings of an ask on %s", (_name, open) => {
  test("hold for each of its calls, before those of the agent, and not for the next request", async () => {
    const on = await stage({ store: open() });
    const { model, options } = recorded(on, [{ calls: [{ name: "find" }] }, "Found.", "Plain."]);
    const own = { temperature: 1, providerOptions: { openai: { user: "ann" }, other: { a: 1, b: 1 } } };
    const server = await on.start({ model, tools: { find }, ...own });
    const asked = { ...SETTINGS, providerOptions: { other: { b: 2 } } };
    await on.end((await on.end(server.ask("Go.", asked))).result);
    await on.end((await on.end(server.ask("More."))).result);
    const merged = { openai: { user: "ann" }, other: { a: 1, b: 2 } };
    expect(options()).toMatchObject([
      { ...SETTINGS, providerOptions: merged },
      { ...SETTINGS, providerOptions: merged },
      { temperature: 1, providerOptions: own.providerOptions },
    ]);
    expect(options()[2]).not.toHaveProperty("seed");
    expect((await on.log())[0]?.payload).toMatchObject({ options: { call: asked } });
    expect(on.warnings).toEqual([]);
    expect(await proveAll(on.store, on.threadId)).toBe(3);
  });

  test("an output of its own is asked for, checked and typed, and the next request has that of the agent", async () => {
    const on = await stage({ store: open() });
    const script = ["None.", '{"elements":["Bern","Oslo"]}', '{"sum":4}'];
    const { model, options } = recorded(on, script);
    const server = await on.start({ model, output: z.object({ sum: z.number() }) });
    const asked = await on.end(server.ask("Which cities?", { output: z.array(z.string().toUpperCase()) }));
    const { object } = await on.end(asked.result);
    expect(object).toEqual(["BERN", "OSLO"]);
    expect((await on.end((await on.end(server.ask("2+2?"))).result)).object).toEqual({ sum: 4 });
    const elements = { type: "array", items: { type: "string" } };
    const list = { type: "json", schema: { type: "object", properties: { elements }, required: ["elements"] } };
    expect(options()).toMatchObject([
      { responseFormat: list },
      { responseFormat: list },
      { responseFormat: { schema: { properties: { sum: { type: "number" } } } } },
    ]);
    expect((await on.log())[0]?.payload).toMatchObject({ options: { output: elements } });
    expect((await on.end(server.result(asked.id))).object).toEqual(["Bern", "Oslo"]); // by the stored JSON Schema
    expect(await proveAll(on.store, on.threadId)).toBe(3);
  });

  test("an output of its own holds in the process that takes the request over", async () => {
    const on = await stage({ store: open() });
    const hanging = recorded(on, [{ hang: true }]);
    const first = await on.start({ model: hanging.model }, NODE);
    const { id } = await on.end(first.ask("Which cities?", { output: z.array(z.string()) }));
    const { model } = recorded(on, ['{"elements":[1]}', '{"elements":["Bern"]}']);
    const second = await on.start({ model }, NODE);
    expect((await on.end(second.result(id))).object).toEqual(["Bern"]);
    expect(model.requests).toHaveLength(2); // the first answer was sent back
  });

  test("hold in the process that takes the request over", async () => {
    const on = await stage({ store: open() });
    const hanging = recorded(on, [{ hang: true }]);
    const first = await on.start({ model: hanging.model }, NODE);
    const { id } = await on.end(first.ask("Go.", { ...SETTINGS, limits: { maxTokens: 1 } }));
    const { model, options } = recorded(on, [{ calls: [{ name: "find" }] }, "Not asked."]);
    const second = await on.start({ model, tools: { find }, limits: { maxTokens: 1_000_000 } }, NODE);
    expect((await on.end(second.result(id))).terminationReason).toBe("limit");
    expect(options()).toMatchObject([SETTINGS]);
    expect(hanging.options()).toMatchObject([SETTINGS]);
    await proveAll(on.store, on.threadId);
  });

  test("that force a tool hold for the first call, also where the request was taken over", async () => {
    const on = await stage({ store: open() });
    const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
    const first = recorded(on, [{ calls: [{ name: "pay" }] }]);
    const before = await on.start({ model: first.model, tools: { find, pay } }, NODE);
    const { id } = await on.end(before.ask("Go.", { toolChoice: { tool: "pay" } }));
    await on.settled();
    await on.end(before.stop());
    const second = recorded(on, ["Done."]);
    const after = await on.start({ model: second.model, tools: { find, pay } }, NODE);
    await on.end(after.approve("call_1"));
    expect((await on.end(after.result(id))).text).toBe("Done.");
    expect(first.options()).toMatchObject([{ toolChoice: { type: "tool", toolName: "pay" } }]);
    expect(second.options()[0]?.["toolChoice"]).toBeUndefined();
    await proveAll(on.store, on.threadId);
  });
});

test("a choice of an ask that forbids tools holds for all of its calls, and a forced tool of the agent comes back", async () => {
  const on = await stage();
  const { model, options } = recorded(on, [{ calls: [{ name: "find" }] }, "One.", "Two."]);
  const server = await on.start({ model, tools: { find }, toolChoice: "none" });
  await on.end((await on.end(server.ask("Go.", { toolChoice: "required" }))).result);
  await on.end((await on.end(server.ask("More.", { toolChoice: "auto" }))).result);
  expect(options().map(({ toolChoice }) => toolChoice)).toEqual([
    { type: "required" },
    { type: "none" },
    { type: "auto" },
  ]);
});

test("limits of an ask count the cost with the agent's prices, and replace its limits one by one", async () => {
  const on = await stage();
  const script = [1, 2, 3, 4].map(() => ({ calls: [{ name: "find" }], usage: { inputTokens: 10, outputTokens: 0 } }));
  const limits = { maxTokens: 25, maxCostUsd: 1000, costUsd: () => 5 };
  const server = await on.start({ script: [...script, "End."], tools: { find }, limits });
  const first = await on.end((await on.end(server.ask("Go.", { limits: { maxCostUsd: 5 } }))).result);
  expect([first.terminationReason, first.calls.length]).toEqual(["limit", 1]);
  const second = await on.end((await on.end(server.ask("Go on.", { limits: { maxCostUsd: 2000 } }))).result);
  expect([second.terminationReason, second.calls.length]).toEqual(["limit", 3]);
});

test.each([
  ["temperature", "hot", "temperature must be a number."],
  ["topP", 2, "topP must be a number above 0, to 1."],
  ["stopSequences", "END", "stopSequences must be a list of texts."],
  ["seed", 0.5, "seed must be a whole number."],
  ["maxOutputTokens", 0, "maxOutputTokens must be a whole number from 1."],
  ["reasoning", "much", "reasoning must be"],
  ["toolChoice", "all", "toolChoice must be"],
  ["providerOptions", [], "providerOptions must be a plain object."],
  ["limits", { maxCostUsd: 1 }, "limits needs a maxCostUsd above 0 and costUsd"],
  ["limits", { costUsd: () => 1 }, "limits of an ask must be"],
  ["limits", { maxToken: 1 }, "limits has no field maxToken"],
])("an ask with a wrong %s is refused, and the thread is as it was", async (name, value, message) => {
  const on = await stage();
  const server = await on.start({ script: ["Ok."] });
  const error = await failureOf(on.end(server.ask("Go.", { [name]: value } as never)));
  expect(error).toMatchObject({ code: "invalid_options", message: expect.stringContaining(message) });
  expect(await on.log()).toEqual([]);
});

test("a tool that an ask forces must be one of the request", async () => {
  const on = await stage();
  const server = await on.start({ script: [], tools: { find } });
  const error = await failureOf(on.end(server.ask("Go.", { toolChoice: { tool: "fnd" } })));
  expect(error).toMatchObject({ code: "unknown_tool" });
});

test("the space for the answer is that of the ask", async () => {
  const on = await stage();
  const server = await on.start({ script: ["Ok."], contextPolicy: { maxInputTokens: 20_000 } });
  const words = "word ".repeat(2_200);
  const error = await failureOf(on.end(server.ask(words, { maxOutputTokens: 19_000 })));
  expect(error.code).toBe("pending_overflow");
  expect((await on.end((await on.end(server.ask(words, { maxOutputTokens: 100 }))).result)).text).toBe("Ok.");
});
