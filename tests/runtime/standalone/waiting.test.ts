import { memoryStore, RequestError, react } from "heddle";
import { describe, expect, test } from "vitest";
import { adder, all, anything, CALL, cast, codeOf, tokensIn } from "./support/runs.ts";

const places = [
  { name: "in its token", store: () => undefined },
  { name: "in a store", store: () => memoryStore() },
];

describe.each(places)("a run that waits lies $name", ({ store: make }) => {
  test("run rejects with the token to continue with, which is not logged by accident", async () => {
    const store = make();
    const { tools, ran } = adder({ needsApproval: true });
    const error: unknown = await react.run("Hi", cast([CALL], { tools }).agent, store && { store }).catch((e) => e);
    if (!RequestError.isInstance(error)) throw error;
    expect(error.code).toBe("request_waiting");
    expect(JSON.stringify(error)).not.toContain("rt2.");
    const { agent } = cast([{ expect: { endsWith: [{ results: [{ value: "4" }] }] }, text: "It is 4." }], { tools });
    const handle = await react.continue(error.token ?? "", agent, { approve: ["call_a"], ...(store && { store }) });
    expect((await handle.result).text).toBe("It is 4.");
    expect(ran).toEqual(["call_a"]);
    expect((await handle.result).thread.filterByKind("approval_resolved")).toHaveLength(1);
  });

  test("denied, with who and why, the model reads it", async () => {
    const store = make();
    const { tools, ran } = adder({ needsApproval: true });
    const waiting = await react.start("Hi", cast([CALL], { tools }).agent, store && { store });
    expect((await all(waiting.events)).slice(-2).map(({ kind }) => kind)).toEqual(["approval_requested", "checkpoint"]);
    expect(await codeOf(waiting.result)).toBe("request_waiting");
    const { agent, model } = cast(["Then not."], { tools });
    const deny = { call_a: { by: "u1", reason: "too dear" } };
    const { thread } = await react.collect(waiting.token ?? "", agent, { deny, ...(store && { store }) });
    expect(JSON.stringify(model.requests[0])).toContain("too dear");
    expect(thread.filterByKind("approval_resolved")[0]?.payload).toMatchObject({ approved: false, by: "u1" });
    expect(ran).toEqual([]);
  });

  test("a deferred call is answered", async () => {
    const store = make();
    const tools = { ask: { inputSchema: anything } };
    const call = { calls: [{ id: "c1", name: "ask" }] };
    const waiting = await react.start("Hi", cast([call], { tools }).agent, store && { store });
    expect(await codeOf(waiting.result)).toBe("request_waiting");
    const { agent } = cast([{ expect: { endsWith: [{ results: [{ value: '{"ok":1}' }] }] }, text: "Thanks." }], {
      tools,
    });
    const answered = await react.collect(waiting.token ?? "", agent, {
      answers: { c1: { ok: 1 } },
      ...(store && { store }),
    });
    expect(answered.text).toBe("Thanks.");
  });

  test("results that came in before it waited are kept: no tool runs twice", async () => {
    const store = make();
    const quick = adder();
    const careful = adder({ needsApproval: true });
    const tools = { quick: quick.tools.add, careful: careful.tools.add };
    const calls = {
      calls: [
        { id: "c1", name: "careful" },
        { id: "c2", name: "quick" },
        { id: "c3", name: "careful" },
      ],
    };
    const waiting = await react.start("Hi", cast([calls], { tools }).agent, store && { store });
    expect(await codeOf(waiting.result)).toBe("request_waiting");
    const options = { approve: ["c1"], ...(store && { store }) };
    const still = await react.continue(waiting.token ?? "", cast([], { tools }).agent, options);
    expect(await codeOf(still.result)).toBe("request_waiting");
    const { agent, model } = cast(["Done."], { tools });
    const done = await react.collect(still.token ?? "", agent, {
      approve: { c3: { by: "u1" } },
      ...(store && { store }),
    });
    expect(done.text).toBe("Done.");
    expect([quick.ran, careful.ran]).toEqual([["c2"], ["c1", "c3"]]);
    model.assertComplete();
  });

  test("continued without a decision it waits on, with a token", async () => {
    const store = make();
    const { tools } = adder({ needsApproval: true });
    const waiting = await react.start("Hi", cast([CALL], { tools }).agent, store && { store });
    await codeOf(waiting.result);
    const again = await react.continue(waiting.token ?? "", cast([], { tools }).agent, store && { store });
    expect(await codeOf(again.result)).toBe("request_waiting");
    const { agent } = cast(["4"], { tools });
    expect((await react.collect(again.token ?? "", agent, { approve: ["call_a"], ...(store && { store }) })).text).toBe(
      "4",
    );
  });

  test("a decision on a call that is not there, or two on one, are refused before anything runs", async () => {
    const store = make();
    const { tools, ran } = adder({ needsApproval: true });
    const waiting = await react.start("Hi", cast([CALL], { tools }).agent, store && { store });
    await codeOf(waiting.result);
    const token = waiting.token ?? "";
    const go = (decisions: object) =>
      react.continue(token, cast([], { tools }).agent, { ...decisions, ...(store && { store }) });
    expect(await codeOf(go({ approve: ["call_a", "call_x"] }))).toBe("not_waiting");
    expect(await codeOf(go({ approve: ["call_a"], deny: ["call_a"] }))).toBe("invalid_options");
    expect(await codeOf(go({ answers: { call_a: 1 } }))).toBe("not_waiting");
    expect(ran).toEqual([]);
    const { agent } = cast(["4"], { tools });
    expect((await react.collect(token, agent, { approve: ["call_a"], ...(store && { store }) })).text).toBe("4");
  });

  test("what is approved may not have been asked for yet: it is, first", async () => {
    const store = make();
    const { tools, ran } = adder({ needsApproval: true });
    const [token = ""] = tokensIn(await all(react.stream("Hi", cast([CALL], { tools }).agent, store && { store })));
    const { agent } = cast(["4"], { tools });
    expect((await react.collect(token, agent, { approve: ["call_a"], ...(store && { store }) })).text).toBe("4");
    expect(ran).toEqual(["call_a"]);
  });
});
