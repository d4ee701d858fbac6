import { memoryStore, StoreError } from "heddle";
import { expect, test, vi } from "vitest";
import { gate } from "../support/stage.ts";
import { ASK, agentOf, anything, careful, house, PAY } from "./support/hosts.ts";

test("a worker resumes only requests that were running", async () => {
  const { host: make, end, pass, store } = await house();
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
  host.work();
  await pass(1_000);
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

test("threads of a dead process are taken together when its claims have expired; those of a living one are left", async () => {
  const { host: make, end, pass, store } = await house();
  const living = make({ agent: agentOf([{ hang: true }]) });
  await end(living.ask("thread_living", "Hi"));
  const crashed = make({ agent: agentOf(Array.from({ length: 40 }, () => ({ hang: true }))) });
  for (let n = 0; n < 40; n++) await end(crashed.ask(`thread_${n}`, "Hi"));
  await end(crashed.stop({ graceMs: 0 }));
  for (let n = 0; n < 40; n++) await store.claim(`thread_${n}`, { holder: "dead", ttlMs: 8_000 });
  const host = make({ agent: agentOf(Array.from({ length: 40 }, () => "ok")) });
  host.work();
  await pass(9_500);
  expect((await store.list({ status: "completed" })).threads).toHaveLength(40);
  expect(living.size).toBe(1);
  await end(host.stop());
  await end(living.stop({ graceMs: 0 }));
});

test("a request with a running call is resumed, though another of its calls waits", async () => {
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
  host.work();
  await settled();
  expect(host.size).toBe(1);
  expect((await store.load("thread_a"))?.metadata["status"]).toBe("waiting");
  await end(host.stop());
});

test.each([
  ["approve", ["call_p"]],
  ["deny", []],
] as const)("a decision on a call, %s, is carried out where the holder had died", async (decide, runs) => {
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
  host.work();
  await pass(2_000);
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

test.each(["claim", "load", "getCheckpoint"] as const)(
  "a thread is resumed also where its first %s fails because the database is away for a moment",
  async (method) => {
    const inner = memoryStore();
    const { host: make, end, pass, store } = await house(inner);
    const crashed = make({ agent: agentOf([{ hang: true }]) });
    await end(crashed.ask("thread_a", "Hi"));
    await end(crashed.stop({ graceMs: 0 }));
    vi.spyOn(inner, method).mockRejectedValueOnce(away());
    const host = make({ agent: agentOf(["ok"]) });
    host.work();
    await pass(3_000);
    expect((await store.load("thread_a"))?.metadata["status"]).toBe("completed");
    await end(host.stop());
  },
);

test("a thread that cannot be started is reported, and does not block the others", async () => {
  const inner = memoryStore();
  const { host: make, end, pass, store, warnings } = await house(inner);
  const crashed = make({ agent: agentOf([{ hang: true }, { hang: true }]) });
  await end(crashed.ask("thread_a", "Hi"));
  await end(crashed.ask("thread_b", "Hi"));
  await end(crashed.stop({ graceMs: 0 }));
  const load = inner.load.bind(inner);
  vi.spyOn(inner, "load").mockImplementation((id, options) =>
    id === "thread_a" ? Promise.reject(new Error("a secret of the database")) : load(id, options),
  );
  const host = make({ agent: agentOf(["ok"]) });
  host.work();
  await pass(2_000);
  expect((await store.list({ status: "completed" })).threads.map(({ id }) => id)).toEqual(["thread_b"]);
  expect(warnings).toEqual([expect.stringContaining("thread_a could not be started")]);
  expect(warnings.join()).not.toContain("secret");
  await end(host.stop());
});

test("a worker leaves the threads of another agent alone, and takes those whose asks name none", async () => {
  const { host: make, end, pass, store } = await house();
  const crashed = make({ agent: agentOf([{ hang: true }], { name: "support" }) });
  const { id } = await end(crashed.ask("thread_support", "Hi"));
  await end(crashed.stop({ graceMs: 0 }));
  expect((await store.load("thread_support"))?.at(0)?.payload).toMatchObject({ agent: "support" });
  const old = { role: "user", content: "Hi", contextRef: "main", requestId: "req_old", runId: "run_old" };
  const refs = { requestId: "req_old", runId: "run_old" };
  await store.append(
    "thread_old",
    { kind: "ai_message", payload: old, refs },
    { metadata: { status: "running" }, next: {} },
  );
  const sales = make({ agent: agentOf(["Sales here."], { name: "sales" }) });
  sales.work();
  await pass(2_000);
  const completed = async () => (await store.list({ status: "completed", order: "id" })).threads.map((one) => one.id);
  expect(await completed()).toEqual(["thread_old"]);
  await end(sales.stop());
  const epoch = (await store.claim("thread_support", { holder: "test", ttlMs: 1_000 })).epoch;
  await store.release("thread_support", epoch);
  expect(epoch).toBe(2); // nobody else has claimed it
  const support = make({ agent: agentOf(["Support here."], { name: "support" }) });
  support.work();
  await pass(2_000);
  expect(await completed()).toEqual(["thread_old", "thread_support"]);
  expect((await end(support.result("thread_support", id))).text).toBe("Support here.");
  await end(support.stop());
});

test.each([
  ["recover: fail", { recover: "fail" }, {}],
  ["a deadline", {}, { deadline: 5_000 }],
] as const)("a worker closes a request as failed: %s", async (_why, config, options) => {
  const { host: make, end, pass, store } = await house();
  const crashed = make({ agent: agentOf([{ hang: true }]) });
  await end(crashed.ask("thread_a", "Hi", options));
  await end(crashed.stop({ graceMs: 0 }));
  await pass(6_000);
  const host = make({ agent: agentOf([], config) });
  host.work();
  await pass(2_000);
  expect((await store.load("thread_a"))?.metadata["status"]).toBe("failed");
  await end(host.stop());
});

test("a worker reports the ends that a process could not report before it stopped", async () => {
  const { host: make, end, pass, store } = await house();
  const hangs = make({ agent: agentOf(["One.", "Two."], { onRequestEnd: () => gate().promise }) });
  for (const id of ["thread_1", "thread_2"]) await end((await end(hangs.ask(id, "Go.", { requestId: id }))).result);
  await pass(1_000);
  const heard: string[] = [];
  const onRequestEnd = ({ requestId }: { readonly requestId: string }) => void heard.push(requestId);
  await end(hangs.stop({ graceMs: 0 }));
  const host = make({ agent: agentOf([], { onRequestEnd }) });
  host.work();
  await pass(2_000);
  expect(heard.toSorted()).toEqual(["thread_1", "thread_2"]);
  expect(await store.list({ metadata: { unreportedEnd: true } })).toMatchObject({ threads: [] });
  await end(host.stop());
});
