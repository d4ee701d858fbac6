import { type AnyAgent, defineAgent, memoryStore, StoreError } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect, test, vi } from "vitest";
import { gate } from "../support/stage.ts";
import { ASK, agentOf, anything, careful, house, PAY } from "./support/hosts.ts";

test("recover resumes only requests that were running", async () => {
  const { host: make, end, store } = await house();
  const crashed = make({ agent: agentOf(["done", { hang: true }, { hang: true }]) });
  await end((await end(crashed.ask("thread_done", "Hi"))).result);
  await end(crashed.ask("thread_a", "Hi"));
  await end(crashed.ask("thread_b", "Hi"));
  await end(crashed.stop({ graceMs: 0 }));
  const waits = make({ agent: careful([PAY]).agent });
  const waiting = await end(waits.ask("thread_waits", "Pay"));
  for await (const _event of waiting.events({ until: "waiting" }));
  await end(waits.stop());
  const host = make({ agent: agentOf(["a", "b"]) });
  expect((await end(host.recover())).threads).toHaveLength(2);
  expect(host.size).toBe(2);
  await end(host.stop());
  const statuses = (await store.list({ order: "id" })).threads.map(({ id, status }) => [id, status]);
  expect(statuses).toEqual([
    ["thread_a", "completed"],
    ["thread_b", "completed"],
    ["thread_done", "completed"],
    ["thread_waits", "waiting"],
  ]);
});

test("threads of a dead process are recovered together when its claims have expired; those of a living one are left", async () => {
  const { host: make, end, store, ports } = await house();
  const living = make({ agent: agentOf([{ hang: true }]) });
  await end(living.ask("thread_living", "Hi"));
  const crashed = make({ agent: agentOf(Array.from({ length: 40 }, () => ({ hang: true }))) });
  for (let n = 0; n < 40; n++) await end(crashed.ask(`thread_${n}`, "Hi"));
  await end(crashed.stop({ graceMs: 0 }));
  for (let n = 0; n < 40; n++) await store.claim(`thread_${n}`, { holder: "dead", ttlMs: 8_000 });
  const before = ports.clock();
  const host = make({ agent: agentOf(Array.from({ length: 40 }, () => "ok")) });
  expect((await end(host.recover())).threads).toHaveLength(40);
  expect(ports.clock() - before).toBeLessThanOrEqual(10_000);
  expect(living.size).toBe(1);
  await end(host.stop());
  await end(living.stop({ graceMs: 0 }));
});

test("a request with a running call is recovered, though another of its calls waits", async () => {
  const { host: make, end, settled, store } = await house();
  const hold = gate();
  const slow = { inputSchema: anything, execute: () => hold.promise };
  const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
  const calls = [{ name: "pay" }, { name: "slow" }];
  const agent = agentOf([{ calls }, "done"], { tools: { slow, pay } });
  const crashed = make({ agent });
  await end(crashed.ask("thread_a", "Go"));
  await settled();
  await end(crashed.stop({ graceMs: 0 }));
  const host = make({ agent });
  expect((await end(host.recover())).threads).toHaveLength(1);
  await settled();
  expect((await store.load("thread_a"))?.metadata["status"]).toBe("waiting");
  await end(host.stop());
});

test.each([
  ["approve", ["call_p"]],
  ["deny", []],
] as const)("a decision on a call, %s, is recovered where the holder had died", async (decide, runs) => {
  const { host: make, end, pass, store } = await house();
  const dead = make({ agent: careful([PAY]).agent });
  const waiting = await end(dead.ask("thread_1", "Pay"));
  for await (const _event of waiting.events({ until: "waiting" }));
  await end(dead.stop());
  await store.claim("thread_1", { holder: "dead", ttlMs: 5_000 });
  const { agent, ran } = careful(["Done."]);
  const front = make({ agent });
  await end(front[decide]("thread_1", "call_p"));
  await end(front.stop()); // before the claim has run out
  await pass(10_000);
  const host = make({ agent });
  expect((await end(host.recover())).threads).toHaveLength(1);
  await pass(1_000);
  expect(ran).toEqual(runs);
  await end(host.stop());
});

