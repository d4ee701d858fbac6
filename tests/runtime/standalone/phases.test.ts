import { type AgentEvent, memoryStore, react, resumeTokens } from "heddle";
import { describe, expect, test } from "vitest";
import { adder, all, CALL, cast, codeOf, SECRET, stoppedAt, tokensIn } from "./support/runs.ts";

const places = [
  { name: "a token that carries its run", store: () => undefined },
  { name: "a token that refers to a store", store: () => memoryStore() },
];

describe.each(places)("$name", ({ store: make }) => {
  test("after an answer with calls, they are run, once, and the model continues", async () => {
    const store = make();
    const { tools, ran } = adder();
    const options = store && { store };
    const token = await stoppedAt("after_llm", cast([CALL], { tools }).agent, options);
    expect(ran).toEqual([]);
    const { agent, model } = cast(
      [{ expect: { endsWith: [{ results: [{ name: "add", value: "4" }] }] }, text: "It is 4." }],
      { tools },
    );
    const { text, calls, usage } = await react.collect(token, agent, options);
    expect([text, ran, calls.length]).toEqual(["It is 4.", ["call_a"], 2]);
    expect(usage.inputTokens).toBeGreaterThan(0);
    model.assertComplete();
  });

  test("after the tools, the model is called and no tool runs again", async () => {
    const store = make();
    const { tools, ran } = adder();
    const options = store && { store };
    const token = await stoppedAt("after_tools", cast([CALL], { tools }).agent, options);
    const { agent, model } = cast(["It is 4."], { tools });
    const { text } = await react.collect(token, agent, options);
    expect([text, ran]).toEqual(["It is 4.", ["call_a"]]);
    model.assertComplete();
  });

  test("after the last answer, and at the end, the result is returned without any call", async () => {
    const store = make();
    const handle = await react.start("What's 2+2?", cast(["4"]).agent, store && { store });
    const told = await all(handle.events);
    const result = await handle.result;
    for (const reason of ["after_llm", "terminal"]) {
      const [token = ""] = tokensIn(told, reason);
      const again = await react.continue(token, cast([]).agent, store && { store });
      const { thread, ...rest } = await again.result;
      const { thread: before, ...known } = result;
      expect(rest).toEqual(known);
      expect(thread.toArray()).toEqual(before.toArray());
      const events = await all(again.events);
      expect(events.map(({ kind, seq }) => [kind, seq])).toEqual([["request_completed", told.at(-1)?.seq]]);
      expect([again.runId, again.requestId]).toEqual([handle.runId, handle.requestId]);
    }
  });

  test("the object of a structured answer is returned again", async () => {
    const store = make();
    const config = { output: { type: "object", properties: { sum: { type: "number" } } } } as const;
    const handle = await react.start(
      "What's 2+2?",
      cast(['```json\n{"sum": 4}\n```'], config).agent,
      store && { store },
    );
    expect((await handle.result).object).toEqual({ sum: 4 });
    const again = await react.continue(handle.token ?? "", cast([], config).agent, store && { store });
    expect((await again.result).object).toEqual({ sum: 4 });
    expect(await react.collect(again.events, cast([], config).agent)).toMatchObject({ object: { sum: 4 } });
  });

  test("the failure of a run is returned again", async () => {
    const store = make();
    const failing = cast([{ error: { status: 401, message: "no key" } }]).agent;
    const handle = await react.start("What's 2+2?", failing, store && { store });
    expect(await codeOf(handle.result)).toBe("request_failed");
    const again = await react.continue(handle.token ?? "", cast([]).agent, store && { store });
    await expect(again.result).rejects.toMatchObject({ code: "request_failed", failure: { code: "model_auth" } });
    expect((await all(again.events)).map(({ kind }) => kind)).toEqual(["request_failed"]);
  });

  test("a run that ends at its last iteration is not continued", async () => {
    const store = make();
    const { tools, ran } = adder();
    const config = { tools, maxIterations: 1 };
    const handle = await react.start("What's 2+2?", cast([CALL], config).agent, store && { store });
    const [token = ""] = tokensIn(await all(handle.events), "after_tools");
    const result = await react.collect(token, cast([], config).agent, store && { store });
    expect([result.terminationReason, ran]).toEqual(["max_iterations", ["call_a"]]);
  });

  test("cancelled where it stands, nothing is called, and its tokens say so", async () => {
    const store = make();
    const { tools, ran } = adder();
    for (const phase of ["after_llm", "after_tools"] as const) {
      const token = await stoppedAt(phase, cast([CALL], { tools }).agent, store && { store });
      const options = { reason: "Not needed.", ...(store && { store }) };
      const handle = await react.cancel(token, cast([], { tools }).agent, options);
      expect(await codeOf(handle.result)).toBe("request_cancelled");
      const events: readonly AgentEvent[] = await all(handle.events);
      expect(events.map(({ kind }) => kind).slice(-2)).toEqual(["checkpoint", "request_cancelled"]);
      expect(handle.token).toBe(tokensIn(events)[0]);
      const again = await react.continue(handle.token ?? "", cast([], { tools }).agent, store && { store });
      await expect(again.result).rejects.toMatchObject({ code: "request_cancelled", message: "Not needed." });
    }
    expect(ran).toEqual(["call_a"]);
  });

  test("cancelling a run that has ended returns its result", async () => {
    const store = make();
    const handle = await react.start("What's 2+2?", cast(["4"]).agent, store && { store });
    await handle.result;
    const cancelled = await react.cancel(handle.token ?? "", cast([]).agent, store && { store });
    expect((await cancelled.result).text).toBe("4");
  });
});

test("the two kinds of tokens hold what they say", async () => {
  const config = { tokenSecret: SECRET, configFingerprint: "clerk" };
  const carried = await stoppedAt("after_llm", cast(["4"]).agent);
  expect((await resumeTokens.verify(carried, config)).state).toMatchObject({
    phase: "after_llm",
    context: { format: "heddle.run/1" },
  });
  const referred = await stoppedAt("after_llm", cast(["4"]).agent, { store: memoryStore(), threadId: "thread_1" });
  expect((await resumeTokens.verify(referred, config)).state).toEqual({
    runId: expect.any(String),
    requestId: expect.any(String),
    phase: "after_llm",
    basis: { iteration: 1, callId: expect.any(String) },
    threadRef: { threadId: "thread_1", rev: 2 },
  });
});

test("what the events tell is what the run gives", async () => {
  const { tools } = adder();
  const { agent } = cast([CALL, "It is 4."], { tools });
  const handle = await react.start("What's 2+2?", agent);
  const { thread: _thread, ...result } = await handle.result;
  const collected = await react.collect(handle.events, agent);
  expect(Object.keys(collected).sort()).toEqual(Object.keys(result).sort());
  expect(collected).toEqual(result);
  const overTheWire: readonly AgentEvent[] = JSON.parse(JSON.stringify(await all(handle.events)));
  expect(await react.collect(from(overTheWire), agent)).toEqual(result);
  expect(await codeOf(react.collect(from(overTheWire.slice(0, -1)), agent))).toBe("events_incomplete");
});

async function* from<Item>(items: readonly Item[]): AsyncGenerator<Item, void> {
  yield* items;
}
