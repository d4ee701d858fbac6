import { specify } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { cmd } from "../../../src/agent/cmd.ts";
import { defineAction, direct, type Instruction } from "../../../src/agent/direct/agent.ts";
import { runInstructions } from "../../../src/runtime/run-instructions.ts";
import { numberedPorts } from "../../../src/testing/specification/specify.ts";
import { Thread } from "../../../src/thread/thread.ts";

const greet = defineAction({
  name: "greet",
  inputSchema: z.object({ who: z.string().transform((name) => name.toUpperCase()) }),
  run: ({ who }, { context }: { context: { word: string } }) => `${context.word} ${who}`,
});
const fail = defineAction({
  name: "fail",
  inputSchema: { type: "object" },
  run: () => {
    throw new Error("the secret is 1234");
  },
});
const slow = defineAction({
  name: "slow",
  inputSchema: z.object({ n: z.number() }).refine(async ({ n }) => n > 0),
  run: async ({ n }) => n,
});
const actions = [greet, fail, slow];
const options = { context: { word: "Hello" } };
const instruct = (action: string, params = {}): Instruction => ({ type: "instruction", action, params });

test("two actions, the second fails: four entries, ok and error, keys only", async () => {
  const agent = direct({ actions, thread: true }, numberedPorts());
  const { agent: after, results } = await runInstructions(
    agent,
    [instruct("greet", { who: "anna" }), instruct("fail", { token: "s3cret" })],
    options,
  );
  expect(results).toMatchObject([
    { status: "ok", value: "Hello ANNA" },
    { status: "error", failure: { code: "action_failed" } },
  ]);
  const ofFirst = { action: "greet", instructionId: "instruction_1", paramKeys: ["who"] };
  const ofSecond = { action: "fail", instructionId: "instruction_2", paramKeys: ["token"] };
  expect(after.thread.toArray().map(({ kind, payload }) => [kind, payload])).toEqual([
    ["instruction_start", ofFirst],
    ["instruction_end", { ...ofFirst, status: "ok", durationMs: 1 }],
    ["instruction_start", ofSecond],
    ["instruction_end", { ...ofSecond, status: "error", code: "action_failed", durationMs: 1 }],
  ]);
  expect(after.thread.filterByRef("instructionId", "instruction_2")).toHaveLength(2);
  expect(JSON.stringify(after.thread)).not.toMatch(/anna|s3cret|1234/i);
});

describe("what is logged", () => {
  const start = { kind: "instruction_start", payload: { action: "greet", paramKeys: ["who"] } };
  const plain = specify(direct({ actions }));
  const greeting = instruct("greet", { who: "anna" });

  test("is nothing unless it is asked for", () => {
    plain.when(greeting).then([], [{ type: "run_action", action: "greet", instructionId: "instruction_1" }]);
    plain
      .given([greeting])
      .when({ type: "instruction_result", instructionId: "instruction_1", status: "ok" })
      .then([], []);
  });

  test("is what a single command asks for", () => {
    plain.when(greeting, { thread: true }).then([start], [{ type: "run_action", params: { who: "anna" } }]);
  });

  test("is everything on a thread that has entries, or that is given", () => {
    plain
      .given([{ kind: "note" }])
      .when(greeting)
      .then([start]);
    expect(direct({ actions, thread: Thread.create() }).logs).toBe(true);
  });

  test("is the end of what was begun, once", () => {
    const begun = specify(direct({ actions, thread: true })).given([greeting]);
    const result = { type: "instruction_result", instructionId: "instruction_1", status: "error" } as const;
    begun.when(result).then([{ kind: "instruction_end", payload: { status: "error", durationMs: 1 } }], []);
    begun.given([result]).when(result).then([], []);
    begun.when({ ...result, instructionId: "other" }).then([], []);
  });
});

