import { AgentHost, defineAgent, memoryStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { saveImport } from "../../src/studio/routes/import.ts";
import { started } from "./support/client.ts";

test("a call that was approved and now waits for its answer is shown as waiting, and can be answered", async () => {
  const model = scriptedModel([{ calls: [{ name: "sign", arguments: { page: 1 } }] }, "Signed."]);
  const sign = { inputSchema: { type: "object" }, needsApproval: true } as const; // somebody outside signs
  const { api } = await started({ agent: defineAgent({ model, tools: { sign } }) });
  const id = await api.newThread();
  const waiting = async () => (await api.get(`/threads/${id}`)).body.request?.waiting;
  const events = await api.events(`/threads/${id}/events`);
  await api.post(`/threads/${id}/ask`, { content: "Sign it." });
  await events.until(({ event, data }) => event === "agent" && data.kind === "approval_requested");
  expect(await waiting()).toMatchObject([{ toolCallId: "call_1", kind: "approval" }]);
  await api.post(`/threads/${id}/approve`, { toolCallId: "call_1" });
  await events.until(({ event, data }) => event === "agent" && data.kind === "answer_requested");
  expect(await waiting()).toEqual([{ toolCallId: "call_1", name: "sign", arguments: { page: 1 }, kind: "answer" }]);
  await api.post(`/threads/${id}/answer`, { toolCallId: "call_1", output: "A. Lovelace" });
  await events.until(({ event, data }) => event === "agent" && data.kind === "request_completed");
  events.close();
});

test("a long thread that waits is taken and listed when the whole of it is imported", async () => {
  const [from, to] = [memoryStore(), memoryStore()];
  const pay = { inputSchema: { type: "object" }, needsApproval: true, execute: () => "paid" } as const;
  const model = scriptedModel([{ calls: [{ name: "pay" }] }]);
  const host = AgentHost.create({ agent: defineAgent({ name: "payer", model, tools: { pay } }), store: from });
  await (await host.ask("thread_1", "Pay.", { deadline: 1_000_000 })).settled();
  await host.stop();
  await from.append("thread_1", new Array(2500).fill({ kind: "note" }));
  const thread = (await from.load("thread_1")) ?? expect.fail("it is stored");
  let parts = 0;
  await saveImport(to, thread, async () => {
    parts++;
    const part = await to.load("thread_1", { last: 1 });
    expect([part?.metadata["status"], (await to.waiting()).calls]).toEqual([undefined, []]);
  });
  expect([parts, (await to.load("thread_1"))?.metadata]).toEqual([1, thread.metadata]);
  expect((await to.waiting()).calls).toMatchObject([{ callId: "call_1", body: { agent: "payer" } }]);
});
