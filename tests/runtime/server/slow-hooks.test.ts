import type { AgentServer } from "heddle";
import { describe, expect, test } from "vitest";
import { anything, eventsOf, expectWhole, failureOf, gate, type Stage, stage, told } from "../support/stage.ts";

const look = { inputSchema: anything, execute: () => "seen" };
const script = [{ text: "Looking.", calls: [{ id: "l", name: "look" }] }, "Seen."];
/** A process with the same name as the one before takes the thread over at once. */
const NODE = { holder: "node" };

/** Resolves after so many milliseconds of the test's clock. */
const slow =
  <Value>(on: Stage, value: Value, ms = 20) =>
  (): Promise<Value> =>
    new Promise((resolve) => void on.ports.after(ms, () => resolve(value)));

const result = async (on: Stage, server: AgentServer) => on.end((await on.end(server.ask("Look."))).result);

describe("accept that takes its time", () => {
  test("refuses an ask, and lets one through", async () => {
    const on = await stage();
    const answers = ["Closed today.", undefined];
    const accept = () => slow(on, answers.shift())();
    const server = await on.start({ script: ["Hi."], accept });
    expect(await failureOf(on.end(server.ask("Go.")))).toMatchObject({
      code: "not_accepted",
      message: "Closed today.",
    });
    expect(await on.log()).toEqual([]);
    expect((await result(on, server)).text).toBe("Hi.");
  });

  test("and never answers refuses the ask with its code, which onError gets", async () => {
    const on = await stage();
    const codes: string[] = [];
    const onError = (_error: unknown, { code }: { readonly code: string }) => void codes.push(code);
    const config = { script: ["Hi."], accept: () => gate<string>().promise, hookTimeoutMs: 50 };
    const server = await on.start(config, { onError });
    expect(await failureOf(on.end(server.ask("Go.")))).toMatchObject({ code: "accept_failed" });
    expect([codes, await on.log()]).toEqual([["accept_failed"], []]);
  });

  test("is not asked about an ask that the agent refuses itself", async () => {
    const on = await stage();
    let calls = 0;
    const server = await on.start({ script: [], accept: () => void calls++ as undefined });
    expect((await failureOf(on.end(server.ask("  ")))).code).toBe("empty_ask");
    expect(calls).toBe(0);
  });
});

describe("stopWhen and costUsd that take their time", () => {
  test("complete the request with its results", async () => {
    for (const [reason, config] of [
      ["stopped", (on: Stage) => ({ stopWhen: [slow(on, false), slow(on, true)] })],
      ["limit", (on: Stage) => ({ limits: { maxCostUsd: 1, costUsd: slow(on, 1) } })],
      ["final_answer", (on: Stage) => ({ stopWhen: slow(on, false), limits: { maxCostUsd: 1, costUsd: slow(on, 0) } })],
    ] as const) {
      const on = await stage();
      const server = await on.start({ script, tools: { look }, ...config(on) });
      expect((await result(on, server)).terminationReason).toBe(reason);
      expect(on.warnings).toEqual([]);
    }
  });

  test("count the answer that steers would follow", async () => {
    const on = await stage();
    const limits = { maxCostUsd: 1, costUsd: slow(on, 1) };
    const server = await on.start({ script: [{ text: "Hi.", delayMs: 50 }, "More."], limits });
    const request = await on.end(server.ask("Go."));
    const { receipt } = await on.end(server.followUp("And?"));
    expect((await on.end(request.result)).text).toBe("Hi.");
    expect(await on.end(receipt)).toMatchObject({ delivered: false });
  });

  test("and never answer end the request with a code, or at the limit", async () => {
    const never = () => gate<never>().promise;
    const on = await stage();
    const server = await on.start({ script, tools: { look }, stopWhen: never, hookTimeoutMs: 50 });
    const request = await on.end(server.ask("Look."));
    const { failure } = await failureOf(on.end(request.result));
    expect(failure).toMatchObject({ code: "stop_when_failed", message: expect.stringContaining("within 50 ms") });
    expectWhole(await eventsOf(request));
    const priced = await stage();
    const limits = { maxCostUsd: 1, costUsd: never };
    const other = await priced.start({ script, tools: { look }, limits, hookTimeoutMs: 50 });
    expect((await result(priced, other)).terminationReason).toBe("limit");
    expect(priced.warnings.join()).toContain("costUsd");
  });

  test("do not hold up a cancel, a finish or a time limit", async () => {
    for (const [end, act] of [
      ["cancelled", (server: AgentServer) => server.cancel()],
      ["completed", (server: AgentServer) => server.finish()],
      ["failed", async () => undefined],
    ] as const) {
      const on = await stage();
      const waits = gate<boolean>();
      const limit = end === "failed" ? { totalTimeoutMs: 100 } : {};
      const server = await on.start({ script, tools: { look }, stopWhen: () => waits.promise, ...limit });
      const request = await on.end(server.ask("Look."));
      await on.settled();
      const acting = act(server);
      await on.settled();
      if (end === "completed") waits.resolve(false);
      await on.end(Promise.all([acting, request.result.catch(() => undefined)]));
      const events = await eventsOf(request);
      expectWhole(events);
      expect(events.at(-1)?.kind).toBe(`request_${end}`);
      expect(told(await on.log()).slice(1, 3)).toEqual(["calls l", "result l"]);
    }
  });

  test("let words in that came meanwhile", async () => {
    const on = await stage();
    const config = { script: [script[0] ?? "", { expect: "Also there.", text: "Seen." }], tools: { look } };
    const server = await on.start({ ...config, stopWhen: slow(on, false, 500) });
    const request = await on.end(server.ask("Look."));
    await on.settled();
    expect((await on.end(server.steer("Also there."))).accepted).toBe(true);
    expect((await on.end(request.result)).text).toBe("Seen.");
  });

  test("are asked again by the next process, which calls no model in between", async () => {
    for (const kill of [true, false]) {
      const on = await stage();
      const first = await on.start({ script, tools: { look }, stopWhen: () => gate<boolean>().promise }, NODE);
      const { id } = await on.end(first.ask("Look."));
      await on.settled();
      if (!kill) await on.end(first.stop({ graceMs: 0 }));
      // A stop is no crash, so that also an agent that resumes nothing goes on.
      const recover = kill ? "resume" : "fail";
      const second = await on.start({ script: [], tools: { look }, stopWhen: slow(on, true), recover }, NODE);
      expect((await on.end(second.result(id))).terminationReason).toBe("stopped");
    }
  });
});
