import { AgentHost, AgentServer, defineAgent, memoryStore, Thread, type ThreadStore } from "heddle";
import { recordedCall } from "heddle/core";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { anything, eventsOf, failureOf, stage } from "../support/stage.ts";

const look = { inputSchema: anything, execute: () => "seen" };
const LOOK = { calls: [{ id: "c1", name: "look" }], usage: { inputTokens: 10, outputTokens: 2 } };
const DOWN = { error: { status: 401 } } as never;
const ANSWER = { text: "Seen.", usage: { inputTokens: 30, outputTokens: 5 } };

describe("the usage of a request that did not complete", () => {
  test("is in its error and its last event, and in the log for another process", async () => {
    const on = await stage();
    const server = await on.start({ script: [LOOK, DOWN, LOOK, { hang: true }], tools: { look }, modelMaxRetries: 0 });
    const failed = await on.end(server.ask("Look."));
    const error = await on.end(failureOf(failed.result));
    expect(error.usage).toMatchObject({ inputTokens: 10, outputTokens: 2 });
    expect(Object.keys(error.usageByModel ?? {})).toHaveLength(1);
    expect((await eventsOf(failed)).at(-1)?.data).toMatchObject({ usage: error.usage });
    const cancelled = await on.end(server.ask("Look again."));
    for await (const { kind } of cancelled.events()) if (kind === "tool_completed") break;
    await on.end(server.cancel());
    expect((await on.end(failureOf(cancelled.result))).usage).toMatchObject({ inputTokens: 10, outputTokens: 2 });
    await on.end(server.stop());
    const later = await on.start({ tools: { look } });
    expect((await on.end(failureOf(later.result(failed.id)))).usage).toEqual(error.usage);
    await on.end(later.stop());
  });
});

const stores: readonly (readonly [string, () => ThreadStore])[] = [
  ["memory", memoryStore],
  ["SQLite", () => sqliteStore(fastFile())],
];

for (const [name, open] of stores)
  test(`the usage of a thread in ${name} is that of all its requests, with their cost`, async () => {
    const store = open();
    const model = scriptedModel([LOOK, ANSWER, DOWN]);
    const limits = { maxCostUsd: 1, costUsd: ({ inputTokens = 0 }) => inputTokens / 1000 };
    const host = AgentHost.create({
      agent: defineAgent({ model, tools: { look }, limits, modelMaxRetries: 0 }),
      store,
    });
    expect(await host.usage("t")).toMatchObject({ asks: 0, usage: {}, costUsd: 0 });
    await (await host.ask("t", "Look.")).result;
    await failureOf((await host.ask("t", "Again.")).result);
    const { asks, usage, costUsd, usageByModel } = await host.usage("t");
    expect([asks, usage.inputTokens, usage.outputTokens, costUsd]).toEqual([2, 40, 7, 0.04]);
    expect(Object.values(usageByModel)[0]).toMatchObject({ inputTokens: 40 });
    expect(await (await host.get("t")).usage()).toEqual(await host.usage("t"));
    await host.stop();
    await store.close();
  });

test.each([-1, Number.NaN, Number.NEGATIVE_INFINITY])("a cost of %s is unknown, and is not added", async (price) => {
  const agent = defineAgent({ model: scriptedModel([ANSWER]), limits: { costUsd: () => price } });
  const server = await AgentServer.start({ agent, store: memoryStore(), threadId: "t" });
  await (await server.ask("Go.")).result;
  const { asks, costUsd } = await server.usage();
  expect([asks, costUsd]).toEqual([1, undefined]);
  await server.stop();
});

