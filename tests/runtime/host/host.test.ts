import { type AgentEvent, AgentHost, AgentServer, memoryStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect, test, vi } from "vitest";
import { gate } from "../support/stage.ts";
import { ASK, agentOf, careful, house, PAY } from "./support/hosts.ts";

test("of many who want a thread at once, all get one server, which claims once", async () => {
  const { host: make, end, store } = await house();
  const claim = vi.spyOn(store, "claim");
  const host = make({ agent: agentOf([]) });
  const servers = await end(Promise.all(Array.from({ length: 20 }, () => host.get("thread_1"))));
  expect(new Set(servers).size).toBe(1);
  expect(claim).toHaveBeenCalledTimes(1);
  expect(host.size).toBe(1);
  await end(host.stop());
});

test("hosts and servers are instances of their classes", async () => {
  const { host: make, end, store } = await house();
  const host = make({ agent: agentOf([]) });
  const started = await end(AgentServer.start({ agent: agentOf([]), store }));
  const servers = [await end(host.get("thread_1")), started];
  expect([host instanceof AgentHost, ...servers.map((server) => server instanceof AgentServer)]).toEqual([
    true,
    true,
    true,
  ]);
  await end(Promise.all([host.stop(), started.stop()]));
});

test("a thread is released when nothing runs on it, and comes back when it is wanted", async () => {
  const { host: make, end, pass, isFree } = await house();
  const host = make({ agent: agentOf(["1", "2"]), idleMs: 1_000 });
  const request = await end(host.ask("thread_1", "Hi"));
  expect((await end(request.result)).text).toBe("1");
  await pass(999);
  expect([host.size, await isFree("thread_1")]).toEqual([1, false]);
  await end(host.get("thread_1")); // wanted again: it stays
  await pass(999);
  expect(host.size).toBe(1);
  await pass(1);
  expect([host.size, await isFree("thread_1")]).toEqual([0, true]);
  const again = await end(host.ask("thread_1", "Hi again"));
  expect((await end(again.result)).text).toBe("2");
  await end(host.stop());
});

test("a thread with a running request is not released, however long it takes", async () => {
  const { host: make, end, pass } = await house();
  const wait = gate();
  const host = make({ agent: agentOf([() => wait.promise.then(() => "late")]), idleMs: 1_000 });
  const request = await end(host.ask("thread_1", "Hi"));
  await pass(30_000);
  expect([host.size, request.state]).toEqual([1, "running"]);
  wait.resolve();
  expect((await request.result).text).toBe("late");
  await pass(2_000);
  expect(host.size).toBe(0);
});

test("a waiting request without a listener is released, and can be resumed and decided", async () => {
  const { host: make, end, pass, isFree } = await house();
  const { agent, ran } = careful([PAY, "Paid."]);
  const host = make({ agent, idleMs: 1_000 });
  await end(host.ask("thread_1", "Pay"));
  await pass(2_000);
  expect([host.size, await isFree("thread_1")]).toEqual([0, true]);
  const resumed = await end(host.resume("thread_1"));
  expect(resumed?.state).toBe("waiting");
  await pass(2_000);
  expect(host.size).toBe(0);
  await end(host.approve("thread_1", "call_p", { by: "u1" }));
  const request = await end(host.resume("thread_1"));
  if (request !== undefined) await end(request.result);
  expect(ran).toEqual(["call_p"]);
  expect((await (await end(host.get("thread_1"))).thread()).last()?.payload).toMatchObject({ content: "Paid." });
  expect(await end(host.resume("thread_1"))).toBeUndefined();
  await end(host.stop());
});

test("the thread stays while a caller reads the events of a waiting request, or awaits its result", async () => {
  const { host: make, end, pass } = await house();
  const { agent } = careful([PAY, "Paid.", PAY, "Paid."]);
  const host = make({ agent, idleMs: 1_000 });
  const events: AgentEvent[] = [];
  const first = await end(host.ask("thread_1", "Pay"));
  const reading = (async () => {
    for await (const event of first.events()) events.push(event);
  })();
  await pass(50_000);
  expect([host.size, first.state]).toEqual([1, "waiting"]);
  await end(host.approve("thread_1", "call_p"));
  await end(reading);
  expect(events.at(-1)?.kind).toBe("request_completed");
  await pass(2_000);
  expect(host.size).toBe(0);
  const second = await end(host.ask("thread_1", "Pay again"));
  const { result } = second;
  await pass(50_000);
  expect(host.size).toBe(1);
  await end(host.approve("thread_1", "call_p"));
  expect((await end(result)).text).toBe("Paid.");
});

test("who stops reading lets the thread go", async () => {
  const { host: make, end, pass } = await house();
  const host = make({ agent: careful([PAY]).agent, idleMs: 1_000 });
  const request = await end(host.ask("thread_1", "Pay"));
  for await (const event of request.events()) if (event.kind === "approval_requested") break;
  await pass(2_000);
  expect(host.size).toBe(0);
});

