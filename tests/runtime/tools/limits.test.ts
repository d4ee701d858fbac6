import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AnyTool, ToolOptions } from "../../../src/agent/definition/tool.ts";
import type { RuntimePorts } from "../../../src/runtime/ports.ts";
import { given, run } from "./support/call.ts";
import { never, world } from "./support/world.ts";

const unhandled: unknown[] = [];
const listen = (error: unknown): void => void unhandled.push(error);
beforeEach(() => void process.on("unhandledRejection", listen));
afterEach(() => {
  process.off("unhandledRejection", listen);
  expect(unhandled.splice(0)).toEqual([]);
});

describe("a timeout", () => {
  test("ends an attempt of a tool that never returns, and aborts its signal", async () => {
    const { ports, pass, timers } = world();
    let signal: AbortSignal | undefined;
    const execute = (_: never, options: ToolOptions) => {
      signal = options.abortSignal;
      return never;
    };
    const running = run({ execute }, {}, { ports, timeoutMs: 500, graceMs: 0 });
    await pass(499);
    expect(signal?.aborted).toBe(false);
    await pass(1);
    expect(await running).toMatchObject({
      isError: true,
      attempts: 1,
      durationMs: 500,
      failure: { code: "tool_timeout", retryable: true },
    });
    expect(signal?.aborted).toBe(true);
    expect(timers()).toBe(0);
  });

  test("is a minute, the agent's or the tool's own, which wins", async () => {
    for (const [tool, options, ms] of [
      [{}, {}, 60_000],
      [{}, { timeoutMs: 700 }, 700],
      [{ timeoutMs: 90 }, { timeoutMs: 700 }, 90],
    ] as const) {
      const { ports, pass } = world();
      const running = run({ execute: () => never, ...tool }, {}, { ports, graceMs: 0, ...options });
      await pass(100_000);
      expect((await running).durationMs).toBe(ms);
    }
  });

  test("starts again for each attempt", async () => {
    const { ports, pass } = world();
    const running = run({ execute: () => never, timeoutMs: 100, maxRetries: 1 }, {}, { ports, graceMs: 0 });
    await pass(10_000);
    expect(await running).toMatchObject({ attempts: 2, durationMs: 100 + 200 + 100 });
  });

  test("also ends a schema and a toModelOutput that never answer", async () => {
    const hanging = { "~standard": { version: 1, vendor: "test", validate: () => never } } as const;
    const { ports, pass } = world();
    const validating = run({ inputSchema: hanging, execute: () => 1 }, {}, { ports });
    const telling = run({ execute: () => 1, toModelOutput: () => never }, {}, { ports });
    await pass(61_000);
    expect(await validating).toMatchObject({ attempts: 0, failure: { code: "tool_timeout" } });
    expect(await telling).toMatchObject({ attempts: 1, failure: { code: "tool_output_failed", retryable: false } });
  });

  test("a rejection that comes later is ignored", async () => {
    const { ports, pass } = world();
    const execute = () => new Promise((_, reject) => ports.after(900, () => reject(new Error("late"))));
    const running = run({ execute }, {}, { ports, timeoutMs: 100, graceMs: 300 });
    await pass(2_000);
    expect((await running).failure?.code).toBe("tool_timeout");
  });
});

describe("an abort", () => {
  test("before the call begins keeps the tool from running", async () => {
    let ran = false;
    const execute = () => {
      ran = true;
    };
    const result = await run({ execute }, {}, { signal: AbortSignal.abort() });
    expect(result).toMatchObject({ isError: true, attempts: 0, failure: { code: "tool_aborted" } });
    expect(ran).toBe(false);
  });

  test("reaches the tool with its reason, and its end is the call's end", async () => {
    const { ports, pass, timers } = world();
    const controller = new AbortController();
    let reason: unknown;
    const execute = (_: never, { abortSignal }: ToolOptions) =>
      new Promise((_resolve, reject) =>
        abortSignal.addEventListener("abort", () => {
          reason = abortSignal.reason;
          reject(reason as Error);
        }),
      );
    const running = run({ execute }, {}, { ports, signal: controller.signal });
    await pass(10);
    controller.abort("the user left");
    expect(await running).toMatchObject({
      isError: true,
      attempts: 1,
      durationMs: 10,
      failure: { code: "tool_aborted" },
    });
    expect(reason).toBe("the user left");
    expect(timers()).toBe(0);
  });

  test("waits for a tool that ignores it only as long as the grace time, and not for its timeout", async () => {
    const { ports, pass, timers } = world();
    const controller = new AbortController();
    const running = run(
      { execute: () => never },
      {},
      { ports, signal: controller.signal, graceMs: 300, timeoutMs: 200 },
    );
    await pass(100);
    controller.abort();
    await pass(300);
    expect(await running).toMatchObject({ durationMs: 400, failure: { code: "tool_aborted", retryable: false } });
    expect(timers()).toBe(0);
  });

  test("keeps the result of a tool that finished within the grace time: it did happen", async () => {
    const { ports, pass } = world();
    const controller = new AbortController();
    const execute = () => new Promise((resolve) => ports.after(100, () => resolve("booked")));
    const running = run({ execute }, {}, { ports, signal: controller.signal });
    await pass(50);
    controller.abort();
    await pass(50);
    expect(await running).toMatchObject({ content: "booked", isError: false });
  });

  test("ends the wait before a retry at once", async () => {
    const { ports, pass, timers } = world();
    const controller = new AbortController();
    const error = Object.assign(new Error("busy"), { retryable: true });
    const options = { ports, signal: controller.signal, maxRetries: 3, backoffMs: 10_000 };
    const running = run({ execute: () => Promise.reject(error) }, {}, options);
    await pass(50);
    controller.abort();
    const message = "The call of probe was interrupted; its outcome is unknown.";
    expect(await running).toMatchObject({ attempts: 1, durationMs: 50, failure: { code: "tool_aborted", message } });
    expect(timers()).toBe(0);
  });

  test("leaves no listener on a signal that many calls share", async () => {
    const { ports, pass } = world();
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...given: Parameters<typeof add>) => {
      listeners++;
      add(...given);
    };
    signal.removeEventListener = (...given: Parameters<typeof remove>) => {
      listeners--;
      remove(...given);
    };
    await run({ execute: () => 1 }, {}, { ports, signal });
    const running = run({ execute: () => never, timeoutMs: 10, maxRetries: 2 }, {}, { ports, signal });
    await pass(10_000);
    expect((await running).attempts).toBe(3);
    expect(listeners).toBe(0);
  });
});