test("an answer that leaves another call waiting leaves the thread to the process that decides on that call", async () => {
  const { host: make, end, store } = await house();
  const { agent } = careful([{ calls: [...PAY.calls, ...ASK.calls] }]);
  const holder = make({ agent });
  const waiting = await end(holder.ask("thread_1", "Pay"));
  for await (const _event of waiting.events({ until: "waiting" }));
  await end(holder.stop());
  await store.claim("thread_1", { holder: "dead", ttlMs: 5_000 });
  const host = make({ agent });
  await end(host.answer("thread_1", "call_q", "yes"));
  expect((await store.load("thread_1"))?.metadata["status"]).toBe("waiting");
  await end(host.stop());
});

const away = () => new StoreError({ code: "store_unreachable", retryable: true, message: "The database fails over." });

test.each(["list", "claim", "load", "getCheckpoint"] as const)(
  "a thread is recovered also where its first %s fails because the database is away for a moment",
  async (method) => {
    const inner = memoryStore();
    const { host: make, end, pass, store } = await house(inner);
    const crashed = make({ agent: agentOf([{ hang: true }]) });
    await end(crashed.ask("thread_a", "Hi"));
    await end(crashed.stop({ graceMs: 0 }));
    vi.spyOn(inner, method).mockRejectedValueOnce(away());
    const host = make({ agent: agentOf(["ok"]) });
    expect((await end(host.recover())).threads).toHaveLength(1);
    await pass(1_000);
    expect((await store.load("thread_a"))?.metadata["status"]).toBe("completed");
    await end(host.stop());
  },
);

test("a thread that cannot be recovered is reported, and does not block the recovery of others", async () => {
  const inner = memoryStore();
  const { host: make, end, warnings } = await house(inner);
  const crashed = make({ agent: agentOf([{ hang: true }, { hang: true }]) });
  await end(crashed.ask("thread_a", "Hi"));
  await end(crashed.ask("thread_b", "Hi"));
  await end(crashed.stop({ graceMs: 0 }));
  const load = inner.load.bind(inner);
  vi.spyOn(inner, "load").mockImplementation((id, options) =>
    id === "thread_a" ? Promise.reject(new Error("a secret of the database")) : load(id, options),
  );
  const host = make({ agent: agentOf(["ok"]) });
  expect((await end(host.recover())).threads).toHaveLength(1);
  expect(warnings).toEqual([expect.stringContaining("thread_a could not be recovered")]);
  expect(warnings.join()).not.toContain("secret");
  await end(host.stop());
});

test("recover runs as many requests at once as its limit, sixteen by default, and returns which", async () => {
  for (const [recoverConcurrency, most] of [
    [undefined, 16],
    [3, 3],
  ] as const) {
    const { host: make, end, pass, ports } = await house();
    const crashed = make({ agent: agentOf(Array.from({ length: 40 }, () => ({ hang: true }))) });
    const asked: string[] = [];
    for (let n = 10; n < 50; n++) asked.push((await end(crashed.ask(`thread_${n}`, "Hi"))).id);
    await end(crashed.stop({ graceMs: 0 }));
    let atWork = 0;
    let seen = 0;
    const doStream = async () => {
      atWork += 1;
      seen = Math.max(seen, atWork);
      await new Promise<void>((resolve) => void ports.after(100, resolve));
      atWork -= 1;
      throw new Error("no answer");
    };
    const model = { ...scriptedModel([]), doStream } as never;
    const host = make({ agent: defineAgent({ model, modelMaxRetries: 0 }) as AnyAgent, recoverConcurrency });
    expect(await end(host.recover())).toEqual({
      threads: asked.map((_, n) => `thread_${n + 10}`),
      requests: asked,
    });
    await pass(1_000);
    expect(seen).toBe(most);
    await end(host.stop());
  }
});