test("stop lets running requests end, and accepts no new ones", async () => {
  const { host: make, end, settled, isFree } = await house();
  const wait = gate();
  const slow = agentOf([() => wait.promise.then(() => "done")]);
  const host = make({ agent: slow });
  const request = await end(host.ask("thread_1", "slow"));
  const stopping = host.stop({ graceMs: 5_000 });
  await settled();
  await expect(host.ask("thread_1", "more")).rejects.toMatchObject({ code: "server_stopped" });
  await expect(host.get("thread_2")).rejects.toMatchObject({ code: "server_stopped" });
  wait.resolve();
  expect((await request.result).text).toBe("done");
  await end(stopping);
  expect([host.size, await isFree("thread_1")]).toEqual([0, true]);
  await end(host.stop()); // twice does no harm
});

test("a request that does not end in time stays open in the log, and another host resumes it", async () => {
  const { host: make, end, pass, store } = await house();
  const host = make({ agent: agentOf([{ hang: true }]) });
  const request = await end(host.ask("thread_1", "Hi"));
  const stopping = host.stop({ graceMs: 5_000 });
  await pass(5_000);
  await end(stopping);
  await expect(request.result).rejects.toMatchObject({ code: "request_suspended" });
  expect((await store.list({ status: "running" })).threads.map(({ id }) => id)).toEqual(["thread_1"]);
  const next = make({ agent: agentOf(["Hello."]) });
  next.work();
  await pass(100);
  const resumed = await end(next.resume("thread_1"));
  if (resumed !== undefined) expect((await end(resumed.result)).text).toBe("Hello.");
  await pass(1_000);
  expect((await store.list({ status: "running" })).threads).toEqual([]);
});

test("a start that fails can be tried again", async () => {
  const inner = memoryStore();
  const { host: make, end, pass } = await house(inner);
  const load = vi.spyOn(inner, "load").mockRejectedValueOnce(new Error("down"));
  const host = make({ agent: agentOf(["4"]), idleMs: 1_000 });
  await expect(end(host.get("thread_1"))).rejects.toThrow("down");
  expect(host.size).toBe(0);
  const request = await end(host.ask("thread_1", "Hi"));
  expect((await end(request.result)).text).toBe("4");
  expect(load.mock.calls.length).toBeGreaterThan(1);
  await pass(2_000);
  expect(host.size).toBe(0);
});

test("a thread that is held elsewhere is an error that says by whom", async () => {
  const { host: make, end } = await house();
  const first = make({ agent: agentOf([]), holder: "host_a" });
  const second = make({ agent: agentOf([]), holder: "host_b", claimWaitMs: 1_000 });
  await end(first.get("thread_1"));
  await expect(end(second.get("thread_1"))).rejects.toMatchObject({ code: "thread_held", holder: "host_a" });
  expect(second.size).toBe(0);
  await end(first.stop());
  expect((await end(second.get("thread_1"))).threadId).toBe("thread_1");
  await end(second.stop());
});

test("a server that lost its thread makes place for another", async () => {
  const { host: make, end, store, pass } = await house();
  const host = make({ agent: agentOf(["1", "2"]), holder: "host_a", idleMs: 60_000 });
  const request = await end(host.ask("thread_1", "Hi"));
  await end(request.result);
  await store.claim("thread_1", { holder: "host_a", ttlMs: 1 }); // as after a restart under the same name
  await pass(5_000);
  expect(host.size).toBe(0);
  const again = await end(host.ask("thread_1", "Hi again"));
  expect((await end(again.result)).text).toBe("2");
  await end(host.stop());
});

test("an ask that is refused leaves the thread to others", async () => {
  const { host: make, end, pass } = await house();
  const host = make({ agent: agentOf([]), idleMs: 1_000 });
  await expect(end(host.ask("thread_1", " "))).rejects.toMatchObject({ code: "empty_ask" });
  await pass(2_000);
  expect(host.size).toBe(0);
});

test("the context of a request that was interrupted comes from the host", async () => {
  const { host: make, end, pass, store } = await house();
  const first = make({ agent: agentOf([{ hang: true }]) });
  await end(first.ask("thread_1", "Hi", { refs: { tenantId: "t1" } as never }));
  await end(first.stop({ graceMs: 0 }));
  const systemPrompt = (context: { name: string }) => `For ${context.name}.`;
  const model = scriptedModel([{ expect: { system: "For thread_1 t1." }, text: "ok" }]);
  const agent = agentOf([], { systemPrompt });
  const context = (threadId: string, refs: object) => ({
    name: `${threadId} ${(refs as { tenantId: string }).tenantId}`,
  });
  const second = make({ agent: { ...agent, model } as typeof agent, context: context as never });
  second.work();
  await pass(100);
  await end(second.stop());
  expect((await store.load("thread_1"))?.last()?.payload).toMatchObject({ content: "ok" });
});

test("a client's call is answered through the host", async () => {
  const { host: make, end } = await house();
  const { agent } = careful([ASK, "Thanks."]);
  const host = make({ agent });
  const request = await end(host.ask("thread_1", "Hi"));
  for await (const _event of request.events({ until: "waiting" }));
  await end(host.answer("thread_1", "call_q", { ok: true }));
  expect((await end(request.result)).text).toBe("Thanks.");
  await end(host.stop());
});