describe("a heartbeat", () => {
  test("comes at its interval while the call runs, and no longer", async () => {
    const { ports, pass, timers } = world();
    const beats: unknown[] = [];
    const execute = () => new Promise((resolve) => ports.after(12_000, () => resolve("done")));
    const running = run({ execute }, {}, { ports, onHeartbeat: (beat) => beats.push(beat) });
    await pass(60_000);
    await running;
    const whose = { toolCallId: "call_1", toolName: "probe" };
    expect(beats).toEqual([
      { ...whose, elapsedMs: 5_000 },
      { ...whose, elapsedMs: 10_000 },
    ]);
    expect(timers()).toBe(0);
  });

  test("of 0 is none", async () => {
    const { ports, timers } = world();
    void run({ execute: () => never }, {}, { ports, heartbeatMs: 0, onHeartbeat: () => undefined });
    expect(timers()).toBe(1); // that of the timeout
  });

  test("that fails does not end the call", async () => {
    const { ports, pass } = world();
    const execute = () => new Promise((resolve) => ports.after(20, () => resolve("done")));
    const onHeartbeat = (): never => {
      throw new Error("no");
    };
    const running = run({ execute }, {}, { ports, heartbeatMs: 5, onHeartbeat });
    await pass(100);
    expect((await running).content).toBe("done");
  });
});

