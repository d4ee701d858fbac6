import type { ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { openStore } from "../../stores/postgres/open.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { agentOf, anything, house, PAY, realTime } from "./support/hosts.ts";

const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
const config = (timeoutMs?: number) => ({ tools: { pay }, ...(timeoutMs && { approval: { timeoutMs } }) });

describe("a host that has released a waiting thread", () => {
  test("applies the deadline of its approval, with one timer, and releases it again", async () => {
    const at = await house();
    const host = at.host({ agent: agentOf([PAY, "Not paid."], config(60_000)), idleMs: 1_000 });
    const { id } = await at.end(host.ask("thread_1", "Pay."));
    await at.pass(2_000);
    expect([host.size, (await host.waiting()).calls.length]).toEqual([0, 1]);
    await at.pass(57_000);
    expect(host.size).toBe(0);
    await at.pass(2_000);
    expect((await at.store.list({ status: "completed" })).threads.map((thread) => thread.id)).toEqual(["thread_1"]);
    expect((await host.waiting()).calls).toEqual([]);
    expect(JSON.stringify((await at.store.load("thread_1"))?.toArray())).toContain(id);
    await at.pass(2_000);
    expect(host.size).toBe(0);
    await at.end(host.stop());
  });

  test("applies the deadline of the ask, and the nearest one first", async () => {
    const at = await house();
    const host = at.host({ agent: agentOf([PAY, PAY, PAY], config()), idleMs: 1_000 });
    await at.end(host.ask("thread_1", "Pay.", { deadline: 90_000 }));
    await at.end(host.ask("thread_2", "Pay.", { deadline: 30_000 }));
    await at.end(host.ask("thread_3", "Pay."));
    const failed = async () => (await at.store.list({ status: "failed" })).threads.map(({ id }) => id).toSorted();
    await at.pass(29_000);
    expect([host.size, await failed()]).toEqual([0, []]);
    await at.pass(2_000);
    expect(await failed()).toEqual(["thread_2"]);
    await at.pass(60_000);
    expect(await failed()).toEqual(["thread_1", "thread_2"]);
    await at.pass(600_000);
    expect((await host.waiting()).calls.map(({ threadId }) => threadId)).toEqual(["thread_3"]);
    await at.end(host.stop());
  });

  test("counts a number of milliseconds from the call, also when another process holds the thread", async () => {
    const at = await house();
    const host = at.host({ agent: agentOf([{ hang: true }, { hang: true }]), claimWaitMs: 10_000 });
    const stored = async () =>
      (await at.store.load("thread_1"))?.toArray().flatMap(({ payload }) => payload["options"]);
    const { epoch } = await at.store.claim("thread_1", { holder: "other", ttlMs: 60_000 });
    const deadline = at.ports.clock() + 20_000;
    const asked = host.ask("thread_1", "Pay.", { deadline: 20_000 });
    await at.pass(4_000);
    await at.store.release("thread_1", epoch);
    await at.pass(4_000);
    const { id } = await at.end(asked);
    expect(await stored()).toEqual([{ deadline }]);
    await at.end(host.cancel("thread_1", id));
    await at.end(host.stop());
  });

  test("waits for the claim of another process, which may be dead", async () => {
    const at = await house();
    const host = at.host({ agent: agentOf([PAY, "Not paid."], config(60_000)), idleMs: 1_000, claimWaitMs: 0 });
    await at.end(host.ask("thread_1", "Pay."));
    await at.pass(50_000);
    await at.store.claim("thread_1", { holder: "other", ttlMs: 15_000 });
    await at.pass(12_000);
    expect((await host.waiting()).calls).toHaveLength(1);
    await at.pass(20_000);
    expect((await host.waiting()).calls).toEqual([]);
    await at.end(host.stop());
  });
});

const STORES: readonly [string, () => Promise<ThreadStore | undefined>][] = [
  ["in memory", async () => undefined],
  ["on SQLite", async () => sqliteStore(fastFile())],
  ["on Postgres", async () => openStore()],
];

describe.each(STORES)("a host that starts, %s", (_name, open) => {
  test("takes the waiting threads whose deadline has passed, and keeps the later ones", async () => {
    const { host: make, store } = await house(await open(), realTime());
    const first = make({ agent: agentOf([PAY, PAY, PAY, PAY], config()) });
    await first.ask("thread_past", "Pay.", { deadline: 1_500 });
    await first.ask("thread_soon", "Pay.", { deadline: 4_500 });
    await first.ask("thread_ever", "Pay.");
    for (const id of ["thread_past", "thread_soon", "thread_ever"])
      await expect.poll(async () => (await first.waiting(id)).length, { timeout: 5_000 }).toBe(1);
    await first.stop();
    await new Promise((resolve) => setTimeout(resolve, 1_600));
    const second = make({ agent: agentOf([], config()) });
    const failed = async () => (await store.list({ status: "failed" })).threads.map(({ id }) => id).toSorted();
    second.work();
    await expect.poll(failed, { timeout: 5_000 }).toContain("thread_past");
    await expect.poll(failed, { timeout: 8_000 }).toEqual(["thread_past", "thread_soon"]);
    expect((await second.waiting()).calls.map(({ threadId }) => threadId)).toEqual(["thread_ever"]);
    await second.stop();
  });

  test("takes the threads whose approval is overdue", async () => {
    const { host: make, store } = await house(await open(), realTime());
    const first = make({ agent: agentOf([PAY], config(600)) });
    const request = await first.ask("thread_1", "Pay.");
    for await (const _event of request.events({ until: "waiting" }));
    await first.stop();
    await new Promise((resolve) => setTimeout(resolve, 700));
    const second = make({ agent: agentOf(["Not paid."], config(600)) });
    second.work();
    const done = async () => (await store.list({ status: "completed" })).threads.length;
    await expect.poll(done, { timeout: 5_000 }).toBe(1);
    await second.stop();
  });
});
