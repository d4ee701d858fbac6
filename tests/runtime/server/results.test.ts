import { AgentHost } from "heddle";
import { describe, expect, test } from "vitest";
import { agentOf } from "../host/support/hosts.ts";
import type { AgentEvent } from "../support/heddle.ts";
import { anything, failureOf, stage, told } from "../support/stage.ts";

const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
const PAY = { calls: [{ id: "call_p", name: "pay" }] };
const NUMBER = { type: "object", properties: { n: { type: "number" } } };

describe("the result of a request by its id", () => {
  test("is waited for while the request runs, and available when it has ended", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ text: "One.", delayMs: 20 }, "Two."] });
    const { id, result } = await on.end(server.ask("1?"));
    const waited = server.result(id);
    expect((await on.end(waited)).text).toBe("One.");
    await on.end((await on.end(server.ask("2?"))).result);
    expect(await server.result(id)).toEqual(await result);
  });

  test("takes a time limit, after which the request runs on", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ text: "One.", delayMs: 500 }] });
    const { id, result } = await on.end(server.ask("1?"));
    const late = await on.end(failureOf(server.result(id, { timeoutMs: 100 })));
    expect([late.code, late.retryable]).toEqual(["result_timeout", true]);
    expect((await on.end(server.result(id, { timeoutMs: 10_000 }))).text).toBe("One.");
    expect((await on.end(result)).text).toBe("One.");
    expect((await server.result(id, { timeoutMs: 0 })).text).toBe("One.");
    expect((await on.end(failureOf(server.result(id, { timeoutMs: -1 })))).code).toBe("invalid_options");
  });

  test("is read from the log by another process, however long ago it was, with its object", async () => {
    const on = await stage();
    const output = NUMBER as never;
    const config = { output, contextPolicy: { maxTurns: 2, keepLastTurns: 1 } };
    const first = await on.start({ ...config, script: ['{"n":1}'] });
    const { id, result } = await on.end(first.ask("1?"));
    const one = await on.end(result);
    await on.end(first.stop());
    const said = ["user", "assistant"].map((role) => ({ role, content: "So it goes on.", contextRef: "default" }));
    for (let n = 0; n < 200; n++) {
      await on.store.append(
        on.threadId,
        said.map((payload) => ({ kind: "ai_message", payload })),
      );
    }
    const second = await on.start({ ...config, script: ['{"n":2}'] });
    expect((await second.thread()).firstSeq).toBeGreaterThan(2);
    await on.end((await on.end(second.ask("2?"))).result);
    expect(await second.result(id)).toEqual(one);
    expect(one.object).toEqual({ n: 1 });
  });

  test("rejects as it ended, and says when it waits or never was", async () => {
    const on = await stage();
    const first = await on.start({ script: [{ hang: true }, PAY], tools: { pay } });
    const cancelled = await on.end(first.ask("1?"));
    await on.end(first.cancel());
    const waiting = await on.end(first.ask("Pay."));
    expect((await on.end(failureOf(first.result(waiting.id)))).code).toBe("request_waiting");
    await on.end(first.stop());
    const second = await on.start({ script: [{ error: { status: 401 } }], tools: { pay } } as never);
    expect((await failureOf(second.result(cancelled.id))).code).toBe("request_cancelled");
    expect((await failureOf(second.result("req_never"))).code).toBe("request_not_found");
    const ended = second.result(waiting.id);
    expect((await failureOf(ended)).code).toBe("request_waiting");
    await on.end(second.approve("call_p"));
    const failed = await on.end(failureOf(second.result(waiting.id)));
    expect([failed.code, failed.failure?.code]).toEqual(["request_failed", expect.stringMatching(/^model_/)]);
  });
});

