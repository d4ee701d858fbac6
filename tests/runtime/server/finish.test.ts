import { hasToolCall, react } from "heddle";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { anything, eventsOf, expectWhole, failureOf, gate, proveAll, stage, told } from "../support/stage.ts";

const look = { inputSchema: anything, execute: () => "seen" };
const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };

describe("finish ends a request with what there is", () => {
  test("while the model speaks: its answer is kept", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ text: "Four.", delayMs: 100 }] });
    const request = await on.end(server.ask("What's 2+2?"));
    const finished = server.finish();
    expect(await on.end(finished)).toBe(true);
    const { text, terminationReason } = await request.result;
    expect({ text, terminationReason }).toEqual({ text: "Four.", terminationReason: "final_answer" });
    expectWhole(await eventsOf(request));
  });

  test("while the model calls: the call does not run, and has its result", async () => {
    const on = await stage();
    const server = await on.start({
      script: [{ text: "Looking.", calls: [{ name: "look" }], delayMs: 100 }],
      tools: { look: { ...look, execute: () => expect.unreachable() } },
    });
    const request = await on.end(server.ask("Look."));
    await on.end(server.finish(request.id));
    const { text, terminationReason, usage } = await request.result;
    expect({ text, terminationReason }).toEqual({ text: "Looking.", terminationReason: "stopped" });
    expect(usage.outputTokens).toBeGreaterThan(0);
    expect(told(await on.log())).toEqual(["ask Look.", "calls call_1", "result call_1", "note end:completed"]);
    await proveAll(on.store, on.threadId);
  });

  test("while a tool runs: its result is kept, and the model is not asked again", async () => {
    const on = await stage();
    const seen = gate<string>();
    const tools = { look: { ...look, execute: () => seen.promise } };
    const server = await on.start({ script: [{ calls: [{ name: "look" }] }], tools });
    const request = await on.end(server.ask("Look."));
    await on.settled();
    const finished = server.finish();
    await on.settled();
    expect(request.state).toBe("running");
    seen.resolve("seen");
    expect(await on.end(finished)).toBe(true);
    expect((await request.result).terminationReason).toBe("stopped");
    expect(told(await on.log())).toEqual(["ask Look.", "calls call_1", "result call_1", "note end:completed"]);
    expectWhole(await eventsOf(request));
  });

  test("while a model call waits for its retry: at once, and it is not made", async () => {
    const on = await stage();
    const model = scriptedModel([{ error: { status: 429 } }], { after: on.ports.after });
    const server = await on.start({ model, modelRetryBackoffMs: 4_000 });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    const before = on.ports.clock();
    expect(await on.end(server.finish())).toBe(true);
    expect(on.ports.clock()).toBe(before);
    expect((await request.result).terminationReason).toBe("stopped");
    await on.pass(10_000);
    expect(model.requests).toHaveLength(1);
    expectWhole(await eventsOf(request));
    await proveAll(on.store, on.threadId);
  });

  test("while it waits for approval: an approval afterwards is refused", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ calls: [{ name: "pay" }] }, "Yes?"], tools: { pay } });
    const request = await on.end(server.ask("Pay."));
    await on.end(eventsOf(request, { until: "waiting" }));
    expect(await on.end(server.finish())).toBe(true);
    expect((await request.result).terminationReason).toBe("stopped");
    expect((await failureOf(server.approve("call_1"))).code).toBe("not_waiting");
    expect((await (await on.end(server.ask("Are you there?"))).result).text).toBe("Yes?");
    await proveAll(on.store, on.threadId);
  });

  test("and says whether there was one", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ text: "Hi.", delayMs: 100 }] });
    expect(await server.finish()).toBe(false);
    const request = await on.end(server.ask("Hi."));
    expect(await server.finish("req_other")).toBe(false);
    expect((await on.end(request.result)).text).toBe("Hi.");
  });
});

describe("stopWhen ends a request with what there is", () => {
  const script = [{ text: "Looking.", calls: [{ name: "look" }, { name: "look" }] }];

  test("as a list of which any may say so", async () => {
    const on = await stage();
    const stopWhen = [() => false, hasToolCall("look")];
    const server = await on.start({ script, tools: { look }, stopWhen });
    const request = await on.end(server.ask("Look."));
    const { text, terminationReason } = await on.end(request.result);
    expect({ text, terminationReason }).toEqual({ text: "Looking.", terminationReason: "stopped" });
    await proveAll(on.store, on.threadId);
  });

  test("also in a run without a server", async () => {
    const model = scriptedModel(script);
    const result = await react.run("Look.", { model, tools: { look }, stopWhen: hasToolCall("look") });
    expect([result.terminationReason, result.thread.entryCount]).toEqual(["stopped", 5]);
  });

  test("and where it throws the request fails", async () => {
    const on = await stage();
    const stopWhen = (): boolean => {
      throw new Error("no");
    };
    const server = await on.start({ script, tools: { look }, stopWhen });
    const request = await on.end(server.ask("Look."));
    expect((await failureOf(on.end(request.result))).failure?.code).toBe("stop_when_failed");
    expectWhole(await eventsOf(request));
  });

  test.each([[3], [[]], [["look"]]])("and has to be a function or some of them, not %j", async (stopWhen) => {
    const on = await stage();
    const start = async (): Promise<unknown> => on.start({ script, stopWhen: stopWhen as never });
    await expect(start()).rejects.toMatchObject({ code: "invalid_agent", path: "stopWhen" });
  });
});
