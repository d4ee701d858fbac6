import { StoreError, ToolError } from "heddle";
import { faultStore, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { toAll } from "../support/recovery-tools.ts";
import { anything, failureOf, gate, type Stage, stage, told } from "../support/stage.ts";

/** A tool that ends when a test says so, and the calls that it was run for. */
function slowTool(config: object = {}) {
  const ran: string[] = [];
  const ends = new Map<string, ReturnType<typeof gate<string>>>();
  const execute = (_input: unknown, { toolCallId }: { readonly toolCallId: string }) => {
    ran.push(toolCallId);
    const end = gate<string>();
    ends.set(toolCallId, end);
    return end.promise;
  };
  return { ran, end: (id: string) => ends.get(id)?.resolve("ok"), tool: { inputSchema: anything, execute, ...config } };
}

const calls = (...ids: readonly string[]) => ({ calls: ids.map((id) => ({ id, name: "slow" })) });
const results = async (on: Stage) =>
  (await on.log()).flatMap(({ refs, payload }) =>
    "role" in payload && payload["role"] === "tool" ? [[refs.toolCallId, String(Reflect.get(payload, "content"))]] : [],
  );

/** Whether a promise is settled without any time that passes. */
async function isSettled(on: Stage, promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  await on.settled();
  return settled;
}

describe("a server that stops", () => {
  test("without grace waits for no tool, and lets others have the thread", async () => {
    const on = await stage();
    const { tool, ran } = slowTool();
    const server = await on.start({ script: [calls("a")], tools: { slow: tool } });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    expect(ran).toEqual(["a"]);
    const stop = server.stop({ graceMs: 0 });
    expect(await isSettled(on, stop)).toBe(true);
    expect((await failureOf(request.result)).code).toBe("request_suspended");
    const next = await on.start({ script: ["Done."], tools: { slow: tool } }, { claimWaitMs: 0 });
    expect((await on.end(next.result(request.id))).text).toBe("Done.");
    expect(ran).toEqual(["a"]);
    expect(await results(on)).toEqual([["a", expect.stringContaining("unknown")]]);
    await toAll(on.store, on.threadId);
  });

  test("stores the result that ends within the grace, ends then, and calls no model", async () => {
    const on = await stage();
    const { tool, end } = slowTool();
    const server = await on.start({ script: [calls("a"), "Never."], tools: { slow: tool } });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    const stop = server.stop({ graceMs: 10_000 });
    expect(await isSettled(on, stop)).toBe(false);
    end("a");
    expect(await isSettled(on, stop)).toBe(true);
    expect((await failureOf(request.result)).code).toBe("request_suspended");
    expect(told(await on.log())).toEqual(["ask Go.", "calls a", "result a", "note"]);
    expect(await results(on)).toEqual([["a", "ok"]]);
    const next = await on.start({ script: ["Done."], tools: { slow: tool } });
    expect((await on.end(next.result(request.id))).text).toBe("Done.");
    await toAll(on.store, on.threadId);
  });

  test("stores an answer that ends within the grace, and leaves its calls to the next server, which runs each once", async () => {
    const on = await stage();
    const first = slowTool();
    const server = await on.start({ script: [{ ...calls("a", "b"), delayMs: 100 }], tools: { slow: first.tool } });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    await on.end(server.stop({ graceMs: 1_000 }));
    expect(first.ran).toEqual([]);
    const { tool, ran, end } = slowTool(); // not repeatable: it is known not to have run
    const next = await on.start({ script: ["Done."], tools: { slow: tool } });
    await on.settled();
    expect(ran).toEqual(["a", "b"]);
    end("a");
    end("b");
    expect((await on.end(next.result(request.id))).text).toBe("Done.");
    expect(await results(on)).toEqual([
      ["a", "ok"],
      ["b", "ok"],
    ]);
    await toAll(on.store, on.threadId);
  });

  test("begins no call that waits for its place, and hands over which had begun", async () => {
    const on = await stage();
    const first = slowTool();
    const server = await on.start({ script: [calls("a", "b")], tools: { slow: first.tool }, toolConcurrency: 1 });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    const stop = server.stop({ graceMs: 1_000 });
    await on.settled();
    first.end("a");
    await on.end(stop);
    expect(first.ran).toEqual(["a"]);
    const { tool, ran, end } = slowTool();
    const next = await on.start({ script: ["Done."], tools: { slow: tool } });
    await on.settled();
    expect(ran).toEqual(["b"]);
    end("b");
    expect((await on.end(next.result(request.id))).text).toBe("Done.");
  });

  test("leaves a call to the next server, which begins it at most once even if it is killed", async () => {
    const on = await stage();
    const blocking = slowTool();
    const paying = slowTool({ needsApproval: true });
    const tools = { slow: blocking.tool, pay: paying.tool, ask: { inputSchema: anything } };
    const script = [{ calls: [{ id: "p", name: "pay" }, ...calls("a").calls, { id: "q", name: "ask" }] }];
    const server = await on.start({ script, tools, toolConcurrency: 1 });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    const stop = server.stop({ graceMs: 1_000 });
    await on.settled();
    blocking.end("a");
    await on.end(stop);
    const store = faultStore(on.store);
    const killed = await on.start({ tools }, { store });
    await on.end(killed.approve("p"));
    await on.settled();
    expect(paying.ran).toEqual(["p"]);
    store.crash();
    const next = await on.start({ script: ["Done."], tools });
    await on.end(next.answer("q", "yes"));
    expect((await on.end(next.result(request.id))).text).toBe("Done.");
    expect(paying.ran).toEqual(["p"]);
    expect(await results(on)).toContainEqual(["p", expect.stringContaining("unknown")]);
  });

  test("leaves an approved call that has not begun to the next server", async () => {
    const on = await stage();
    const blocking = slowTool();
    const paying = slowTool({ needsApproval: true });
    const config = (pay: object, script: readonly object[]) =>
      ({ script, tools: { slow: blocking.tool, pay }, toolConcurrency: 1 }) as never;
    const both = { calls: [...calls("a").calls, { id: "p", name: "pay" }] };
    const server = await on.start(config(paying.tool, [both]));
    const request = await on.end(server.ask("Go."));
    await on.settled();
    // The place is taken: the call is approved, and waits.
    const asks = await isSettled(on, server.approve("p"));
    await on.end(server.stop({ graceMs: 0 }));
    const next = await on.start(config(paying.tool, [{ text: "Done." }]));
    await on.settled();
    if (!asks || next.request?.state === "waiting") await on.end(next.approve("p"));
    await on.settled();
    expect(paying.ran).toEqual(["p"]);
    paying.end("p");
    expect((await on.end(next.result(request.id))).text).toBe("Done.");
  });

  test("does not wait for the retry of a model call, and makes none", async () => {
    const on = await stage();
    const model = scriptedModel([{ error: { status: 503 } }, "Late."], { after: on.ports.after });
    const server = await on.start({ model, modelRetryBackoffMs: 3_000 });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    expect(await isSettled(on, server.stop({ graceMs: 10_000 }))).toBe(true);
    expect((await failureOf(request.result)).code).toBe("request_suspended");
    await on.pass(10_000);
    expect(model.requests).toHaveLength(1);
    const next = await on.start({ model });
    expect((await on.end(next.result(request.id))).text).toBe("Late.");
    await toAll(on.store, on.threadId);
  });

  test.each([
    ["repeatable tool is run again by the next server", { repeatable: true }, ["t", "t"], ["t", "ok"]],
    ["other tool has failed", { maxRetries: 1 }, ["t"], ["t", expect.stringContaining("busy")]],
  ])("makes no further attempt of a tool: a %s", async (_, config, ran, result) => {
    const on = await stage();
    const attempts: string[] = [];
    const execute = (_input: unknown, { toolCallId }: { readonly toolCallId: string }) => {
      attempts.push(toolCallId);
      if (attempts.length === 1) throw new ToolError({ message: "busy", retryable: true });
      return "ok";
    };
    const tools = { slow: { inputSchema: anything, execute, ...config } };
    const server = await on.start({ script: [calls("t")], tools, toolRetryBackoffMs: 2_000 });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    expect(await isSettled(on, server.stop({ graceMs: 10_000 }))).toBe(true);
    expect(attempts).toEqual(["t"]);
    const next = await on.start({ script: ["Done."], tools });
    expect((await on.end(next.result(request.id))).text).toBe("Done.");
    expect(attempts).toEqual(ran);
    expect(await results(on)).toEqual([result]);
    await toAll(on.store, on.threadId);
  });

  test("does not wait for the retry of a summary, and makes none", async () => {
    const on = await stage();
    const small = scriptedModel([{ error: { status: 503 } }, "The sum."], { after: on.ports.after });
    const contextPolicy = { keepLastTurns: 1, autoSummarize: true, summarizeThreshold: 3, summarizationModel: "small" };
    const config = { models: { small }, contextPolicy, modelRetryBackoffMs: 3_000 } as const;
    const server = await on.start({ script: ["1.", "2."], ...config });
    for (const text of ["One?", "Two?"]) await on.end((await on.end(server.ask(text.repeat(200)))).result);
    const request = await on.end(server.ask("Three?"));
    await on.settled();
    expect(await isSettled(on, server.stop({ graceMs: 10_000 }))).toBe(true);
    expect(small.requests).toHaveLength(1);
    const next = await on.start({ script: ["3."], ...config });
    expect((await on.end(next.result(request.id))).text).toBe("3.");
    expect(small.requests).toHaveLength(2);
    await toAll(on.store, on.threadId);
  });

  test("ends a request that is being cancelled", async () => {
    const on = await stage();
    const { tool } = slowTool();
    const server = await on.start({ script: [calls("a")], tools: { slow: tool } });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    const cancel = server.cancel();
    await on.settled();
    await on.end(server.stop({ graceMs: 0 }));
    expect(await on.end(cancel)).toBe(true);
    expect((await failureOf(request.result)).code).toBe("request_cancelled");
    expect(told(await on.log()).at(-1)).toBe("error end:cancelled");
  });

  test.each([
    ["an error of the store", new StoreError({ code: "store_failed", message: "The store is gone." })],
    ["any other error", new TypeError("no")],
  ])("resolves with a warning when its claim cannot be released: %s", async (_, error) => {
    const release = () => Promise.reject(error);
    const on = await stage({ around: (store) => ({ ...store, release }) });
    const server = await on.start({ script: ["Done."] });
    await on.end((await on.end(server.ask("Go."))).result);
    await on.end(server.stop());
    expect(on.warnings).toEqual([expect.stringContaining("its claim could not be released")]);
    expect(told(await on.log())).toEqual(["ask Go.", "says Done. end:completed"]);
  });
});
