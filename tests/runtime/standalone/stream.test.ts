import { type AgentEvent, memoryStore, react } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { adder, all, anything, CALL, cast, codeOf } from "./support/runs.ts";

test("nothing happens before the first event is asked for, and every event is emitted", async () => {
  const { tools, ran } = adder();
  const { agent, model } = cast([CALL, "It is 4."], { tools });
  const stream = react.stream("What's 2+2?", agent);
  expect(model.requests).toEqual([]);
  const events = await all(stream);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.at(-1)?.kind).toBe("request_completed");
  expect(ran).toEqual(["call_a"]);
  expect(await all(stream)).toEqual([]);
});

test("it goes past a checkpoint when the event behind it is asked for", async () => {
  const { tools, ran } = adder();
  const { agent, model } = cast([CALL, "It is 4."], { tools });
  const seen: (readonly [string, number, number])[] = [];
  for await (const event of react.stream("Hi", agent)) {
    for (let turn = 0; turn < 30; turn++) await new Promise((resolve) => setImmediate(resolve)); // a slow reader
    if (event.kind === "checkpoint") seen.push([event.data.reason, ran.length, model.requests.length]);
  }
  expect(seen).toEqual([
    ["after_llm", 0, 1],
    ["after_tools", 1, 1],
    ["after_llm", 1, 2],
    ["terminal", 1, 2],
  ]);
});

test("who asks for several events at once gets them", async () => {
  const { tools } = adder();
  const { agent } = cast([CALL, "It is 4."], { tools });
  const iterator = react.stream("Hi", agent)[Symbol.asyncIterator]();
  const results = await Promise.all(Array.from({ length: 40 }, () => iterator.next()));
  const events = results.flatMap(({ value }) => (value === undefined ? [] : [value as AgentEvent]));
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.at(-1)?.kind).toBe("request_completed");
});

test("left during an answer, it ends: the model is aborted, the thread is free, and the run can be resumed", async () => {
  const store = memoryStore();
  const { agent, model } = cast([{ text: ["a", "b"], hang: true }]);
  let aborted = false;
  const { doStream } = model;
  Object.assign(model, {
    doStream: (given: Parameters<typeof doStream>[0]) => {
      given.abortSignal?.addEventListener("abort", () => (aborted = true));
      return doStream(given);
    },
  });
  for await (const event of react.stream("Hi", agent, { store, threadId: "thread_1" }))
    if (event.kind === "llm_delta") break;
  expect(aborted).toBe(true);
  const { epoch } = await store.claim("thread_1", { holder: "test", ttlMs: 1_000 });
  await store.release("thread_1", epoch);
  expect((await store.load("thread_1"))?.entryCount).toBe(2); // the ask, and that the rest is handed over
});

test("left while an event is waited for, it ends all the same", async () => {
  const { agent } = cast([{ hang: true }]);
  const iterator = react.stream("Hi", agent)[Symbol.asyncIterator]();
  await iterator.next();
  await iterator.next();
  const third = iterator.next();
  expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
  expect((await third).value).toMatchObject({ kind: "request_suspended", data: { reason: "stopped" } });
  expect((await iterator.next()).done).toBe(true);
});

test("left before it began, it never begins", async () => {
  const { agent, model } = cast(["4"]);
  const iterator = react.stream("Hi", agent)[Symbol.asyncIterator]();
  await iterator.return?.();
  expect((await iterator.next()).done).toBe(true);
  expect(model.requests).toEqual([]);
});

test("aborted at a checkpoint, nothing after it begins, and the end is emitted", async () => {
  const { tools, ran } = adder();
  const { agent } = cast([CALL], { tools });
  const controller = new AbortController();
  const kinds: string[] = [];
  for await (const event of react.stream("Hi", agent, { signal: controller.signal })) {
    kinds.push(event.kind);
    if (event.kind === "checkpoint") controller.abort();
  }
  expect(kinds.at(-1)).toBe("request_cancelled");
  expect(ran).toEqual([]);
});

test("an ask that is refused is an error, also as a stream", async () => {
  expect(await codeOf(all(react.stream(" ", cast([]).agent)))).toBe("empty_ask");
  expect(() => react.stream("Hi", { model: scriptedModel([]), maxIterations: 0 })).toThrow("maxIterations");
});

test("a run that fails says so in its last event and throws nothing", async () => {
  const events = await all(react.stream("Hi", cast([{ error: { status: 401 } }]).agent));
  expect(events.at(-1)).toMatchObject({ kind: "request_failed", data: { failure: { code: "model_auth" } } });
});

test("a stream ends where its run waits", async () => {
  const tools = { ask: { inputSchema: anything } };
  const events = await all(react.stream("Hi", cast([{ calls: [{ name: "ask" }] }], { tools }).agent));
  expect(events.slice(-2).map(({ kind }) => kind)).toEqual(["answer_requested", "checkpoint"]);
});
