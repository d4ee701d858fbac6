import { type AnyAgent, agentTool, memoryStore, type ThreadStore } from "heddle";
import type { TitleOptions } from "heddle/core";
import { type ScriptedAnswer, type ScriptedStep, scriptedModel } from "heddle/testing";
import { expect, test, vi } from "vitest";
import { agentOf, house, PAY } from "./support/hosts.ts";

const infoOf = async (store: ThreadStore, id = "t") => (await store.list()).threads.find((one) => one.id === id);

/** Asks once, and waits until the host has no more title to write. */
async function asked(titles: boolean | TitleOptions, script: Parameters<typeof agentOf>[0], agent?: AnyAgent) {
  const at = await house();
  const host = at.host({ agent: agent ?? agentOf(script), titles });
  const ask = async (content: string) => {
    const result = await at.end((await at.end(host.ask("t", content))).result);
    await at.settled();
    return result;
  };
  return { ...at, running: host, ask };
}

test("a thread has a title after its first answer, and its model call is in the log", async () => {
  const agent = agentOf(["It is sunny in Bern.", '"Weather in Bern."\n', "And cold."]);
  const { store, running, ask, end } = await asked(true, [], agent);
  await ask("How is the weather in Bern?");
  await vi.waitFor(async () => expect((await infoOf(store))?.title).toBe("Weather in Bern"));
  const entries = (await store.load("t"))?.toArray() ?? [];
  expect(entries.filter(({ kind }) => kind === "note").map(({ payload }) => payload)).toEqual([
    {
      title: "Weather in Bern",
      call: expect.objectContaining({ model: "scripted:scripted-model", usage: expect.anything() }),
    },
  ]);
  expect((await end(running.usage("t"))).asks).toBe(1);
  expect(Object.values((await store.usage({ threadId: "t" }))[0]?.models ?? []).map(({ calls }) => calls)).toEqual([2]);
  expect((await ask("And the temperature?")).text).toBe("And cold."); // no second title
  expect((await store.load("t"))?.toArray().filter(({ kind }) => kind === "note")).toHaveLength(1);
  expect((await running.explain("t")).map(({ status }) => status)).toEqual([
    "shown",
    "shown",
    "not_projectable",
    "shown",
  ]);
  await end(running.stop());
});

test("an answer does not wait for the title", async () => {
  const write = () => new Promise<string>(() => undefined);
  const { store, running, ask, end } = await asked({ write }, ["One.", "Two."]);
  expect((await ask("1?")).text).toBe("One.");
  expect((await ask("2?")).text).toBe("Two.");
  expect((await infoOf(store))?.title).toBeUndefined();
  await end(running.stop());
});

test("the title of a person wins, whenever it comes", async () => {
  const written = Promise.withResolvers<string>();
  const { store, running, ask, end, warnings } = await asked({ write: () => written.promise }, ["One.", "Two."]);
  await ask("1?");
  await store.append("t", [], { metadata: { title: "Mine" } });
  written.resolve("Generated");
  await vi.waitFor(async () => expect((await infoOf(store))?.metadata["generatedTitle"]).toBe("Generated"));
  expect((await infoOf(store))?.title).toBe("Mine");
  await ask("2?");
  expect((await infoOf(store))?.title).toBe("Mine");
  expect(warnings).toEqual([]);
  await end(running.stop());
});

test.each<[trouble: string, write: () => string | Promise<string>]>([
  ["throws", () => Promise.reject(new Error("no words"))],
  ["gives nothing", () => ' "" '],
  ["gives no text", () => ({}) as string],
])("a writer that %s is a warning, and the next answer tries again", async (_trouble, write) => {
  const written = vi.fn<() => string | Promise<string>>(() => "Numbers").mockImplementationOnce(write);
  const { store, running, ask, end, warnings } = await asked({ write: written }, ["One.", "Two."]);
  expect((await ask("1?")).text).toBe("One.");
  await vi.waitFor(() => expect(warnings).toEqual([expect.stringContaining("Thread t has no title yet")]));
  await ask("2?");
  await vi.waitFor(async () => expect((await infoOf(store))?.title).toBe("Numbers"));
  await end(running.stop());
});