test("the result of an ask that ended while it waited says how, on a server, a host, and after a stop", async () => {
  const on = await stage();
  const server = await on.start({ script: [{ hang: true }], busy: "queue" });
  const host = AgentHost.create({ agent: agentOf([]), store: on.store, ports: on.ports, warn: () => undefined });
  await on.end(server.ask("1?"));
  await on.store.post(on.threadId, { id: "late", type: "ask", content: "2?", deadline: 1_000 });
  await on.store.post(on.threadId, { id: "withdrawn", type: "ask", content: "3?" });
  await on.store.post(on.threadId, { id: "waits", type: "ask", content: "4?" });
  await on.pass(2_000);
  await on.end(server.withdraw("withdrawn"));
  const ids = ["late", "withdrawn", "waits"];
  const codes = ["deadline_exceeded", "request_cancelled", "request_not_found"];
  const ends = async (from: Pick<AgentHost, "result">) =>
    Promise.all(ids.map(async (id) => (await on.end(failureOf(from.result(on.threadId, id)))).code));
  expect(await ends({ result: (_, id) => server.result(id) })).toEqual(codes);
  expect(await ends(host)).toEqual(codes); // the server holds the thread
  await on.end(server.stop());
  expect((await ends(host)).slice(0, 2)).toEqual(codes.slice(0, 2));
  await on.end(host.stop());
});

test("the result of an ask that was refused on a new thread says why, on a host with several agents", async () => {
  const on = await stage();
  const agents = { one: agentOf([], { name: "one" }), two: agentOf([], { name: "two" }) };
  const host = AgentHost.create({ agents, store: on.store, ports: on.ports, warn: () => undefined });
  await on.store.post("thread_2", { id: "bad", type: "ask", content: "2?", deadline: "soon", agent: "one" });
  await on.end(host.get("thread_2", { agent: "one" }));
  await on.pass(60_000); // the host releases the thread
  expect((await on.end(failureOf(host.result("thread_2", "bad")))).code).toBe("command_invalid");
  expect((await on.end(failureOf(host.result("thread_2", "never")))).code).toBe("request_not_found");
  await on.end(host.stop());
});

test("a request emits each time when nothing runs, and when it is done", async () => {
  const on = await stage();
  const ask = { inputSchema: anything };
  const script = [PAY, { calls: [{ id: "call_a", name: "ask" }] }, "Done."];
  const server = await on.start({ script, tools: { pay, ask } });
  const request = await on.end(server.ask("Pay."));
  expect(await on.end(request.settled())).toBe("waiting");
  expect(await server.waiting()).toMatchObject([{ toolCallId: "call_p" }]);
  await server.approve("call_p");
  expect(await on.end(request.settled())).toBe("waiting");
  expect(await server.waiting()).toMatchObject([{ toolCallId: "call_a" }]);
  await on.end(server.answer("call_a", "yes"));
  expect(await on.end(request.settled())).toBe("done");
  expect((await request.result).text).toBe("Done.");
});

test("a request that waited is done when it is cancelled", async () => {
  const on = await stage();
  const server = await on.start({ script: [PAY], tools: { pay } });
  const request = await on.end(server.ask("Pay."));
  expect(await on.end(request.settled())).toBe("waiting");
  await on.end(server.cancel());
  expect(await request.settled()).toBe("done");
});

