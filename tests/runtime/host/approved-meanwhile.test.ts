import { expect, test } from "vitest";
import { gate } from "../support/stage.ts";
import { agentOf, anything, house } from "./support/hosts.ts";

/** Approved in another process while a call beside it runs: the ordinary case of two web servers on one database. */
async function approvedMeanwhile() {
  const at = await house();
  const slow = gate();
  const started = gate();
  const paying = gate();
  const pay = async (): Promise<string> => {
    started.resolve();
    await paying.promise;
    return "paid";
  };
  const tools = {
    slow: { inputSchema: anything, execute: () => slow.promise.then(() => "slow") },
    ask: { inputSchema: anything },
    pay: { inputSchema: anything, needsApproval: true, execute: pay },
  };
  const calls = ["slow", "ask", "pay"].map((name) => ({ id: `call_${name}`, name }));
  const agent = agentOf([{ calls }, "Done."], { tools });
  const holder = at.host({ agent, idleMs: 1_000 });
  const request = await at.end(holder.ask("thread_1", "Go"));
  await at.settled();
  await at.end(at.host({ agent }).approve("thread_1", "call_pay"));
  slow.resolve();
  await at.end(started.promise);
  await at.settled();
  const resultOfPay = async (): Promise<unknown> => {
    const entries = (await at.store.load("thread_1"))?.filterByRef("toolCallId", "call_pay") ?? [];
    return entries.map(({ payload }) => payload).find((payload) => "role" in payload);
  };
  return { at, holder, request, paying, resultOfPay };
}

const PAID = expect.objectContaining({ content: "paid" });

test("a request is running while a call runs that was approved elsewhere", async () => {
  const { request } = await approvedMeanwhile();
  expect(request.state).toBe("running");
});

test("a thread is not idle while a call runs that was approved elsewhere", async () => {
  const { at, paying, resultOfPay } = await approvedMeanwhile();
  await at.pass(5_000); // longer than an idle thread is kept
  paying.resolve();
  await at.settled();
  expect(await resultOfPay()).toEqual(PAID);
});

test("a host that stops lets a call end that was approved elsewhere", async () => {
  const { at, holder, paying, resultOfPay } = await approvedMeanwhile();
  const stopped = holder.stop({ graceMs: 10_000 });
  await at.pass(500);
  paying.resolve();
  await at.end(stopped);
  expect(await resultOfPay()).toEqual(PAID);
});
