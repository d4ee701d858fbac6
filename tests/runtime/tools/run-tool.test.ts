import { describe, expect, test } from "vitest";
import * as z from "zod";
import { ToolError } from "../../../src/agent/definition/errors.ts";
import { defineTool, type ToolOptions } from "../../../src/agent/definition/tool.ts";
import { runTool } from "../../../src/runtime/tools/run-tool.ts";
import { StoreError } from "../../../src/stores/errors.ts";
import { call, errorIn, object, run } from "./support/call.ts";
import { world } from "./support/world.ts";

describe("a tool that works", () => {
  test("gives its text to the model, and says how long it took", async () => {
    const { ports, pass } = world();
    const running = run(
      { execute: () => new Promise((resolve) => ports.after(30, () => resolve("18 degrees"))) },
      {},
      { ports },
    );
    await pass(30);
    expect(await running).toEqual({ content: "18 degrees", isError: false, attempts: 1, durationMs: 30 });
  });

  test("gets the validated input, the context under both names, the call's id and a signal", async () => {
    const told: unknown[] = [];
    const context = { user: "u1" };
    const probe = defineTool({
      inputSchema: z.object({ n: z.string().transform(Number), unit: z.string().default("C") }),
      execute: (input, options: ToolOptions<{ user: string }>) => {
        told.push(input, options.context, options.experimental_context, options.toolCallId, options.abortSignal);
        return null;
      },
    });
    await runTool(call({ n: "5" }), { tools: { probe }, context });
    expect(told).toEqual([{ n: 5, unit: "C" }, context, context, "call_1", expect.any(AbortSignal)]);
    expect(told[1]).toBe(context);
  });

  test("writes no part for the page after it has returned", async () => {
    const written: unknown[] = [];
    const writers: ToolOptions["write"][] = [];
    const part = (data: number) => ({ type: "data-x", data }) as const;
    const plain = (_: never, { write }: ToolOptions) => {
      writers.push(write);
      write(part(1));
    };
    async function* generator(_: never, { write }: ToolOptions) {
      writers.push(write);
      yield "so far";
      write(part(2));
    }
    for (const execute of [plain, generator]) {
      await run({ execute }, {}, { onData: ({ data }) => void written.push(data) });
    }
    for (const write of writers) write(part(3));
    expect(written).toEqual([1, 2]);
    expect(writers).toHaveLength(2);
  });

  test("gets the conversation as the AI SDK passes it, without system prompts", async () => {
    let told: unknown;
    await run(
      {
        execute: (_: never, { messages }: ToolOptions) => {
          told = messages;
        },
      },
      {},
      {
        messages: [
          { role: "system", content: "Be brief" },
          { role: "user", content: "Hi" },
        ],
      },
    );
    expect(told).toEqual([{ role: "user", content: "Hi" }]);
  });

  test("may write into its input, which is a copy of what the log keeps", async () => {
    const logged = call(Object.freeze({ list: Object.freeze([1]) }));
    const execute = (input: { list: number[] }) => input.list.push(2);
    expect((await runTool(logged, { tools: { probe: { inputSchema: object, execute } } })).content).toBe("2");
    expect(logged.arguments).toEqual({ list: [1] });
  });

  test("keeps its this, so that a class instance can be a tool", async () => {
    class Counter {
      readonly inputSchema = object;
      count = 41;
      execute(): number {
        return ++this.count;
      }
    }
    expect((await runTool(call(), { tools: { probe: new Counter() } })).content).toBe("42");
  });

  test("gets an empty object where the model sent nothing", async () => {
    expect((await run({ execute: (input: object) => Object.keys(input).length }, "")).content).toBe("0");
  });
});

describe("a call that cannot run", () => {
  test("of an unknown tool fails with the names of the known ones", async () => {
    const result = await runTool(call({}, "serch"), {
      tools: { search: { inputSchema: object }, read: { inputSchema: object } },
    });
    expect(result).toMatchObject({ isError: true, attempts: 0, failure: { code: "tool_unknown" } });
    expect(errorIn(result)).toEqual({
      type: "tool_unknown",
      message: 'There is no tool "serch". Known tools: search, read.',
    });
  });

  test.each(["toString", "__proto__", "constructor"])("finds no tool in what every object has: %s", async (name) => {
    expect((await runTool(call({}, name), { tools: {} })).failure?.code).toBe("tool_unknown");
  });

  test("of a tool without execute says so", async () => {
    expect(await run({})).toMatchObject({ isError: true, attempts: 0, failure: { code: "tool_not_executable" } });
  });
});

