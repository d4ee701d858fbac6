import { AgentHost, defineAgent, suspend, type ToolOptions } from "heddle";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { anything, eventsOf, expectWhole, failureOf, proveAll, stage, told } from "../support/stage.ts";

const script = [{ text: "I'll pay.", calls: [{ name: "pay", arguments: { to: "Ann" } }] }, "Paid."];

function paying() {
  const paid: unknown[] = [];
  const pay = { inputSchema: anything, needsApproval: true, execute: (input: unknown) => `paid ${paid.push(input)}` };
  return { paid, tools: { pay } };
}

describe("a call that needs approval", () => {
  test("waits, runs once when it is approved, and cannot be decided again", async () => {
    const on = await stage();
    const { paid, tools } = paying();
    const server = await on.start({ script, tools });
    const request = await on.end(server.ask("Pay Ann."));
    await on.settled();
    expect({ state: request.state, paid }).toEqual({ state: "waiting", paid: [] });
    expect((await failureOf(server.approve("call_9"))).code).toBe("not_waiting");
    expect((await failureOf(server.answer("call_1", "no"))).code).toBe("not_waiting");
    await on.end(server.approve("call_1", { by: "Bea", reason: "fine" }));
    expect((await failureOf(server.deny("call_1"))).code).toBe("not_waiting");
    expect((await on.end(request.result)).text).toBe("Paid.");
    expect(paid).toEqual([{ to: "Ann" }]);
    const events = await eventsOf(request);
    expectWhole(events);
    expect(events.find(({ kind }) => kind === "approval_resolved")?.data).toEqual({
      approved: true,
      by: "Bea",
      reason: "fine",
    });
    expect((await failureOf(server.approve("call_1"))).code).toBe("not_waiting");
    await proveAll(on.store, on.threadId);
  });

  test.each(["pay", "question"])(
    "is asked for once more, as the same event, where the request is taken over: %s",
    async (name) => {
      const on = await stage();
      const tools = { ...paying().tools, question: { inputSchema: anything } };
      const first = await on.start({ script: [{ calls: [{ id: "p", name }] }], tools });
      const request = await on.end(first.ask("Go."));
      await on.end(request.settled());
      const isRequested = ({ kind }: { readonly kind: string }) =>
        ["approval_requested", "answer_requested"].includes(kind);
      const [asked, ...others] = (await eventsOf(request, { until: "waiting" })).filter(isRequested);
      expect([asked?.replayed, others]).toEqual([undefined, []]);
      await on.end(first.stop());
      for (let start = 0; start < 2; start++) {
        const next = await on.start({ script: [], tools });
        const taken = next.request ?? expect.fail("nothing was taken over");
        const [again, ...more] = (await eventsOf(taken, { until: "waiting" })).filter(isRequested);
        expect(more).toEqual([]);
        expect(again).toMatchObject({ id: asked?.id, kind: asked?.kind, toolCallId: "p", replayed: true });
        await on.end(next.stop());
      }
    },
  );

  test("does not run when it is denied, and the model reads why", async () => {
    const on = await stage();
    const { paid, tools } = paying();
    const server = await on.start({
      script: [
        script[0] as never,
        { expect: { endsWith: [{ results: [{ value: /too much/, isError: true }] }] }, text: "Not paid." },
      ],
      tools,
    });
    const request = await on.end(server.ask("Pay Ann."));
    await on.settled();
    await on.end(server.deny("call_1", { reason: "too much" }));
    expect((await on.end(request.result)).text).toBe("Not paid.");
    expect(paid).toEqual([]);
  });

  test("waits in a server that is started again, and its tool runs exactly once", async () => {
    const on = await stage();
    const { paid, tools } = paying();
    const first = await on.start({ script: script.slice(0, 1), tools });
    const left = await on.end(first.ask("Pay Ann."));
    const before = await on.end(eventsOf(left, { until: "waiting" }));
    await on.end(first.stop());
    expect((await failureOf(left.result)).code).toBe("request_suspended");

    const second = await on.start({ script: script.slice(1), tools });
    const { request } = second;
    expect({ id: request?.id, state: request?.state }).toEqual({ id: left.id, state: "waiting" });
    if (request === undefined) throw new Error("no request");
    const again = await eventsOf(request, { until: "waiting" });
    expect(again.map(({ kind, toolCallId }) => [kind, toolCallId])).toEqual([["approval_requested", "call_1"]]);
    expect(again[0]?.seq).toBeGreaterThan(before.at(-1)?.seq ?? 0);
    await on.end(second.approve("call_1"));
    expect((await on.end(request.result)).text).toBe("Paid.");
    expect(paid).toHaveLength(1);
    expectWhole(await eventsOf(request), again[0]?.seq);
    await proveAll(on.store, on.threadId);
  });

  test("can be decided by another process, which writes an entry", async () => {
    const on = await stage();
    const { paid, tools } = paying();
    const server = await on.start({ script, tools });
    const request = await on.end(server.ask("Pay Ann."));
    await on.settled();
    const asked = (await on.log()).find(({ kind }) => kind === "approval_requested");
    const payload = { contextRef: "default", toolCallId: "call_1", approved: true };
    await on.store.append(on.threadId, { kind: "approval_resolved", payload, refs: asked?.refs ?? {} });
    expect((await on.end(request.result)).text).toBe("Paid.");
    expect(request.state).toBe("done");
    expect(paid).toHaveLength(1);
    expectWhole(await eventsOf(request));
    await proveAll(on.store, on.threadId);
  });

  test("that another process decides on is no longer waited for, however long it runs", async () => {
    const on = await stage();
    const pay = { inputSchema: anything, needsApproval: true, execute: () => new Promise(() => undefined) };
    const server = await on.start({ script, tools: { pay } });
    const request = await on.end(server.ask("Pay Ann."));
    await on.settled();
    const asked = (await on.log()).find(({ kind }) => kind === "approval_requested");
    const payload = { contextRef: "default", toolCallId: "call_1", approved: true };
    await on.store.append(on.threadId, { kind: "approval_resolved", payload, refs: asked?.refs ?? {} });
    await on.settled();
    expect(request.state).toBe("running");
    await on.end(server.cancel());
  });

  test("beside one that does not: that one runs at once, and the model waits for both", async () => {
    const on = await stage();
    const { tools, paid } = paying();
    const look = { inputSchema: anything, execute: () => "seen" };
    const both = [{ calls: [{ name: "pay" }, { name: "look" }] }, "Both."];
    const server = await on.start({ script: both, tools: { ...tools, look } });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    expect(told(await on.log())).toEqual([
      "ask Go.",
      "calls call_1,call_2",
      "approval_requested call_1",
      "result call_2",
    ]);
    await on.end(server.approve("call_1"));
    expect((await on.end(request.result)).text).toBe("Both.");
    expect(paid).toHaveLength(1);
    const completed = (await eventsOf(request)).filter(({ kind }) => kind === "tool_completed");
    expect(completed.map(({ toolCallId }) => toolCallId)).toEqual(["call_1", "call_2"]);
  });

  test("is left waiting by a server that stops, and closed by a cancel in the next", async () => {
    const on = await stage();
    const { tools, paid } = paying();
    const first = await on.start({ script, tools });
    await on.end(first.ask("Pay Ann."));
    await on.settled();
    await on.end(first.stop());
    const second = await on.start({ script: [], tools });
    const { request } = second;
    expect(await on.end(second.cancel())).toBe(true);
    if (request === undefined) throw new Error("no request");
    expect((await failureOf(request.result)).code).toBe("request_cancelled");
    expect(paid).toEqual([]);
    expect(told(await on.log()).slice(-2)).toEqual(["result call_1", "error end:cancelled"]);
  });
});