describe("an instruction is refused, and the thread is as it was", () => {
  const agent = specify(direct({ actions, thread: true }));

  test("when there is no such action", () => {
    agent.when(instruct("fly")).thenRejects("unknown_action");
  });

  test("when its parameters do not fit; the error has where, and no value", async () => {
    agent.when(instruct("greet", { who: 7 })).thenRejects("invalid_params");
    const { results, agent: after } = await runInstructions(
      direct({ actions, thread: true }),
      [instruct("greet", { who: { secret: "1234" } })],
      options,
    );
    expect(results).toMatchObject([{ status: "error", failure: { code: "invalid_params" } }]);
    expect(JSON.stringify(results)).toContain("params.who");
    expect(JSON.stringify(results)).not.toContain("1234");
    expect(after.thread.rev).toBe(0);
  });

  test("when its id was used before", () => {
    const named = { ...instruct("greet", { who: "anna" }), instructionId: "i1" };
    agent.given([named]).when(named).thenRejects("instruction_id_reused");
  });
});

test("parameters that only a promise can judge are judged before the action runs", async () => {
  const agent = direct({ actions, thread: true });
  const { results, agent: after } = await runInstructions(
    agent,
    [instruct("slow", { n: -1 }), instruct("slow", { n: 2 })],
    options,
  );
  expect(results).toMatchObject([{ failure: { code: "invalid_params" } }, { status: "ok", value: 2 }]);
  expect(after.thread.rev).toBe(4);
});

test("an instruction that fails does not stop the next, unless it is to", async () => {
  const both = [instruct("fail"), instruct("greet", { who: "anna" })];
  const on = await runInstructions(direct({ actions }), both, options);
  expect(on.results.map(({ status }) => status)).toEqual(["error", "ok"]);
  const off = await runInstructions(direct({ actions, stopOnError: true }), both, options);
  expect(off.results.map(({ status }) => status)).toEqual(["error", "skipped"]);
});

test("what the caller has aborted is not begun", async () => {
  const signal = AbortSignal.abort();
  const { results, agent } = await runInstructions(direct({ actions, thread: true }), [instruct("fail")], {
    ...options,
    signal,
  });
  expect(results.map(({ status }) => status)).toEqual(["skipped"]);
  expect(agent.thread.rev).toBe(0);
});

describe("a schema", () => {
  const standard = (validate: (value: unknown) => never | { value: unknown }) =>
    ({ "~standard": { version: 1, vendor: "test", validate } }) as const;

  test("that is a function, as those of arktype are, is asked and not called", () => {
    const called = (): never => {
      throw new Error("called without a value");
    };
    const inputSchema = Object.assign(
      called,
      standard((value) => ({ value })),
    );
    const add = defineAction({ name: "add", inputSchema, run: () => 4 });
    const { directives } = cmd(direct({ actions: [add] }), instruct("add", { a: 1 }));
    expect(directives.map(({ type }) => type)).toEqual(["run_action"]);
  });

  test("that throws is the failure of its instruction, and the next one is run", async () => {
    const bad = defineAction({
      name: "bad",
      inputSchema: standard(() => {
        throw new Error("the secret is 1234");
      }),
      run: () => 1,
    });
    const agent = direct({ actions: [greet, bad], thread: true }, numberedPorts());
    const list = [instruct("greet", { who: "anna" }), instruct("bad"), instruct("greet", { who: "bob" })];
    const { results } = await runInstructions(agent, list, options);
    expect(results).toMatchObject([
      { status: "ok" },
      { status: "error", failure: { code: "action_failed", message: expect.stringContaining("schema of bad") } },
      { status: "ok" },
    ]);
    expect(JSON.stringify(results)).not.toContain("1234");
  });
});

test("on the end of a long thread a chosen id is refused, because it may be taken before that end", () => {
  const whole = Thread.create().append([{}, {}, {}]);
  const base = { activeLane: "default", lanes: {} };
  const tail = Thread.fromJSON({ ...whole.toJSON(), firstSeq: 2, base, entries: whole.slice(2, 2) });
  const agent = direct({ actions, thread: tail }, numberedPorts());
  const instruction = instruct("greet", { who: "anna" });
  expect(cmd(agent, instruction, {}).agent.thread.rev).toBe(4);
  expect(() => cmd(agent, { ...instruction, instructionId: "i1" }, {})).toThrow("partial: true");
});

test("an instruction without parameters has no paramKeys in the log", async () => {
  const { agent: after } = await runInstructions(direct({ actions, thread: true }), [instruct("fail")], options);
  expect(after.thread.toArray().map(({ payload }) => "paramKeys" in payload)).toEqual([false, false]);
});