describe("what a tool throws", () => {
  test("is shown only to the model", async () => {
    const result = await run({ execute: () => Promise.reject(new TypeError("no row for key hunter2")) });
    expect(errorIn(result)).toEqual({ type: "tool_failed", message: "no row for key hunter2" });
    expect(result.failure).toEqual({
      code: "tool_failed",
      message: "The tool probe threw an instance of TypeError. The model was shown its message.",
      retryable: false,
    });
    expect(result).toMatchObject({ isError: true, attempts: 1 });
  });

  test("keeps the code and the message of a ToolError", async () => {
    const error = new ToolError({ code: "no_seats", message: "The train is full." });
    const { failure, ...result } = await run({
      execute: () => {
        throw error;
      },
    });
    expect(failure).toEqual({ code: "no_seats", message: "The train is full.", retryable: false });
    expect(errorIn(result)).toEqual({ type: "no_seats", message: "The train is full." });
  });

  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  test.each([
    ["a text", "went wrong", "went wrong"],
    ["nothing", undefined, "It threw undefined without a message."],
    ["an error without a message", new Error(""), "It threw an instance of Error without a message."],
    ["half a character", new Error("cut \ud83d"), "cut \ufffd"],
    ["a revoked proxy", revoked.proxy, "It threw an object without a message."],
  ])("can be anything: %s", async (_, error, message) => {
    expect(
      errorIn(
        await run({
          execute: () => {
            throw error;
          },
        }),
      ),
    ).toEqual({ type: "tool_failed", message });
  });

  test("is cut when it is endless", async () => {
    const result = await run({
      execute: () => {
        throw new Error("x".repeat(1_000_000));
      },
    });
    expect(errorIn(result).message).toHaveLength(8_003);
  });
});

describe("retries", () => {
  const retryable = (): never => {
    throw new ToolError({ message: "Busy.", retryable: true });
  };

  test.each([
    ["never by themselves", {}, {}, 1],
    ["as often as the agent says", {}, { maxRetries: 2 }, 3],
    ["once when the tool is repeatable", { repeatable: true }, {}, 2],
    ["more when the agent says so too", { repeatable: true }, { maxRetries: 3 }, 4],
    ["never when the tool is not repeatable, whatever the agent says", { repeatable: false }, { maxRetries: 3 }, 1],
    ["as the tool says, whatever the agent says", { maxRetries: 0, repeatable: true }, { maxRetries: 3 }, 1],
  ])("happen %s", async (_, traits, options, attempts) => {
    const { ports, pass } = world();
    const running = run({ execute: retryable, ...traits }, {}, { ports, ...options });
    await pass(60_000);
    expect(await running).toMatchObject({ attempts, isError: true });
  });

  const hang = () => new Promise(() => undefined);
  async function* partly() {
    yield "so far";
    await hang();
  }

  test.each([
    ["not as often as the agent says", {}, 1],
    ["as the agent says when the tool is repeatable", { repeatable: true }, 3],
    ["never when the tool is not repeatable", { repeatable: false }, 1],
    ["as the tool says", { maxRetries: 1 }, 2],
  ])("of a call that took too long, so that it may have acted, happen %s", async (_, traits, attempts) => {
    for (const execute of [hang, partly]) {
      const { ports, pass } = world();
      const running = run({ execute, ...traits }, {}, { ports, maxRetries: 2, timeoutMs: 100 });
      await pass(60_000);
      expect((await running).attempts).toBe(attempts);
    }
  });

  test("happen only for errors that say they are retryable, of whatever class", async () => {
    const facts = { code: "store_busy", message: "Busy." };
    for (const [error, attempts] of [
      [new Error("no"), 1],
      [new StoreError({ ...facts, retryable: true }), 3],
      [new StoreError(facts), 1],
      [Object.assign(new Error("yes"), { retryable: true }), 3],
      [Object.assign(new Error("maybe"), { retryable: "true" }), 1],
    ] as const) {
      const { ports, pass } = world();
      const running = run({ execute: () => Promise.reject(error) }, {}, { ports, maxRetries: 2 });
      await pass(60_000);
      expect((await running).attempts).toBe(attempts);
    }
  });

  test("end with the first success, on a fresh copy of the arguments", async () => {
    const { ports, pass } = world();
    const seen: unknown[] = [];
    const execute = (input: { n: number }) => {
      seen.push(input.n);
      input.n = 99;
      return seen.length < 3 ? retryable() : "done";
    };
    const running = run({ execute }, { n: 1 }, { ports, maxRetries: 5 });
    await pass(60_000);
    expect(await running).toMatchObject({ content: "done", isError: false, attempts: 3 });
    expect(seen).toEqual([1, 1, 1]);
  });

  test.each([
    ["twice as long each time", 0, undefined, [0, 200, 600]],
    ["less by chance, by a half at most", 0.999999, undefined, [0, 100, 300]],
    ["at least as long as the error asks", 0, 1_000, [0, 1_000, 2_000]],
    ["at most a minute", 0, 10_000_000, [0, 60_000, 120_000]],
  ])("wait %s", async (_, random, retryAfterMs, starts) => {
    const { ports, pass } = world(random);
    const began: number[] = [];
    const execute = (): never => {
      began.push(ports.clock() - 1_000);
      throw new ToolError({ message: "Busy.", retryable: true, ...(retryAfterMs !== undefined && { retryAfterMs }) });
    };
    const running = run({ execute }, {}, { ports, maxRetries: 2 });
    await pass(200_000);
    await running;
    expect(began).toEqual(starts);
  });
});