describe("an ask with an id of its own", () => {
  test("that is asked again is the request that was taken, also when it has ended", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ text: "One.", delayMs: 20 }] });
    const [one, two] = await on.end(
      Promise.all([server.ask("1?", { requestId: "order_7" }), server.ask("1?", { requestId: "order_7" })]),
    );
    expect([one.id, two]).toEqual(["order_7", one]);
    await on.end(one.result);
    expect(await on.end(server.ask("1?", { requestId: "order_7" }))).toBe(one);
    expect(told(await on.log())).toEqual(["ask 1?", "says One. end:completed"]);
  });

  test("that waits for an approval is answered at once, also with a queue", async () => {
    const on = await stage();
    const server = await on.start({ script: [PAY], tools: { pay }, busy: "queue" });
    const request = await on.end(server.ask("Pay.", { requestId: "order_7" }));
    await on.end(request.settled());
    expect(await on.end(server.ask("Pay.", { requestId: "order_7" }))).toBe(request);
  });

  test("is refused with other words", async () => {
    const on = await stage();
    const first = await on.start({ script: ["One.", { text: "Two.", delayMs: 20 }] });
    await on.end((await on.end(first.ask("1?", { requestId: "order_7" }))).result);
    expect((await failureOf(on.end(first.ask("2?", { requestId: "order_7" })))).code).toBe("request_id_reused");
    await on.end(first.ask("2?"));
    expect((await failureOf(on.end(first.ask("2?", { requestId: "order_7" })))).code).toBe("request_id_reused");
    expect((await on.end((await on.end(first.ask("1?", { requestId: "order_7" }))).result)).text).toBe("One.");
    await on.end(first.stop());
    const second = await on.start({ script: [] });
    expect((await failureOf(on.end(second.ask("2?", { requestId: "order_7" })))).code).toBe("request_id_reused");
    expect((await second.result("order_7")).text).toBe("One.");
    await expect(second.ask("1?", { requestId: "a/b" })).rejects.toMatchObject({ code: "invalid_id" });
  });

  test.each([0, 600, 4_400])(
    "is the first request in another process, %i entries later, with its events",
    async (later) => {
      const on = await stage();
      const look = { inputSchema: anything, execute: () => "seen" };
      const script = [{ text: "I look.", calls: [{ id: "call_l", name: "look", arguments: { n: 1 } }] }, "One."];
      const first = await on.start({ script, tools: { look } });
      const request = await on.end(first.ask("1?", { requestId: "order_7" }));
      const result = await on.end(request.result);
      await on.end(first.stop());
      await on.store.append(on.threadId, Array.from({ length: later }, words));
      const { rev } = (await on.store.load(on.threadId)) ?? {};
      const second = await on.start({ script: [], tools: { look } });
      const again = await on.end(second.ask("1?", { requestId: "order_7" }));
      expect([again.id, again.runId, again.state, await again.settled()]).toEqual([
        "order_7",
        request.runId,
        "done",
        "done",
      ]);
      expect(await again.result).toEqual(result);
      const events: AgentEvent[] = [];
      for await (const event of again.events()) events.push(event);
      expect(
        events.map(({ kind, toolName }) => [kind, ...(toolName === undefined ? [] : [toolName])].join(" ")),
      ).toEqual([
        "request_started",
        "llm_started",
        "llm_delta",
        "llm_completed",
        "tool_completed look",
        "llm_started",
        "llm_delta",
        "llm_completed",
        "request_completed",
      ]);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      let text = "";
      for await (const delta of again.textStream) text += delta;
      expect(text).toBe("I look.One.");
      expect((await on.store.load(on.threadId))?.rev).toBe(rev);
    },
  );

  test("that failed or was cancelled is not asked again either", async () => {
    const on = await stage();
    const first = await on.start({ script: [{ error: { status: 401 } }, { hang: true }] });
    const failed = await on.end(first.ask("1?", { requestId: "order_7" }));
    expect((await on.end(failureOf(failed.result))).code).toBe("request_failed");
    await on.end(first.ask("2?", { requestId: "order_8" }));
    await on.end(first.cancel());
    await on.end(first.stop());
    await on.store.append(on.threadId, Array.from({ length: 300 }, words));
    const second = await on.start({ script: [] });
    for (const [words, requestId, code] of [
      ["1?", "order_7", "request_failed"],
      ["2?", "order_8", "request_cancelled"],
    ] as const) {
      const again = await on.end(second.ask(words, { requestId }));
      expect((await failureOf(again.result)).code).toBe(code);
      const kinds: string[] = [];
      for await (const { kind } of again.events()) kinds.push(kind);
      expect(kinds.at(-1)).toBe(code);
    }
  });

  test("may be known by an id of another system", async () => {
    const on = await stage();
    const first = await on.start({ script: ["One."] });
    const update = { refs: { update: "8127" }, idempotencyRef: "update" };
    const { id } = await on.end(first.ask("1?", update));
    await on.end(first.stop());
    await on.store.append(on.threadId, Array.from({ length: 300 }, words));
    const second = await on.start({ script: [] });
    expect((await on.end(second.ask("1?", update))).id).toBe(id);
    expect((await failureOf(on.end(second.ask("2?", update)))).code).toBe("request_id_reused");
    for (const refs of [{}, { update: 8127 }, undefined])
      expect((await failureOf(second.ask("1?", { ...update, refs }))).code).toBe("invalid_options");
  });
});

/** Words of another system, which make the thread longer than what is loaded. */
function words(_: unknown, index: number) {
  const role = index % 2 === 0 ? "user" : "assistant";
  return { kind: "ai_message", payload: { role, content: `So it goes on, ${index}.`, contextRef: "default" } };
}
