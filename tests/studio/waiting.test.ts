import { defineAgent } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
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