describe("a generator", () => {
  async function* counting(to: number) {
    for (let n = 1; n <= to; n++) yield { n };
  }

  test("gives its last value, and each is a heartbeat", async () => {
    let beats = 0;
    const result = await run({ execute: () => counting(3) }, {}, { heartbeatMs: 0, onHeartbeat: () => void beats++ });
    expect(result).toMatchObject({ content: '{"n":3}', attempts: 1 });
    expect(beats).toBe(3);
  });

  test("that yields nothing gives what it returns", async () => {
    const returning = (value?: string) => ({
      [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value }) }),
    });
    expect((await run({ execute: () => returning("all") })).content).toBe("all");
    expect((await run({ execute: () => returning() })).content).toBe("null");
  });

  test("that throws is an error, whatever it yielded before", async () => {
    const result = await run({
      async *execute() {
        yield "half";
        throw new Error("broke");
      },
    });
    expect(result).toMatchObject({ isError: true, failure: { code: "tool_failed" } });
  });

  test("that never ends is timed out and closed, however fast it yields; its last output is the result", async () => {
    const { ports, pass } = world();
    let closed = false;
    const running = run(
      {
        async *execute() {
          try {
            for (;;) yield 1;
          } finally {
            closed = true;
          }
        },
        timeoutMs: 1,
      },
      {},
      { ports: { ...ports, after: (ms, run) => ports.after(Math.max(ms, 0.5), run) } },
    );
    await pass(10);
    expect(await running).toMatchObject({
      content: "1\n[Partial result: the tool took too long and was stopped.]",
      isError: false,
      partial: "timed_out",
    });
    expect(closed).toBe(true);
  });

  test("that throws keeps its last output beside the error", async () => {
    const thrown = (values: readonly unknown[], more: Partial<AnyTool> = {}) => {
      async function* execute() {
        yield* values;
        throw new Error("exit code 1");
      }
      return run({ execute, ...more });
    };
    const error = { type: "tool_failed", message: "exit code 1" };
    const errorOf = async (result: Promise<{ readonly content: unknown }>) =>
      JSON.parse(String((await result).content));
    expect(await errorOf(thrown(["1 test", "2 tests\n1 FAILED"]))).toEqual({
      error: { ...error, output: "2 tests\n1 FAILED" },
    });
    expect(await errorOf(thrown([{ done: 3 }]))).toEqual({ error: { ...error, output: { done: 3 } } });
    expect(await errorOf(thrown([]))).toEqual({ error });
    const toModelOutput = () => ({ type: "text", value: "hidden" }) as const;
    expect(await thrown(["secret"], { toModelOutput })).toMatchObject({ isError: true, details: "secret" });
    expect(await errorOf(thrown(["secret"], { toModelOutput }))).toEqual({ error: { ...error, output: "hidden" } });
  });

  describe("that is stopped", () => {
    const CANCELLED = "[Partial result: the request was cancelled while the tool ran.]";
    const TIMED_OUT = "[Partial result: the tool took too long and was stopped.]";

    /** Runs a generator for 10 ms, then cancels it, or lets it time out. */
    async function stopped(
      execute: AnyTool["execute"],
      how: "cancel" | "timeout",
      ports: RuntimePorts,
      pass: (ms: number) => Promise<void>,
    ) {
      const controller = new AbortController();
      const timeoutMs = how === "timeout" ? 10 : 60_000;
      const running = run({ execute, timeoutMs }, {}, { ports, signal: controller.signal });
      await pass(10);
      if (how === "cancel") controller.abort();
      await pass(2_000);
      return running;
    }

    test.each(["cancel", "timeout"] as const)("by a %s gives its last output, marked partial", async (how) => {
      const { ports, pass } = world();
      const note = how === "cancel" ? CANCELLED : TIMED_OUT;
      async function* waiting() {
        yield { charged: 1 };
        yield { charged: 2 };
        await new Promise<void>((resolve) => ports.after(10_000, resolve));
        yield { charged: 3 };
      }
      expect(await stopped(waiting, how, ports, pass)).toMatchObject({
        content: `{"charged":2}\n${note}`,
        isError: false,
        partial: how === "cancel" ? "cancelled" : "timed_out",
        attempts: 1,
      });
    });

    test.each(["cancel", "timeout"] as const)("by a %s and returns its output gives that", async (how) => {
      const { ports, pass } = world();
      async function* heeding(_: never, { abortSignal }: ToolOptions) {
        yield { charged: 1 };
        await new Promise<void>((resolve) => abortSignal.addEventListener("abort", () => resolve()));
        return { charged: 2 };
      }
      expect((await stopped(heeding as never, how, ports, pass)).content).toBe(
        `{"charged":2}\n${how === "cancel" ? CANCELLED : TIMED_OUT}`,
      );
    });

    test("and throws because of it gives its last output", async () => {
      const { ports, pass } = world();
      async function* throwing(_: never, { abortSignal }: ToolOptions) {
        yield "half";
        await new Promise<void>((_resolve, reject) =>
          abortSignal.addEventListener("abort", () => reject(new Error("aborted"))),
        );
      }
      expect((await stopped(throwing as never, "cancel", ports, pass)).content).toBe(`half\n${CANCELLED}`);
    });

    test("before any output is interrupted, as any tool", async () => {
      const { ports, pass } = world();
      async function* silent() {
        await new Promise<void>((resolve) => ports.after(10_000, resolve));
        yield "late";
      }
      expect((await stopped(silent, "cancel", ports, pass)).failure?.code).toBe("tool_aborted");
      expect((await stopped(silent, "timeout", ports, pass)).failure?.code).toBe("tool_timeout");
    });

    test("makes way for a retry, where one is allowed", async () => {
      const { ports, pass } = world();
      let attempt = 0;
      async function* slowOnce() {
        yield "half";
        if (attempt++ === 0) await never;
        yield "whole";
      }
      const running = run({ execute: slowOnce, timeoutMs: 10, repeatable: true }, {}, { ports });
      await pass(5_000);
      expect(await running).toMatchObject({ content: "whole", attempts: 2 });
    });
  });

  test("a plain tool that gives what it has when its time is up has a result, marked partial", async () => {
    const { ports, pass } = world();
    const execute = (_: never, { abortSignal }: ToolOptions) =>
      new Promise((resolve) => abortSignal.addEventListener("abort", () => resolve({ rows: 3 })));
    const running = run({ execute, timeoutMs: 10 }, {}, { ports });
    await pass(10);
    expect(await running).toMatchObject({
      content: '{"rows":3}\n[Partial result: the tool took too long and was stopped.]',
      partial: "timed_out",
    });
  });

  test("whose return throws does no harm", async () => {
    const { ports, pass } = world();
    const execute = () => ({
      [Symbol.asyncIterator]: () => ({
        next: () => never,
        return: () => {
          throw new Error("no");
        },
      }),
    });
    const running = run({ execute, timeoutMs: 5 }, {}, { ports, graceMs: 50 });
    await pass(100);
    expect((await running).failure?.code).toBe("tool_timeout");
  });
});

test("every call of many has its own limits", async () => {
  const { ports, pass } = world();
  const running = Promise.all([
    given("a", { ports }),
    run({ execute: () => never }, {}, { ports, timeoutMs: 10, graceMs: 10 }),
  ]);
  await pass(100);
  expect((await running).map(({ isError }) => isError)).toEqual([false, true]);
});