for (const [name, open] of stores)
  test(`the usage of an answer that was stopped is estimated and marked, in ${name}`, async () => {
    const store = open();
    const said = "The answer was long, and it was stopped before its end.";
    const limits = { costUsd: ({ inputTokens = 0, outputTokens = 0 }) => inputTokens + outputTokens };
    const model = scriptedModel([{ text: said, hang: true }, { hang: true }, ANSWER]);
    const agent = defineAgent({ model, limits, contextPolicy: { tokenEstimator: "calibrated" } });
    const server = await AgentServer.start({ agent, store, threadId: "t" });
    const stopped = await server.ask("Talk.");
    for await (const { kind } of stopped.events()) if (kind === "llm_delta") break;
    await server.cancel();
    const { usage = {}, usageByModel = {} } = await failureOf(stopped.result);
    const record = (await server.thread())
      .toArray()
      .map(recordedCall)
      .find((call) => call !== undefined);
    expect(usage).toEqual({ inputTokens: record?.estimatedTokens, outputTokens: 13, estimated: true });
    expect([record?.usage, Object.values(usageByModel)]).toEqual([usage, [usage]]);
    const total = (usage.inputTokens ?? 0) + 13;
    expect(await server.usage()).toMatchObject({ asks: 1, usage: { outputTokens: 13 }, costUsd: total });
    // Before the first word nothing is estimated.
    const silent = await server.ask("Talk again.");
    for await (const { kind } of silent.events()) if (kind === "llm_started") break;
    await server.cancel();
    expect((await failureOf(silent.result)).usage).toEqual({});
    // The next request has the counts of the provider only, and its estimate is not calibrated by estimates.
    const { usage: own, calls } = await (await server.ask("And?")).result;
    expect(own).toMatchObject({ inputTokens: 30, outputTokens: 5 });
    expect([own.estimated, calls.length]).toEqual([undefined, 1]);
    expect((await server.thread()).toArray().map(recordedCall).at(-1)?.calibration).toBe(1);
    await server.stop();
    await store.close();
  });

for (const [name, open] of stores)
  test(`an estimated usage does not calibrate the counter, also in the next process, in ${name}`, async () => {
    const on = await stage({ store: open() });
    const config = { contextPolicy: { tokenEstimator: "calibrated" }, name: "a" } as const;
    const first = await on.start({ ...config, script: [{ text: "Words", hang: true }] });
    const stopped = await on.end(first.ask("Talk."));
    await on.settled();
    await on.end(first.cancel());
    expect((await failureOf(on.end(stopped.result))).usage?.estimated).toBe(true);
    await on.end(first.stop());
    const usage = { inputTokens: 60, outputTokens: 5 };
    const second = await on.start({ ...config, script: [{ text: "One.", usage }, "Two."] });
    for (const text of ["One?", "Two?"]) await on.end((await on.end(second.ask(text))).result);
    const [, one, two] = (await on.log()).flatMap((entry) => recordedCall(entry) ?? []);
    expect(one?.calibration).toBe(1);
    expect(two?.calibration).toBeCloseTo(60 / (one?.estimatedTokens ?? 0), 3);
    await on.end(second.stop());
  });

test("a thread without sums of the store is added up from its log", async () => {
  const store = memoryStore();
  const agent = defineAgent({ model: scriptedModel([LOOK, ANSWER]), tools: { look } });
  const first = AgentHost.create({ agent, store });
  await (await first.ask("t", "Look.")).result;
  const copy = memoryStore();
  await copy.save((await store.load("t")) ?? Thread.create());
  const second = AgentHost.create({ agent, store: copy });
  expect(await copy.usage({ threadId: "t" })).toEqual([]);
  expect(await second.usage("t")).toMatchObject({ asks: 1, usage: { inputTokens: 40, outputTokens: 7 } });
  await first.stop();
  await second.stop();
});

test("the facts about the context are in llm_started, and there without a call", async () => {
  const on = await stage();
  const contextPolicy = { maxInputTokens: 400, reserveOutputTokens: 100, keepLastTurns: 1 };
  const server = await on.start({ script: ["One.", "Two."], contextPolicy });
  expect((await server.view()).truncated).toBe(false);
  await on.end((await on.end(server.ask("1? ".repeat(300)))).result);
  const request = await on.end(server.ask("2? ".repeat(100)));
  const events = await on.end(eventsOf(request));
  const started = events.find(({ kind }) => kind === "llm_started");
  expect(started?.data).toMatchObject({ meta: { truncated: true, needsSummary: true, boundary: 1 } });
  const { truncated, needsSummary, budget } = await server.view();
  expect([truncated, needsSummary, budget.available > 0]).toEqual([true, true, true]);
  const before = (await on.log()).length;
  const host = AgentHost.create({ agent: defineAgent({ model: scriptedModel([]), contextPolicy }), store: on.store });
  expect(await host.view(on.threadId)).toMatchObject({ truncated, needsSummary });
  expect((await on.log()).length).toBe(before);
  await on.end(server.stop());
  await host.stop();
});
