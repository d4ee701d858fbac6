import { type AgentHost, memoryStore } from "heddle";
import { expect, test, vi } from "vitest";
import { gate } from "../support/stage.ts";
import { ASK, agentOf, anything, careful, house, PAY } from "./support/hosts.ts";

async function readsOf(host: AgentHost, threadId: string) {
  const [thread, waiting, explained] = await Promise.all([
    host.thread(threadId),
    host.waiting(threadId),
    host.explain(threadId),
  ]);
  return { entries: thread.toArray(), waiting, explained };
}

test("a thread reads the same where it is live, where it is not, and after a restart, and reads claim nothing", async () => {
  const { host: make, end, store, isFree } = await house();
  const { agent } = careful(["Hello.", { calls: [...PAY.calls, ...ASK.calls] }, "Paid."]);
  const holder = make({ agent });
  await end((await end(holder.ask("thread_1", "Hi"))).result);
  const request = await end(holder.ask("thread_1", "Pay"));
  for await (const _event of request.events({ until: "waiting" }));
  const claim = vi.spyOn(store, "claim");
  const elsewhere = make({ agent });
  const live = await end(readsOf(holder, "thread_1"));
  expect(live.waiting).toEqual([
    { requestId: request.id, toolCallId: "call_p", name: "pay", arguments: {}, kind: "approval" },
    { requestId: request.id, toolCallId: "call_q", name: "ask", arguments: {}, kind: "answer" },
  ]);
  expect(live.explained.length).toBeGreaterThan(2);
  expect(await end(readsOf(elsewhere, "thread_1"))).toEqual(live);
  const server = await end(holder.get("thread_1"));
  expect(await server.explain()).toEqual(live.explained);
  await end(holder.stop());
  expect(await end(readsOf(elsewhere, "thread_1"))).toEqual(live);
  expect(claim).not.toHaveBeenCalled();
  expect([elsewhere.size, await isFree("thread_1")]).toEqual([0, true]);
  await end(elsewhere.get("thread_1"));
  expect(await end(readsOf(elsewhere, "thread_1"))).toMatchObject({ waiting: live.waiting, explained: live.explained });
  await end(elsewhere.stop());
});

test("a call that runs in another process does not wait, and one that waits beside it does", async () => {
  const { host: make, end, settled } = await house();
  const wait = gate();
  const work = { inputSchema: anything, execute: () => wait.promise };
  const calls = [{ id: "call_w", name: "work" }, ...ASK.calls];
  const agent = agentOf([{ calls }, "Done."], { tools: { work, ask: { inputSchema: anything } } });
  const [holder, elsewhere] = [make({ agent }), make({ agent })];
  const { id: requestId } = await end(holder.ask("thread_1", "Work"));
  await settled();
  const waiting = [{ requestId, toolCallId: "call_q", name: "ask", arguments: {}, kind: "answer" }];
  expect(await end(elsewhere.waiting("thread_1"))).toEqual(waiting);
  expect(await end(holder.waiting("thread_1"))).toEqual(waiting);
  wait.resolve();
  await end(Promise.all([holder.stop(), elsewhere.stop()]));
});

test("a call of a tool that came with the ask is listed by a process that does not have the tool", async () => {
  const { host: make, end } = await house();
  const agent = agentOf([{ calls: [{ id: "call_s", name: "sign" }] }]);
  const [holder, elsewhere] = [make({ agent }), make({ agent })];
  const request = await end(holder.ask("thread_1", "Sign", { tools: { sign: { inputSchema: anything } } }));
  for await (const _event of request.events({ until: "waiting" }));
  const waiting = await end(holder.waiting("thread_1"));
  expect(waiting).toEqual([
    { requestId: request.id, toolCallId: "call_s", name: "sign", arguments: {}, kind: "answer" },
  ]);
  expect(await end(elsewhere.waiting("thread_1"))).toEqual(waiting);
  await end(Promise.all([holder.stop(), elsewhere.stop()]));
});

test("a thread that does not exist is empty and stays so, and an id that no thread can have is refused", async () => {
  const { host: make, end, store } = await house(memoryStore());
  const host = make({ agent: agentOf([]) });
  expect(await end(readsOf(host, "thread_1"))).toEqual({ entries: [], waiting: [], explained: [] });
  expect(await store.load("thread_1")).toBeUndefined();
  await expect(host.waiting("")).rejects.toMatchObject({ code: "invalid_id" });
  await end(host.stop());
});