test("recover leaves the threads of another agent alone, and takes those whose asks name none", async () => {
  const { host: make, end, store } = await house();
  const crashed = make({ agent: agentOf([{ hang: true }], { name: "support" }) });
  const { id } = await end(crashed.ask("thread_support", "Hi"));
  await end(crashed.stop({ graceMs: 0 }));
  expect((await store.load("thread_support"))?.at(0)?.payload).toMatchObject({ agent: "support" });
  const old = { role: "user", content: "Hi", contextRef: "main", requestId: "req_old", runId: "run_old" };
  const refs = { requestId: "req_old", runId: "run_old" };
  await store.append("thread_old", { kind: "ai_message", payload: old, refs }, { metadata: { status: "running" } });
  const sales = make({ agent: agentOf(["Sales here."], { name: "sales" }) });
  expect(await end(sales.recover())).toEqual({ threads: ["thread_old"], requests: ["req_old"] });
  await end(sales.stop());
  const epoch = (await store.claim("thread_support", { holder: "test", ttlMs: 1_000 })).epoch;
  await store.release("thread_support", epoch);
  expect(epoch).toBe(2); // nobody else has claimed it
  const support = make({ agent: agentOf(["Support here."], { name: "support" }) });
  expect(await end(support.recover())).toEqual({ threads: ["thread_support"], requests: [id] });
  await end(support.stop());
});

test.each([0, -1, 1.5])("recoverConcurrency %s is refused", async (recoverConcurrency) => {
  const { host: make } = await house();
  expect(() => make({ agent: agentOf([]), recoverConcurrency })).toThrow("recoverConcurrency");
});

test("requests that are live in this host take no place of recover, and are not among what it answers", async () => {
  const { host: make, end, store } = await house();
  const crashed = make({ agent: agentOf([{ hang: true }]) });
  await end(crashed.ask("thread_orphan", "Hi"));
  await end(crashed.stop({ graceMs: 0 }));
  const host = make({ agent: agentOf([{ hang: true }, { hang: true }, "Recovered."]), recoverConcurrency: 2 });
  await end(host.ask("thread_a", "Hi"));
  await end(host.ask("thread_b", "Hi"));
  expect((await end(host.recover())).threads).toEqual(["thread_orphan"]);
  await end(host.stop({ graceMs: 0 }));
  expect((await store.list({ order: "id" })).threads.map(({ status }) => status)).toContain("completed");
});

test.each([
  ["recover: fail", { recover: "fail" }, {}],
  ["a deadline", {}, { deadline: 5_000 }],
] as const)("recover names a request that it closed as failed: %s", async (_why, config, options) => {
  const { host: make, end, pass, store } = await house();
  const crashed = make({ agent: agentOf([{ hang: true }]) });
  const { id } = await end(crashed.ask("thread_a", "Hi", options));
  await end(crashed.stop({ graceMs: 0 }));
  await pass(6_000);
  const host = make({ agent: agentOf([], config) });
  expect(await end(host.recover())).toEqual({ threads: ["thread_a"], requests: [id] });
  expect((await store.load("thread_a"))?.metadata["status"]).toBe("failed");
  expect(await end(host.recover())).toEqual({ threads: [], requests: [] });
  await end(host.stop());
});

test("recover reports the ends that a process could not report before it stopped", async () => {
  const { host: make, end, pass, store } = await house();
  const hangs = make({ agent: agentOf(["One.", "Two."], { onRequestEnd: () => gate().promise }), holder: "node" });
  for (const id of ["thread_1", "thread_2"]) await end((await end(hangs.ask(id, "Go.", { requestId: id }))).result);
  await pass(1_000);
  const heard: string[] = [];
  const onRequestEnd = ({ requestId }: { readonly requestId: string }) => void heard.push(requestId);
  const host = make({ agent: agentOf([], { onRequestEnd }), holder: "node" }); // the process has died
  await end(host.recover());
  await pass(1_000);
  expect(heard.toSorted()).toEqual(["thread_1", "thread_2"]);
  expect(await store.list({ metadata: { unreportedEnd: true } })).toMatchObject({ threads: [] });
  await end(host.stop());
});
