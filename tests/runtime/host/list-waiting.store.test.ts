import { type AgentHost, type AgentRequest, StoreError, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { openStore } from "../../stores/postgres/open.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { agentOf, anything, house, realTime } from "./support/hosts.ts";

const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
const ask = { inputSchema: anything };
const tools = { pay, ask };
const step = (...names: readonly string[]) => ({
  calls: names.map((name) => ({ id: `call_${name}`, name, arguments: { of: name } })),
});

const STORES: readonly [string, () => Promise<ThreadStore | undefined>][] = [
  ["in memory", async () => undefined],
  ["on SQLite", async () => sqliteStore(fastFile())],
  ["on Postgres", async () => openStore()],
];

const listed = async (host: AgentHost) =>
  (await host.waiting()).calls.map(({ threadId, toolCallId, kind }) => [threadId, toolCallId, kind]);

describe.each(STORES)("the calls of all threads that wait, %s", (_, open) => {
  test("are listed without a claim or an entry, and are gone when they are decided", async () => {
    const { host: make, store } = await house(await open(), realTime());
    const reads: string[] = [];
    const watched = new Proxy(store, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          reads.push(String(key));
          return Reflect.apply(value, target, args);
        };
      },
    });
    const script = [step("pay"), step("ask"), step("pay", "ask"), "One.", "Two.", "Three."];
    const first = make({ agent: agentOf(script, { tools, name: "payer", approval: { timeoutMs: 60_000 } }) });
    const requests: AgentRequest[] = [];
    for (const id of ["thread_1", "thread_2", "thread_3"]) {
      const request = await first.ask(id, "Go.");
      for await (const _event of request.events({ until: "waiting" }));
      requests.push(request);
    }
    const other = make({ agent: agentOf([], { tools, name: "payer" }), store: watched });
    const { calls, cursor } = await other.waiting();
    expect([reads, cursor]).toEqual([["waiting"], undefined]);
    expect(calls.map(({ threadId, toolCallId, kind }) => [threadId, toolCallId, kind]).toSorted()).toEqual([
      ["thread_1", "call_pay", "approval"],
      ["thread_2", "call_ask", "answer"],
      ["thread_3", "call_ask", "answer"],
      ["thread_3", "call_pay", "approval"],
    ]);
    const [one] = calls;
    const common = { agent: "payer", requestId: requests[0]?.id, name: "pay", arguments: { of: "pay" } };
    expect(one).toEqual({
      ...common,
      threadId: "thread_1",
      toolCallId: "call_pay",
      kind: "approval",
      since: expect.any(Number),
      deadline: expect.any(Number),
    });
    const approvals = await other.waiting({ kind: "approval", limit: 1 });
    const rest = await other.waiting({ kind: "approval", limit: 1, cursor: approvals.cursor });
    expect([...approvals.calls, ...rest.calls].map(({ threadId }) => threadId)).toEqual(["thread_1", "thread_3"]);
    expect(rest.cursor).toBeUndefined();

    await other.approve("thread_1", "call_pay");
    expect((await requests[0]?.result)?.text).toBe("One.");
    await first.answer("thread_3", "call_ask", "blue");
    await first.cancel("thread_2");
    await expect(requests[1]?.result).rejects.toMatchObject({ code: "request_cancelled" });
    expect(await listed(other)).toEqual([["thread_3", "call_pay", "approval"]]);
    await store.delete("thread_3");
    expect(await listed(other)).toEqual([]);
    for (const host of [first, other]) await host.stop();
  });
});

