import { AgentHost, defineAgent, memoryStore, type ProviderModel } from "heddle";
import { recordedCall } from "heddle/core";
import { sqliteStore } from "heddle/sqlite";
import { type ScriptedStep, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { failureOf, proveAll, type Stage, stage } from "../support/stage.ts";

const NODE = { holder: "node" };
const HANG = [{ hang: true }] as const;

/** A model that is known as `test:name`. */
function named(on: Stage, modelId: string, script: readonly ScriptedStep[] = []) {
  return scriptedModel(script, { provider: "test", modelId, after: on.ports.after });
}

/** Finds these models by their names. */
function resolver(...models: readonly ProviderModel[]) {
  return (name: string) => models.find(({ provider, modelId }) => `${provider}:${modelId}` === name);
}

async function modelsIn(on: Stage) {
  return (await on.log()).flatMap((entry) => recordedCall(entry)?.model ?? []);
}

async function end(on: Stage, asked: ReturnType<Awaited<ReturnType<Stage["start"]>>["ask"]>) {
  return (await on.end((await on.end(asked)).result)).text;
}

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("a model on %s", (_name, open) => {
  test("of an ask answers it, is named in the log, and is not that of the next request", async () => {
    const on = await stage({ store: open() });
    const big = named(on, "big", ["Big.", "Big again."]);
    const small = named(on, "small", ["Small."]);
    const server = await on.start({ model: named(on, "own", ["Own."]), models: { large: big } });
    expect(await end(on, server.ask("1?", { model: "large" }))).toBe("Big.");
    expect(await end(on, server.ask("2?", { model: small }))).toBe("Small.");
    expect(await end(on, server.ask("3?", { model: big }))).toBe("Big again.");
    expect(await end(on, server.ask("4?"))).toBe("Own.");
    expect(await modelsIn(on)).toEqual(["test:big", "test:small", "test:big", "test:own"]);
    const stored = (await on.log()).flatMap(({ payload }) => ("options" in payload ? [payload["options"]] : []));
    expect(stored).toEqual([{ model: ["large"] }, { model: ["test:small"] }, { model: ["test:big"] }]);
    expect(await proveAll(on.store, on.threadId)).toBe(4);
  });

  test("of an ask is used by the process that takes the request over and finds it by its name", async () => {
    const on = await stage({ store: open() });
    const first = await on.start({ model: named(on, "own") }, NODE);
    const { id } = await on.end(first.ask("Go.", { model: named(on, "big", HANG) }));
    const resolveModel = resolver(named(on, "big", ["Big."]));
    const second = await on.start({ model: named(on, "own") }, { ...NODE, resolveModel });
    expect((await on.end(second.result(id))).text).toBe("Big.");
    expect(await modelsIn(on)).toEqual(["test:big"]);
    await proveAll(on.store, on.threadId);
  });

  test("of an ask that another process does not find fails the request as options_lost", async () => {
    const on = await stage({ store: open() });
    const first = await on.start({ model: named(on, "own") }, NODE);
    const { id } = await on.end(first.ask("Go.", { model: named(on, "big", HANG) }));
    const own = named(on, "own", ["Own."]);
    const second = await on.start({ model: own }, NODE);
    const { failure } = await failureOf(on.end(second.result(id)));
    expect(failure).toMatchObject({ code: "options_lost", message: expect.stringContaining("the model test:big") });
    expect(own.requests).toEqual([]);
    expect(await end(on, second.ask("Again."))).toBe("Own.");
  });

  test("that was set holds in every process, in its lane before the thread, and an ask comes first", async () => {
    const on = await stage({ store: open() });
    const big = named(on, "big", ["Big.", "Big again."]);
    const small = named(on, "small", ["Small."]);
    const config = { model: named(on, "own", ["Own.", "Own again."]), resolveModel: resolver(big, small) };
    const first = await on.start(config);
    expect((await on.end(first.setModel("test:big", { by: "ann" }))).status).toBe("applied");
    await on.end(first.stop());
    const second = await on.start(config);
    expect(await end(on, second.ask("1?"))).toBe("Big.");
    await on.end(second.setModel(["test:small", "test:big"], { lane: "default" }));
    expect(await end(on, second.ask("2?"))).toBe("Small.");
    expect(await end(on, second.ask("3?", { model: "test:own" }))).toBe("Own.");
    await on.end(second.setModel(null, { lane: "default" }));
    expect(await end(on, second.ask("4?"))).toBe("Big again.");
    await on.end(second.setModel(null));
    expect(await end(on, second.ask("5?"))).toBe("Own again.");
    expect(await proveAll(on.store, on.threadId)).toBe(5);
  });

  test("that was set is that of the next view, in any process", async () => {
    const on = await stage({ store: open() });
    const large = scriptedModel([], { provider: "anthropic", modelId: "claude-sonnet-4-5", after: on.ports.after });
    const config = { model: named(on, "own", ["Own."]), models: { large } };
    const server = await on.start(config);
    const host = AgentHost.create({ agent: defineAgent(config), store: on.store, ports: on.ports });
    const windows = async () =>
      (await Promise.all([server.view(), host.view(on.threadId)])).map(({ budget }) => budget.maxInputTokens);
    await on.end(server.setModel("large"));
    expect(await windows()).toEqual([100_000, 100_000]);
    const other = AgentHost.create({ agent: defineAgent({ model: config.model }), store: on.store, ports: on.ports });
    expect((await other.view(on.threadId)).budget.maxInputTokens).toBe(32_000); // it does not find the model
    await on.end(other.stop());
    await on.end(server.setModel(null));
    expect(await windows()).toEqual([32_000, 32_000]);
    expect(await end(on, server.ask("1?"))).toBe("Own.");
    await on.end(host.stop());
  });

  test("that was set and is not found by the process that takes a request over fails it as model_unresolved", async () => {
    const on = await stage({ store: open() });
    const big = named(on, "big", HANG);
    const first = await on.start({ model: named(on, "own"), resolveModel: resolver(big) }, NODE);
    await on.end(first.setModel("test:big"));
    const { id } = await on.end(first.ask("Go."));
    const second = await on.start({ model: named(on, "own", ["Own."]) }, NODE);
    expect((await failureOf(on.end(second.result(id)))).failure?.code).toBe("model_unresolved");
    expect((await failureOf(on.end(second.ask("Again.")))).code).toBe("model_unresolved");
  });

  test("that a function chose is the same in the process that takes the request over", async () => {
    const on = await stage({ store: open() });
    const first = await on.start({ model: () => [named(on, "big", HANG)] }, NODE);
    const { id } = await on.end(first.ask("Go."));
    const [big, small] = [named(on, "big", ["Big."]), named(on, "small", ["Small."])];
    const later = { model: () => small, resolveModel: resolver(big) };
    const second = await on.start(later, NODE);
    expect((await on.end(second.result(id))).text).toBe("Big.");
    expect(await end(on, second.ask("And now?"))).toBe("Small.");
    expect(await proveAll(on.store, on.threadId)).toBe(2);
  });
});

describe("a name of a model", () => {
  test("is found in `models`, among the agent's, and by the resolveModel of the server in place of the agent's", async () => {
    const on = await stage();
    const asked: string[] = [];
    const resolveModel = (name: string) => {
      asked.push(name);
      return named(on, name, [`I am ${name}.`]);
    };
    const model = [named(on, "own", ["Own."]), named(on, "spare", ["Spare."])];
    const config = { model, models: { cheap: named(on, "mini", ["Cheap."]) }, resolveModel: () => undefined };
    const server = await on.start(config, { resolveModel });
    expect(await end(on, server.ask("1?", { model: "cheap" }))).toBe("Cheap.");
    expect(await end(on, server.ask("2?", { model: "test:spare" }))).toBe("Spare.");
    expect(await end(on, server.ask("3?", { model: "far" }))).toBe("I am far.");
    expect(asked).toEqual(["far"]);
  });

  test("may be the model of an agent, which is found for each request", async () => {
    const on = await stage();
    const server = await on.start({ model: "test:big", resolveModel: resolver(named(on, "big", ["1.", "2."])) });
    expect(await end(on, server.ask("1?"))).toBe("1.");
    expect(await end(on, server.ask("2?"))).toBe("2.");
    expect(await modelsIn(on)).toEqual(["test:big", "test:big"]);
  });

  test.each([
    ["is unknown", undefined, "no `resolveModel` is given"],
    ["resolveModel does not know", () => undefined, "does not know it"],
    ["resolveModel throws at", () => Promise.reject(new Error("no")), "`resolveModel` failed"],
    ["resolveModel never answers", () => new Promise<never>(() => undefined), "`resolveModel` failed"],
    ["resolveModel answers with no model", () => "gpt-5" as never, "must be a language model"],
  ])("that %s refuses the ask, and the thread is as it was", async (_what, resolveModel, message) => {
    const on = await stage();
    const errors: string[] = [];
    const onError = (_error: unknown, { code }: { readonly code: string }) => errors.push(code);
    const server = await on.start({ model: named(on, "own", ["Own."]), resolveModel, hookTimeoutMs: 50 }, { onError });
    const ask = () => server.ask("Go.", { model: "test:far" });
    for (const call of [ask, () => server.setModel("test:far")]) {
      const error = await failureOf(on.end<unknown>(call()));
      expect(error).toMatchObject({ code: "model_unresolved", message: expect.stringContaining(message) });
    }
    expect(errors.every((code) => code === "model_unresolved")).toBe(true);
    expect(await on.log()).toEqual([]);
    expect(await end(on, server.ask("And you?"))).toBe("Own.");
  });

  test("cannot be set as a model object, and must be text", async () => {
    const on = await stage();
    const server = await on.start({ script: [] });
    const set = (model: unknown) => on.end(server.setModel(model as never));
    await expect(set(named(on, "big"))).rejects.toMatchObject({ code: "not_portable" });
    await expect(set(5)).rejects.toMatchObject({ code: "invalid_options" });
    await expect(set([])).rejects.toMatchObject({ code: "invalid_options" });
    const error = await failureOf(on.end(server.ask("Go.", { model: 5 as never })));
    expect(error).toMatchObject({ code: "invalid_options", message: expect.stringContaining("model must be") });
    expect(await on.log()).toEqual([]);
  });
});

describe("a function that chooses the model", () => {
  test("is called once for each request, with its context and the thread", async () => {
    const on = await stage();
    const seen: unknown[] = [];
    const models = { big: named(on, "big", ["Big."]), small: named(on, "small", ["Small."]) };
    const server = await on.start({
      models,
      model: ({ context, state: { thread, threadId, requestId } }) => {
        const { plan } = context as { readonly plan: string }; // the stage has no types
        seen.push([context, thread.rev, threadId, requestId]);
        return plan === "paid" ? "big" : models.small;
      },
    });
    const ask = (plan: string) => end(on, server.ask("Go.", { context: { plan }, requestId: plan } as never));
    expect(await ask("paid")).toBe("Big.");
    expect(await ask("free")).toBe("Small.");
    expect(seen).toEqual([
      [{ plan: "paid" }, 0, on.threadId, "paid"],
      [{ plan: "free" }, 2, on.threadId, "free"],
    ]);
    const stored = (await on.log()).flatMap(({ payload }) => ("options" in payload ? [payload["options"]] : []));
    expect(stored).toMatchObject([{ model: ["big"] }, { model: ["test:small"] }]);
  });

  test.each([
    ["throws", () => Promise.reject(new Error("no"))],
    ["never answers", () => new Promise<never>(() => undefined)],
    ["answers with no model", () => 5 as never],
  ])("and %s refuses the ask", async (_what, model) => {
    const on = await stage();
    const errors: string[] = [];
    const onError = (_error: unknown, { code }: { readonly code: string }) => errors.push(code);
    const server = await on.start({ model, hookTimeoutMs: 50 }, { onError });
    expect((await failureOf(on.end(server.ask("Go.")))).code).toBe("model_selection_failed");
    expect(errors.every((code) => code === "model_selection_failed")).toBe(true);
    expect(await on.log()).toEqual([]);
  });

  test("is called again to find its model in another process, if no name leads to it", async () => {
    const on = await stage();
    const first = await on.start({ model: () => named(on, "big", HANG) }, NODE);
    const { id } = await on.end(first.ask("Go."));
    const second = await on.start({ model: () => named(on, "big", ["Big."]) }, NODE);
    expect((await on.end(second.result(id))).text).toBe("Big.");
  });
});

describe("headers of an ask", () => {
  const SECRET = "Bearer s3cret";
  const headers = { authorization: SECRET, "x-team": "a" };

  test("are sent with each of its calls, and only their names are stored", async () => {
    const on = await stage();
    const model = named(on, "own", ["One.", "Two."]);
    const server = await on.start({ model });
    await end(on, server.ask("Go.", { headers }));
    await end(on, server.ask("More."));
    expect(model.requests.map(({ options }) => options["headers"])).toEqual([headers, undefined]);
    const log = await on.log();
    expect(log[0]?.payload).toMatchObject({ options: { askedHeaders: ["authorization", "x-team"] } });
    const { environment = "" } = recordedCall(log[1] ?? { payload: {} }) ?? {};
    const stored = JSON.stringify([log, await on.store.getBlob(environment)]);
    expect(stored).toContain("own");
    expect(stored).not.toContain("s3cret");
    await proveAll(on.store, on.threadId);
  });

  test.each([
    ["fail the request as options_lost where they are missing", () => ({ "x-team": "a" }), undefined],
    ["are made again by the function of the server", () => headers, "Done."],
  ])("%s", async (_what, again, text) => {
    const on = await stage();
    const first = await on.start({ script: HANG }, NODE);
    const { id } = await on.end(first.ask("Go.", { headers }));
    const model = named(on, "own", ["Done."]);
    const second = await on.start({ model }, { ...NODE, headers: again });
    if (text === undefined) {
      const { failure } = await failureOf(on.end(second.result(id)));
      expect(failure).toMatchObject({ code: "options_lost", message: expect.stringContaining("authorization") });
      expect(model.requests).toEqual([]);
    } else {
      expect((await on.end(second.result(id))).text).toBe(text);
      expect(model.requests[0]?.options["headers"]).toEqual(headers);
    }
  });

  test("whose function throws fail the request, and others than texts are refused", async () => {
    const on = await stage();
    const first = await on.start({ script: HANG }, NODE);
    const wrong = { headers: { a: 1 } } as never;
    expect((await failureOf(on.end(first.ask("Go.", wrong)))).code).toBe("invalid_options");
    const { id } = await on.end(first.ask("Go.", { headers }));
    const no = () => Promise.reject(new Error("no"));
    const second = await on.start({ script: [] }, { ...NODE, headers: no });
    expect((await failureOf(on.end(second.result(id)))).failure?.code).toBe("headers_failed");
  });
});
