import { AgentHost, type AskCommand, defineAgent, type JsonObject, memoryStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { stage, told } from "../support/stage.ts";

const NODE = { holder: "node" };
const post = (id: string, more: Partial<AskCommand> = {}): AskCommand => ({ id, type: "ask", content: "Hi?", ...more });

// @ts-expect-error: a typo is no option
post("typed", { temprature: 1 });
// @ts-expect-error: a context is no data
post("typed", { context: {} });

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("posted asks on %s", (_name, open) => {
  const begin = async () => stage({ store: await open() });

  test("are taken once, in order, with all options that are data", async () => {
    const on = await begin();
    const options = {
      maxIterations: 2,
      temperature: 0.5,
      reasoning: "low",
      limits: { maxTokens: 1_000 },
      contextPolicy: { maxTurns: 3 },
      deadline: 60_000,
      output: { type: "object", properties: { n: { type: "number" } } },
      allowedTools: [],
      author: { id: "u1", name: "Ada" },
      refs: { chat: "c" },
    } as const;
    const first = post("one", options);
    await on.store.post(on.threadId, first);
    await on.store.post(on.threadId, post("two", { content: "And?" }));
    expect((await on.store.post(on.threadId, first)).replayed).toBe(true);
    const [row] = await on.store.pending(on.threadId);
    const server = await on.start({ script: ['{"n":1}', "Two."] }, NODE);
    await on.pass(100);
    expect(await on.store.outcome(on.threadId, "one")).toEqual({ status: "delivered", seq: 0 });
    expect((await server.result("two")).text).toBe("Two.");
    const { author, refs, output, allowedTools, deadline, limits, contextPolicy, maxIterations, ...call } = options;
    const [entry] = await on.log();
    if (entry === undefined) throw new Error("the log is empty");
    expect(entry).toMatchObject({ id: "one/0", refs: { requestId: "one", ...refs } });
    expect(entry.payload).toMatchObject({ content: "Hi?", author });
    expect((entry.payload as JsonObject)["options"]).toEqual({
      ...{ output, allowedTools, limits, contextPolicy, maxIterations },
      call,
      deadline: (row?.postedAt ?? 0) + deadline,
    });
    await on.end(server.stop());
    await on.start({ script: [] }, NODE);
    await on.pass(100);
    expect(told(await on.log()).filter((line) => line.startsWith("ask"))).toEqual(["ask Hi?", "ask And?"]);
  });

  test("are refused at the post when they are no data, and when another one has the id", async () => {
    const on = await begin();
    const values = {
      context: { user: 1 },
      headers: { "x-key": "k" },
      tools: {},
      signal: new AbortController().signal,
      model: scriptedModel([]),
      output: { validate: () => true },
      accept: () => true,
    };
    for (const [name, value] of Object.entries(values)) {
      const posted = on.store.post(on.threadId, { ...post("one"), [name]: value } as never);
      await expect(posted).rejects.toMatchObject({ code: "not_portable", commandId: "one" });
    }
    const next = { threadId: on.threadId, command: { ...post("two"), context: {} } as never };
    await expect(on.store.append("thread_other", [], { posts: [next] })).rejects.toMatchObject({
      code: "not_portable",
    });
    expect(await on.store.pending(on.threadId)).toEqual([]);
    await on.store.post(on.threadId, post("one"));
    await expect(on.store.post(on.threadId, post("one", { seed: 1 }))).rejects.toMatchObject({
      code: "command_id_reused",
    });
  });

  test("that are malformed have an outcome and a warning, and stop nothing", async () => {
    const on = await begin();
    const bodies: readonly (readonly [JsonObject, string])[] = [
      [{ temprature: 1 }, "command_invalid"],
      [{ temperature: "hot" }, "command_invalid"],
      [{ content: 7 }, "command_invalid"],
      [{ author: "Ada" }, "command_invalid"],
      [{ refs: 7 }, "command_invalid"],
      [{ idempotencyRef: "chat" }, "command_invalid"],
      [{ model: { id: "m" } }, "command_invalid"],
      [{ allowedTools: "look" }, "command_invalid"],
      [{ deadline: "soon" }, "command_invalid"],
      [{ deadline: Date.UTC(2026, 10, 24) }, "command_invalid"],
      [{ output: "json" }, "command_invalid"],
      [{ contextPolicy: { maxTurns: -1 } }, "command_invalid"],
      [{ options: { contextPolicy: { maxTurns: -1 } } }, "policy_invalid_value"],
      [{ options: { allowedTools: 7 } }, "invalid_ask"],
      [{ limits: { maxCostUsd: 1 } }, "invalid_options"],
      [{ content: " " }, "empty_ask"],
      [{ allowedTools: ["fly"] }, "unknown_tool"],
      [{ mode: "plan" }, "mode_unknown"],
    ];
    for (const [index, [body]] of bodies.entries())
      await on.store.post(on.threadId, { ...post(`bad_${index}`), ...body } as never);
    await on.store.post(on.threadId, post("good"));
    const warnings: string[] = [];
    await on.start({ script: ["Fine."] }, { ...NODE, warn: (message) => warnings.push(message) });
    await on.pass(100);
    const outcomes = await Promise.all(bodies.map((_, index) => on.store.outcome(on.threadId, `bad_${index}`)));
    expect(outcomes.map(({ status, code }) => [status, code])).toEqual(bodies.map(([, code]) => ["refused", code]));
    for (const index of bodies.keys())
      expect(warnings.filter((one) => new RegExp(`\\bbad_${index}\\b`).test(one))).toHaveLength(1);
    expect(told(await on.log())).toEqual(["ask Hi?", "says Fine. end:completed"]);
  });

  test("are taken by a holder when its request ends, and behind one that waits", async () => {
    const on = await begin();
    const server = await on.start({ script: [{ text: "One.", delayMs: 50 }, "Two.", "Three."] }, NODE);
    const { result } = await on.end(server.ask("Go."));
    await on.store.post(on.threadId, post("two"));
    await on.store.post(on.threadId, post("three"));
    await on.end(result);
    expect((await on.end(server.result("three"))).text).toBe("Three.");
    expect(await on.store.pending(on.threadId)).toEqual([]);
  });

  test("are taken by a host that has the thread at rest, when it is got and before it is released", async () => {
    const on = await begin();
    const agent = defineAgent({ model: scriptedModel(["One.", "Two.", "Three.", "Four."]) });
    const host = AgentHost.create({ agent, store: on.store, idleMs: 100, ports: on.ports });
    await on.end((await on.end(host.ask(on.threadId, "Go."))).result);
    await on.store.post(on.threadId, post("two"));
    const server = await on.end(host.get(on.threadId));
    expect((await on.end(server.result("two"))).text).toBe("Two.");
    await on.store.post(on.threadId, post("three"));
    await on.pass(1_000);
    expect(await on.store.outcome(on.threadId, "three")).toMatchObject({ status: "delivered" });
    expect(host.size).toBe(0);
    await on.store.post(on.threadId, post("four"));
    const again = await on.end(host.get(on.threadId));
    expect((await on.end(again.result("four"))).text).toBe("Four.");
    await on.end(host.stop());
  });
});