test("a failed, cancelled or waiting request gives no title, and another model can write it", async () => {
  const model = scriptedModel(["A payment"]);
  const tools = { pay: { inputSchema: { type: "object" }, needsApproval: true, execute: () => "paid" } };
  const agent = agentOf([PAY, "Done."], { tools });
  const { store, running, ask: _ask, end } = await asked({ model, instructions: "Two words." }, [], agent);
  const request = await end(running.ask("t", "Pay."));
  for await (const _event of request.events({ until: "waiting" }));
  expect(model.requests).toHaveLength(0);
  await end(running.approve("t", "call_p"));
  await end(request.result);
  await vi.waitFor(async () => expect((await infoOf(store))?.title).toBe("A payment"));
  expect(model.requests).toMatchObject([{ system: "Two words.", lastUser: "User: Pay.\n\nAssistant: Done." }]);
  await end(running.stop());
});

test("an agent whose model is a function needs a model for titles", async () => {
  const agent = agentOf([], { model: () => scriptedModel(["One."]) });
  const functional = { ...agent, model: () => scriptedModel(["One."]) } as AnyAgent;
  const { running, ask, end, warnings } = await asked(true, [], functional);
  await ask("1?");
  await vi.waitFor(() => expect(warnings.join()).toContain("titles: { model }"));
  await end(running.stop());
});

test.each([
  [{ titles: "yes" }, "titles must be"],
  [{ titles: { mode: "x" } }, "mode"],
  [{ titles: { write: 1 } }, "titles.write must be"],
])("wrong options are refused: %o", async (options, message) => {
  const { host } = await house(memoryStore());
  expect(() => host({ agent: agentOf([]), ...(options as object) })).toThrow(message);
});

/** A thread that was answered, and whose title the model is writing. */
async function titling(...script: readonly ScriptedStep[]) {
  const model = scriptedModel(script);
  const at = await asked({ model }, ["Four."]);
  await at.ask("2+2?");
  expect(model.requests).toHaveLength(1);
  const calls = async () =>
    (await at.store.usage({ threadId: "t" }))[0]?.models.reduce((sum, one) => sum + one.calls, 0);
  return { ...at, calls };
}

test("a stop waits for a title that is being written", async () => {
  const written = Promise.withResolvers<ScriptedAnswer>();
  const { store, running, end, calls } = await titling(() => written.promise);
  const stopped = end(running.stop());
  written.resolve({ text: "A sum" });
  await stopped;
  expect((await infoOf(store))?.title).toBe("A sum");
  expect(await calls()).toBe(2);
});

test.each([0, 200])("a title that a stop with a grace of %s ms cuts has estimates in the log", async (graceMs) => {
  const { store, running, end, calls, warnings } = await titling({ text: "A sum of", hang: true });
  await end(running.stop({ graceMs }));
  expect((await infoOf(store))?.title).toBeUndefined();
  const notes = (await store.load("t"))?.toArray().filter(({ kind }) => kind === "note");
  const usage = { inputTokens: expect.any(Number), outputTokens: 2, estimated: true };
  const call = { model: "scripted:scripted-model", usage, finishReason: "error" };
  expect(notes?.map(({ payload }) => payload)).toEqual([{ call }]);
  expect([await calls(), warnings]).toEqual([2, []]);
});

test("a title without its first word is no usage, and a stop does not wait for it without end", async () => {
  const { store, running, end, calls } = await titling({ hang: true });
  await end(running.stop());
  expect((await store.load("t"))?.rev).toBe(2);
  expect(await calls()).toBe(1);
});

test("the call of a title that is empty is counted too", async () => {
  const { running, end, calls, warnings } = await titling("***");
  await vi.waitFor(() => expect(warnings).toEqual([expect.stringContaining("The title is empty.")]));
  expect(await calls()).toBe(2);
  await end(running.stop());
});

test("the threads that an agent's tool makes get no title", async () => {
  const child = agentOf(["Fine."], { name: "child" });
  const tools = { review: agentTool(child, { description: "Reviews" }) };
  const lead = agentOf([{ calls: [{ name: "review", arguments: { task: "x" } }] }, "All is fine."], { tools });
  const title = scriptedModel(["A review"]);
  const { store, running, ask, end, warnings } = await asked({ model: title }, [], lead);
  await ask("Review it.");
  await end(running.stop());
  const rows = (await store.list({ order: "id" })).threads.map((row) => [row.metadata["parent"], row.title]);
  expect(rows).toEqual([
    ["t", undefined],
    [undefined, "A review"],
  ]);
  expect([title.requests.length, warnings]).toEqual([1, []]);
});