describe("a tool without execute", () => {
  const tools = { ask_user: { inputSchema: anything } };
  const asks = [
    { calls: [{ name: "ask_user", arguments: { question: "Which?" } }] },
    { expect: { endsWith: [{ results: [{ value: '{"pick":1}' }] }] }, text: "One." },
  ];

  test("waits for its answer", async () => {
    const on = await stage();
    const server = await on.start({ script: asks, tools });
    const request = await on.end(server.ask("Pick."));
    await on.settled();
    expect(request.state).toBe("waiting");
    expect((await failureOf(server.approve("call_1"))).code).toBe("not_waiting");
    await on.end(server.answer("call_1", { pick: 1 }));
    expect((await on.end(request.result)).text).toBe("One.");
    expectWhole(await eventsOf(request));
  });

  test("waits in a server that is started again", async () => {
    const on = await stage();
    const first = await on.start({ script: asks.slice(0, 1), tools });
    await on.end(first.ask("Pick."));
    await on.settled();
    await on.end(first.stop());
    const second = await on.start({ script: asks.slice(1), tools });
    expect(second.request?.state).toBe("waiting");
    const { request } = second;
    await on.end(second.answer("call_1", { pick: 1 }));
    expect((await on.end(request?.result ?? Promise.reject(new Error("none")))).text).toBe("One.");
    await proveAll(on.store, on.threadId);
  });
});