test("a call that another process decides is gone from the list with the decision", async () => {
  const { host: make, end, store } = await house();
  const holder = make({ agent: agentOf([step("pay", "ask")], { tools }) });
  const request = await end(holder.ask("thread_1", "Go."));
  for await (const _event of request.events({ until: "waiting" }));
  const taken: unknown[] = [];
  const watched = new Proxy(store, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      if (key !== "append") return typeof value === "function" ? value.bind(target) : value;
      return (...args: Parameters<ThreadStore["append"]>) => {
        taken.push(args[2]?.waiting?.map(({ callId }) => callId));
        return target.append(...args);
      };
    },
  });
  const other = make({ agent: agentOf([], { tools }), store: watched });
  await end(other.deny("thread_1", "call_pay"));
  expect(taken).toEqual([["call_ask"]]);
  expect(await end(listed(other))).toEqual([["thread_1", "call_ask", "answer"]]);
  for (const host of [holder, other]) await end(host.stop());
});

test("a call that waits keeps its place in the list after a restart, and long arguments are in the log only", async () => {
  const { host: make, end } = await house();
  const long = { text: "x".repeat(40_000) };
  const calls = [{ id: "call_p", name: "pay", arguments: long }];
  const first = make({ agent: agentOf([{ calls }], { tools }) });
  const request = await end(first.ask("thread_1", "Go."));
  for await (const _event of request.events({ until: "waiting" }));
  const before = await end(first.waiting());
  expect(before.calls.map((call) => [call.toolCallId, "arguments" in call])).toEqual([["call_p", false]]);
  await end(first.stop());
  const second = make({ agent: agentOf(["Paid."], { tools }) });
  await end(second.get("thread_1"));
  expect(await end(second.waiting())).toEqual(before);
  const [whole] = await end(second.waiting("thread_1"));
  expect(whole?.arguments).toEqual(long);
  await end(second.approve("thread_1", "call_p"));
  const resumed = await end(second.resume("thread_1"));
  if (resumed !== undefined) await end(resumed.result);
  expect((await end(second.waiting())).calls).toEqual([]);
  await end(second.stop());
});

test("an id that a list cannot have, or has twice, does no harm to the request", async () => {
  const { host: make, end } = await house();
  const ids = ["same", "same", "a\nb", "x".repeat(600)];
  const calls = ids.map((id) => ({ id, name: "pay" }));
  const host = make({ agent: agentOf([{ calls }], { tools }) });
  const request = await end(host.ask("thread_1", "Go."));
  for await (const _event of request.events({ until: "waiting" }));
  expect(request.state).toBe("waiting");
  expect((await end(host.waiting())).calls.map(({ toolCallId }) => toolCallId)).toEqual(["same", "same_2"]);
  await end(host.stop());
});

test("a store that keeps no lists serves requests as before, and the list is refused", async () => {
  const { host: make, end, store } = await house();
  const unsupported = () => new StoreError({ code: "store_unsupported", message: "It has no scheduling." });
  let refusals = 0;
  const plain = new Proxy(store, {
    get: (target, key) => {
      if (key === "waiting") return async () => Promise.reject(unsupported());
      const value: unknown = Reflect.get(target, key);
      if (key !== "append") return typeof value === "function" ? value.bind(target) : value;
      return async (...args: Parameters<ThreadStore["append"]>) => {
        if (args[2]?.waiting === undefined && args[2]?.next === undefined) return target.append(...args);
        refusals += 1;
        throw unsupported();
      };
    },
  });
  const agent = agentOf([step("pay"), "Paid."], { tools, approval: { timeoutMs: 60_000 } });
  const host = make({ agent, store: plain });
  const request = await end(host.ask("thread_1", "Go."));
  for await (const _event of request.events({ until: "waiting" }));
  await expect(end(host.waiting())).rejects.toMatchObject({ code: "store_unsupported" });
  await end(host.approve("thread_1", "call_pay"));
  expect([(await end(request.result)).text, refusals]).toEqual(["Paid.", 1]);
  await end(host.stop());
});

test("options that are misspelled are refused", async () => {
  const { host: make } = await house();
  const host = make({ agent: agentOf([], { tools }) });
  await expect(host.waiting({ limits: 1 } as never)).rejects.toMatchObject({ code: "invalid_options" });
  await host.stop();
});