test.each([
  ["reject", ["First?", "Again."]],
  ["queue", ["First?", "Again.", "Second?", "Two."]],
] as const)("an ask in a fork first continues the open request, with busy: %s", async (busy, expected) => {
  const { host: make, end, store } = await house();
  const host = make({ agent: agentOf(["One.", "Again.", "Two."], { busy }) });
  await end((await end(host.ask("thread_1", "First?"))).result);
  await store.fork("thread_1", { atSeq: 0, newId: "fork" }); // ends with the question
  const asked = end(host.ask("fork", "Second?"));
  if (busy === "reject") await expect(asked).rejects.toMatchObject({ code: "busy" });
  else await end((await asked).result);
  await end(host.advance("fork"));
  const texts = (await store.load("fork"))?.toArray().flatMap(({ payload }) => payload["content"] ?? []);
  expect(texts).toEqual(expected);
  await end(host.stop());
});

test("a thread that was deleted under a live host starts empty at the next ask", async () => {
  const { host: make, end, store } = await house();
  const host = make({ agent: agentOf(["1", "2", "3"]), idleMs: 60_000 });
  await end((await end(host.ask("thread_1", "Hi"))).result);
  await store.delete("thread_1");
  const request = await end(host.ask("thread_1", "Hi again"));
  expect((await end(request.result)).text).toBe("2");
  expect((await store.load("thread_1"))?.toArray().map(({ payload }) => payload["content"])).toEqual(["Hi again", "2"]);
  await end(host.stop());
});

test("an ask that is repeated after its thread was deleted is a new request", async () => {
  const { host: make, end, store } = await house();
  const host = make({ agent: agentOf(["1", "2"]), idleMs: 60_000 });
  await end((await end(host.ask("thread_1", "Hi", { requestId: "req_mine" }))).result);
  await store.delete("thread_1");
  const request = await end(host.ask("thread_1", "Hi", { requestId: "req_mine" }));
  expect((await end(request.result)).text).toBe("2");
  expect((await store.load("thread_1"))?.rev).toBe(2);
  await end(host.stop());
});

test.each([
  ["fewer", 1],
  ["more", 5],
] as const)("a thread that was deleted and has %s entries since is reloaded", async (_, count) => {
  const { host: make, end, store } = await house();
  const host = make({ agent: agentOf(["1", "2"]), idleMs: 60_000 });
  await end((await end(host.ask("thread_1", "Hi"))).result);
  await store.delete("thread_1");
  for (let n = 0; n < count; n++) await store.append("thread_1", { kind: "note", payload: { text: `new ${n}` } });
  const request = await end(host.ask("thread_1", "Hi again"));
  expect((await end(request.result)).text).toBe("2");
  const server = await end(host.get("thread_1"));
  const kinds = (await server.thread()).toArray().map(({ kind }) => kind);
  expect(kinds).toEqual([...Array.from({ length: count }, () => "note"), "ai_message", "ai_message"]);
  expect((await store.verify("thread_1")).ok).toBe(true);
  await end(host.stop());
});

test.each(["live", "being released", "released"])(
  "the signal of an ask cancels a request that waits, though its thread is %s",
  async (state) => {
    const { host: make, end, pass, settled, store } = await house();
    const { agent, ran } = careful([PAY]);
    const host = make({ agent, idleMs: 1_000 });
    const controller = new AbortController();
    const request = await end(host.ask("thread_1", "Pay", { signal: controller.signal }));
    await end(request.settled());
    if (state === "released") await pass(1_000);
    if (state === "being released") void pass(1_000);
    controller.abort();
    const approve = host.approve("thread_1", "call_p").then(
      () => "approved",
      (error: { readonly code: string }) => error.code,
    );
    await settled();
    expect(await end(approve)).toBe("not_waiting");
    expect(ran).toEqual([]);
    expect((await store.load("thread_1"))?.last()?.payload).toMatchObject({ end: { status: "cancelled" } });
    await end(host.stop());
  },
);

test("a signal is forgotten when its request has ended, also where the thread was released meanwhile", async () => {
  const { host: make, end, pass } = await house();
  const { agent } = careful([PAY, "Paid."]);
  const host = make({ agent, idleMs: 1_000 });
  const { signal } = new AbortController();
  const add = vi.spyOn(signal, "addEventListener");
  const remove = vi.spyOn(signal, "removeEventListener");
  const request = await end(host.ask("thread_1", "Pay", { signal }));
  await end(request.settled());
  await pass(1_000);
  expect(host.size).toBe(0);
  await end(host.approve("thread_1", "call_p"));
  await pass(100);
  const removed = remove.mock.calls.map(([, listener]) => listener);
  expect(add).toHaveBeenCalled();
  expect(add.mock.calls.filter(([, listener]) => !removed.includes(listener))).toEqual([]);
  await end(host.stop());
});
