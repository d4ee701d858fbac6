import { memoryStore } from "heddle";
import { recordedCall } from "heddle/core";
import { sqliteStore } from "heddle/sqlite";
import { type ScriptedStep, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { anything, eventsOf, expectWhole, failureOf, proveAll, type Stage, stage } from "../support/stage.ts";

const NODE = { holder: "node" };
const GONE = { error: { status: 404 } };
const BUSY = { error: { status: 503 } };

/** A model that is known as `test:name`. */
function named(on: Stage, modelId: string, script: readonly ScriptedStep[]) {
  return scriptedModel(script, { provider: "test", modelId, after: on.ports.after });
}

/** The record of each model call, and of each attempt that was made again. */
async function calls(on: Stage) {
  return (await on.log()).flatMap(({ payload }) => {
    const record = recordedCall({ payload });
    const { retried } = payload as { readonly retried?: { readonly code: string; readonly model?: string } };
    return record === undefined ? [] : [[record.model, retried?.model ?? record.attempts ?? 1]];
  });
}

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("a list of models on %s", (_name, open) => {
  test("is tried in order: the next one at once after an error that stays, and the log and an event name it", async () => {
    const on = await stage({ store: open() });
    const a = named(on, "a", [GONE, "From a."]);
    const b = named(on, "b", [{ calls: [{ name: "look" }] }, "From b."]);
    const tools = { look: { inputSchema: anything, execute: () => "seen" } };
    const server = await on.start({ model: [a, b], tools });
    const request = await on.end(server.ask("Go."));
    const before = on.ports.clock();
    const result = await on.end(request.result);
    expect(on.ports.clock()).toBe(before);
    expect(result.text).toBe("From b.");
    expect(Object.keys(result.usageByModel)).toEqual(["test:a", "test:b"]);
    expect(await calls(on)).toEqual([
      ["test:a", "test:b"],
      ["test:b", 2],
      ["test:b", 1],
    ]);
    const events = await eventsOf(request);
    expectWhole(events);
    const retried = events.filter(({ kind }) => kind === "llm_retried").map(({ data }) => data);
    expect(retried).toMatchObject([{ attempt: 1, waitMs: 0, model: "test:b", failure: { code: "model_not_found" } }]);
    // The next request starts with the first model again.
    expect((await on.end((await on.end(server.ask("More."))).result)).text).toBe("From a.");
    expect(await proveAll(on.store, on.threadId)).toBe(3);
  });

  test("gives each model its retries, and fails with the failure of the last one", async () => {
    const on = await stage({ store: open() });
    const [a, b] = [named(on, "a", [BUSY, BUSY]), named(on, "b", [BUSY, GONE])];
    const server = await on.start({ model: [a, b], modelMaxRetries: 1 });
    const { failure } = await failureOf(on.end((await on.end(server.ask("Go."))).result));
    expect(failure?.code).toBe("model_not_found");
    expect([a.requests.length, b.requests.length]).toEqual([2, 2]);
    expect(await calls(on)).toEqual([
      ["test:a", 1],
      ["test:a", "test:b"],
      ["test:b", 1],
      ["test:b", 4],
    ]);
  });

  test("continues in another process with the model that was reached, and with the attempts that are left", async () => {
    const on = await stage({ store: open() });
    const rules = { modelMaxRetries: 2 };
    const first = await on.start(
      { model: [named(on, "a", [GONE]), named(on, "b", [BUSY, { hang: true }])], ...rules },
      NODE,
    );
    const { id } = await on.end(first.ask("Go."));
    await on.pass(2_000);
    const [a, b, c] = [named(on, "a", []), named(on, "b", [BUSY]), named(on, "c", ["From c."])];
    const second = await on.start({ model: [a, b, c], ...rules }, NODE);
    expect((await on.end(second.result(id))).text).toBe("From c.");
    // One attempt of b failed, one ended with its process, and the third was the last.
    expect([a.requests.length, b.requests.length]).toEqual([0, 1]);
    expect(await calls(on)).toEqual([
      ["test:a", "test:b"],
      ["test:b", 1],
      ["test:b", "test:c"],
      ["test:c", 5],
    ]);
    await proveAll(on.store, on.threadId);
  });
});

describe("an unknown name in a list of models", () => {
  const resolve = (...models: readonly ReturnType<typeof named>[]) => ({
    resolveModel: (name: string) => models.find(({ modelId }) => name === `test:${modelId}`),
  });

  const unknown = (on: Stage) => on.warnings.filter((line) => line.includes("There is no model"));

  test("is left out with a warning where it is not the first", async () => {
    const on = await stage();
    const [a, c] = [named(on, "a", [GONE, GONE, "From a."]), named(on, "c", ["From c.", "From c too."])];
    const server = await on.start({ model: a, ...resolve(a, c) });
    const text = async (model: string[]) => (await on.end((await on.end(server.ask("Go.", { model }))).result)).text;
    expect(await text(["test:a", "test:typo", "test:c"])).toBe("From c.");
    expect(unknown(on)).toEqual([expect.stringContaining('There is no model "test:typo"')]);
    expect(await text(["test:a", "test:c", "test:typo"])).toBe("From c too.");
    const error = await failureOf(on.end(server.ask("Go.", { model: ["test:typo", "test:a"] })));
    expect(error.code).toBe("model_unresolved");
    await proveAll(on.store, on.threadId);
  });

  test("is no reason to stop a request that is resumed, also as the first", async () => {
    const on = await stage();
    const [a, b] = [named(on, "a", [{ hang: true }]), named(on, "b", [])];
    const first = await on.start({ model: ["test:a", "test:b"], ...resolve(a, b) }, NODE);
    const { id } = await on.end(first.ask("Go."));
    const second = await on.start({ model: ["test:a", "test:b"], ...resolve(named(on, "b", ["From b."])) }, NODE);
    expect((await on.end(second.result(id))).text).toBe("From b.");
    expect(unknown(on)).toEqual([expect.stringContaining('There is no model "test:a"')]);
  });

  test.each([1, 2, 9])("is searched again when resolveModel throws %d times as a request is resumed", async (times) => {
    const on = await stage();
    const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
    const config = { model: "test:a", tools: { pay } };
    const asked = resolve(named(on, "a", [{ calls: [{ id: "p", name: "pay" }] }]));
    const first = await on.start({ ...config, ...asked }, NODE);
    const { id } = await on.end(first.ask("Go."));
    await on.settled();
    let left = times;
    const resolveModel = () => {
      if (left-- > 0) throw new Error("down");
      return named(on, "a", ["Paid."]);
    };
    const second = await on.start({ ...config, resolveModel }, NODE);
    await on.end(second.approve("p"));
    if (times < 9) return expect((await on.end(second.result(id))).text).toBe("Paid.");
    const { failure } = await failureOf(on.end(second.result(id)));
    expect(failure).toMatchObject({ code: "model_unresolved", message: expect.stringContaining("The model test:a") });
  });
});

test.each([
  ["a stream that was cut", { text: "Half", error: { status: 503 }, after: 1 }],
  ["a wait that is too long", { error: { status: 429, retryAfterMs: 3_600_000 } }],
  ["a wrong key", { error: { status: 401 } }],
])("the next model is called after %s", async (_what, step) => {
  const on = await stage();
  const model = [named(on, "a", [step]), named(on, "b", ["From b."])];
  const server = await on.start({ model, modelMaxRetries: 0 });
  const { text } = await on.end((await on.end(server.ask("Go."))).result);
  expect(text).toBe("From b.");
  await proveAll(on.store, on.threadId);
});

test("no other model is called after a refusal or a cancel", async () => {
  const on = await stage();
  const b = named(on, "b", []);
  const refusing = { finishReason: "content-filter", text: "" } as const;
  const filtered = await on.start({ model: [named(on, "a", [refusing]), b] });
  expect((await failureOf(on.end((await on.end(filtered.ask("Go."))).result))).failure?.code).toBe("model_refused");
  await on.end(filtered.stop());
  const hanging = await on.start({ model: [named(on, "a", [{ hang: true }]), b] });
  const request = await on.end(hanging.ask("Go on."));
  await on.end(hanging.cancel());
  expect((await failureOf(on.end(request.result))).code).toBe("request_cancelled");
  expect(b.requests).toEqual([]);
});

test("a model with a larger window gets the whole context after one that refused it as too long", async () => {
  const on = await stage();
  const long = { error: { status: 400, message: "prompt is too long" } };
  const model = [named(on, "a", [long, long]), named(on, "b", ["From b."])];
  const contextPolicy = { maxInputTokens: 6_000 };
  const server = await on.start({ model, contextPolicy, modelMaxRetries: 0 });
  const words = `${"word ".repeat(900)}end`;
  expect((await on.end((await on.end(server.ask(words))).result)).text).toBe("From b.");
  expect(JSON.stringify(model[1]?.requests[0]?.messages)).toContain("end");
});

test("the next model is called at once when the provider asks for a long wait", async () => {
  const on = await stage();
  const wait = { error: { status: 429, retryAfterMs: 300_000 } };
  const server = await on.start({ model: [named(on, "a", [wait]), named(on, "b", ["From b."])] });
  const before = on.ports.clock();
  expect((await on.end((await on.end(server.ask("Go."))).result)).text).toBe("From b.");
  expect(on.ports.clock()).toBe(before);
});

test("a wait past the deadline of the ask calls the next model, and a shorter one is kept", async () => {
  const on = await stage();
  const wait = { error: { status: 429, retryAfterMs: 3_000 } };
  const [a, b] = [named(on, "a", [wait, wait, "From a."]), named(on, "b", ["From b."])];
  const server = await on.start({ model: [a, b] });
  const late = await on.end(server.ask("Go.", { deadline: 2_000 }));
  expect((await on.end(late.result)).text).toBe("From b.");
  expect((await on.end((await on.end(server.ask("Go."))).result)).text).toBe("From a.");
});
