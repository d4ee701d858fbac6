import { AgentHost, agentTool, defineAgent, defineTool, memoryStore, StoreError, type ThreadStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { spied } from "../support/spied-store.ts";
import { anything, failureOf, gate, proveAll } from "../support/stage.ts";

const CALLS = 70;
const ids = Array.from({ length: CALLS }, (_, at) => `call_${at}`);
const script = [{ calls: ids.map((id) => ({ id, name: "work", arguments: { task: id } })) }, "Done."];

/** A store whose first append of a result waits until it is opened. It counts the appends with results. */
function slowStore(isWaited: (kinds: readonly string[]) => boolean) {
  const inner = memoryStore();
  const opened = gate();
  const reached = gate();
  const appended: string[][] = [];
  const append: ThreadStore["append"] = async (threadId, entries, options) => {
    const list = [entries].flat() as { readonly kind: string; readonly refs?: { readonly toolCallId?: string } }[];
    const kinds = list.flatMap(({ kind, refs }) => (refs?.toolCallId === undefined ? [] : [kind]));
    if (kinds.length > 0) appended.push(kinds);
    if (appended.length === 1 && isWaited(kinds)) {
      reached.resolve();
      await opened.promise;
    }
    return inner.append(threadId, entries as never, options);
  };
  const store = new Proxy(inner, {
    get: (target, key) => {
      const value: unknown = key === "append" ? append : Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { store, opened, reached, appended };
}

/** A tool that counts its calls. */
function counted() {
  const calls = { count: 0 };
  const execute = (): string => {
    calls.count += 1;
    return "done";
  };
  return { work: defineTool({ inputSchema: anything, execute }), calls };
}

test("results that come while one is stored are stored together, in their order", async () => {
  const { store, opened, reached, appended } = slowStore(() => true);
  const { work, calls } = counted();
  const agent = defineAgent({ model: scriptedModel(script), tools: { work }, toolConcurrency: CALLS });
  await using host = AgentHost.create({ agent, store });
  const request = await host.ask("thread_1", "Go.");
  await reached.promise;
  await expect.poll(() => calls.count).toBe(CALLS);
  opened.resolve();
  expect((await request.result).text).toBe("Done.");
  expect(appended.map(({ length }) => length)).toEqual([1, 32, 32, 5]);
  const results = (await host.thread("thread_1")).toArray().filter(({ payload }) => payload["role"] === "tool");
  expect(results.map(({ refs }) => refs["toolCallId"])).toEqual(ids);
  await proveAll(store, "thread_1");
});

test("a cancel goes before the calls that wait to ask another agent: none of these is asked", async () => {
  const { store, opened, reached } = slowStore((kinds) => kinds.includes("tool_started"));
  let asked = 0;
  const child = defineAgent({
    name: "child",
    model: scriptedModel(
      ids.map(() => () => {
        asked += 1;
        return "Fine.";
      }),
      { order: "any" },
    ),
  });
  const work = agentTool(child, { description: "Works." });
  const agent = defineAgent({ name: "lead", model: scriptedModel(script), tools: { work }, toolConcurrency: CALLS });
  await using host = AgentHost.create({ agent, store });
  const request = await host.ask("thread_1", "Go.");
  await reached.promise;
  const cancelled = host.cancel("thread_1", request.id);
  opened.resolve();
  expect(await cancelled).toBe(true);
  expect((await failureOf(request.result)).code).toBe("request_cancelled");
  const started = (await host.thread("thread_1")).filterByKind("tool_started");
  expect(started.length).toBe(1);
  expect(asked).toBeLessThanOrEqual(1);
  await proveAll(store, "thread_1");
});

test("a commit of several results that is refused is tried again, each for itself", async () => {
  const { store, opened, reached, appended } = slowStore(() => true);
  const spy = spied(store);
  spy.trouble = (_write, _number, entries) =>
    entries.filter(({ refs }) => refs?.["toolCallId"] !== undefined).length > 1
      ? { error: () => new StoreError({ code: "too_large", message: "Too large." }) }
      : undefined;
  const { work, calls } = counted();
  const agent = defineAgent({ model: scriptedModel(script), tools: { work }, toolConcurrency: CALLS });
  await using host = AgentHost.create({ agent, store: spy.store });
  const request = await host.ask("thread_1", "Go.");
  await reached.promise;
  await expect.poll(() => calls.count).toBe(CALLS);
  opened.resolve();
  expect((await request.result).text).toBe("Done.");
  expect(appended.map(({ length }) => length)).toEqual(ids.map(() => 1));
  await proveAll(store, "thread_1");
});