describe("the message of not_waiting says", () => {
  const ask = { inputSchema: anything };
  const calls = ["pay", "pay", "ask", "pay"].map((name, index) => ({ id: `call_${index}`, name }));

  async function waiting() {
    const on = await stage();
    const { tools } = paying();
    const server = await on.start({
      script: [{ calls }, "Done."],
      tools: { ...tools, ask },
      approval: { timeoutMs: 60_000 },
    });
    const request = await on.end(server.ask("Pay."));
    await on.settled();
    const why = async (id: string, verb: "approve" | "answer" = "approve") =>
      (await failureOf(on.end(verb === "approve" ? server.approve(id) : server.answer(id, "x")))).message;
    return { on, server, request, why };
  }

  test("that the call is unknown, and which ones wait", async () => {
    const { why } = await waiting();
    expect(await why("call_9")).toBe("No call call_9 is known. These wait: call_0, call_1, call_2, call_3.");
  });

  test("what was decided before, and what the call waits for", async () => {
    const { on, server, why } = await waiting();
    expect(await why("call_0", "answer")).toBe(
      "Call call_0 waits for an approval, not for an answer: approve or deny it.",
    );
    await on.end(server.approve("call_0"));
    await on.end(server.deny("call_1"));
    await on.end(server.answer("call_2", "yes"));
    await on.settled();
    expect(await why("call_0")).toBe("Call call_0 was approved before, and has its result.");
    expect(await why("call_1")).toBe("Call call_1 was denied before.");
    expect(await why("call_2", "answer")).toBe("Call call_2 was answered before, or has run: it has its result.");
  });

  test("that the deadline has passed", async () => {
    const { on, why } = await waiting();
    await on.pass(60_000);
    expect(await why("call_3")).toBe("The deadline of the approval of call call_3 has passed.");
  });

  test("that the request has ended", async () => {
    const { on, server, request, why } = await waiting();
    await on.end(server.cancel());
    expect(await why("call_3")).toBe(`The request ${request.id} of call call_3 has ended.`);
    await request.result.catch(() => undefined);
  });

  test("that a call runs which was approved and answered at once", async () => {
    const on = await stage();
    const execute = () => new Promise<never>(() => undefined);
    const server = await on.start({ script, tools: { pay: { inputSchema: anything, needsApproval: true, execute } } });
    await on.end(server.ask("Pay."));
    await on.settled();
    await on.end(server.approve("call_1"));
    const error = await failureOf(on.end(server.answer("call_1", "yes")));
    expect(error.message).toContain(
      "and runs. If its tool asks a question, answer it after the event answer_requested.",
    );
    expect([error.retryable, (await failureOf(on.end(server.approve("call_1")))).retryable]).toEqual([true, false]);
    await on.end(server.stop({ graceMs: 0 }));
  });

  test.each(["this process", "another process"])(
    "that an answer comes too early, and may be sent again, in %s",
    async (place) => {
      const on = await stage();
      const asks = Promise.withResolvers<void>();
      const execute = async (_: unknown, { answer }: ToolOptions) =>
        answer ?? asks.promise.then(() => suspend("Sure?"));
      const definition = { tools: { pay: { inputSchema: anything, execute } } };
      const server = await on.start({ script, ...definition });
      const request = await on.end(server.ask("Pay."));
      await on.settled();
      const other = AgentHost.create({
        agent: defineAgent({ ...definition, model: scriptedModel([]) }),
        store: on.store,
        ports: on.ports,
      });
      const answer = (): Promise<unknown> =>
        place === "this process" ? server.answer("call_1", "yes") : other.answer(on.threadId, "call_1", "yes");
      const early = await failureOf(on.end(answer()));
      expect([early.code, early.retryable, early.message]).toEqual([
        "not_waiting",
        true,
        expect.stringContaining("not wait yet"),
      ]);
      asks.resolve();
      await on.settled();
      await on.end(answer());
      await on.end(request.result);
      const late = await failureOf(on.end(answer()));
      expect([late.code, late.retryable]).toEqual(["not_waiting", false]);
      await on.end(other.stop());
      await on.end(server.stop());
    },
  );
});
