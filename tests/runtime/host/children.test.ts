import { agentTool, StoreError } from "heddle";
import type { ErrorOrigin } from "heddle/core";
import { faultStore } from "heddle/testing";
import { expect, test } from "vitest";
import { childStories } from "./support/child-stories.ts";
import { agentOf, careful, house, PAY } from "./support/hosts.ts";

childStories("in memory", () => undefined);

test("no time limit of a tool or of the request ends a call whose agent runs or waits", async () => {
  const { host: make, end, pass } = await house();
  const { agent: payer } = careful([PAY, "Paid."], { name: "payer" });
  const tools = { pay: agentTool(payer, { description: "Pays" }) };
  const call = { calls: [{ id: "call_1", name: "pay", arguments: { task: "Pay." } }] };
  const host = make({ agent: agentOf([call, "Done."], { tools, toolTimeoutMs: 1_000, totalTimeoutMs: 5_000 }) });
  const request = await end(host.ask("thread_1", "Go."));
  await pass(3_600_000);
  const [waiting] = await end(host.waiting("thread_1"));
  await end(host.approve(waiting?.threadId ?? "", "call_p"));
  expect((await end(request.result)).text).toBe("Done.");
  await end(host.stop());
});

test.each([{ tsk: "Pay." }, { task: 7 }, {}])(
  "the arguments %j start no agent, because they have no task",
  async (given) => {
    const { host: make, end, store } = await house();
    const { agent: payer } = careful(["Paid."], { name: "payer" });
    const tools = { pay: agentTool(payer, { description: "Pays" }) };
    const call = { calls: [{ id: "call_1", name: "pay", arguments: given }] };
    const host = make({ agent: agentOf([call, "Not paid."], { tools }) });
    const request = await end(host.ask("thread_1", "Go."));
    expect((await end(request.result)).text).toBe("Not paid.");
    const log = JSON.stringify((await host.thread("thread_1")).toArray());
    expect(log).toMatch(/tool_bad_arguments.*needs the field task/);
    expect((await store.list({})).threads.map(({ id }) => id)).toEqual(["thread_1"]);
    await end(host.stop());
  },
);

test.each(["the agent", "the ask"])("an agent without prices is not asked where %s has a limit of cost", async (by) => {
  const { host: make, end, store } = await house();
  const { agent: payer } = careful(["Paid."], { name: "payer" });
  const tools = { pay: agentTool(payer, { description: "Pays" }) };
  const limits = { costUsd: () => 1, ...(by === "the agent" && { maxCostUsd: 5 }) };
  const call = { calls: [{ id: "call_1", name: "pay", arguments: { task: "Pay." } }] };
  const host = make({ agent: agentOf([call, "Not paid."], { tools, limits }) });
  const options = by === "the ask" ? { limits: { maxCostUsd: 5 } } : {};
  const request = await end(host.ask("thread_1", "Go.", options));
  expect((await end(request.result)).text).toBe("Not paid.");
  const result = (await host.thread("thread_1"))
    .toArray()
    .find(({ payload }) => Reflect.get(payload, "role") === "tool");
  expect(result?.payload).toMatchObject({ toolCallId: "call_1", isError: true });
  expect(JSON.stringify(result?.payload)).toMatch(/invalid_options.*agent payer.*Give it costUsd/);
  expect((await store.list({})).threads.map(({ id }) => id)).toEqual(["thread_1"]);
  await end(host.stop());
});

test.each([
  [
    "throws",
    () => {
      throw new Error("prompt is broken");
    },
  ],
  ["answers no content", () => undefined as never], // a caller without types
  ["answers no words", () => ""],
])("a prompt function that %s fails only its call", async (_name, prompt: () => string) => {
  const { host: make, end } = await house();
  const { agent: payer } = careful([PAY, "Paid."], { name: "payer" });
  const tools = { pay: agentTool(payer, { description: "Pays", prompt }) };
  const call = { calls: [{ id: "call_1", name: "pay", arguments: { task: "Pay." } }] };
  const host = make({ agent: agentOf([call, "Not paid."], { tools }) });
  const request = await end(host.ask("thread_1", "Go."));
  expect((await end(request.result)).text).toBe("Not paid.");
  const result = (await host.thread("thread_1"))
    .toArray()
    .find(({ payload }) => Reflect.get(payload, "role") === "tool");
  expect(result?.payload).toMatchObject({ toolCallId: "call_1", isError: true });
  await end(host.stop());
});

test("a call that cannot ask its agent has an error for onError, and the request has its answer", async () => {
  const { host: make, end, store: inner } = await house();
  const broken = new StoreError({ code: "store_failed", message: "The list is gone." });
  const store = faultStore(inner, {
    readPlan: ({ method }) => (method === "list" ? { type: "fail", error: broken } : undefined),
  });
  const { agent: payer } = careful(["Paid."], { name: "payer" });
  const tools = { pay: agentTool(payer, { description: "Pays" }) };
  const call = { calls: [{ id: "call_1", name: "pay", arguments: { task: "Pay." } }] };
  const errors: unknown[] = [];
  const onError = (error: unknown, { code, toolCallId }: ErrorOrigin) => void errors.push([error, code, toolCallId]);
  const host = make({ agent: agentOf([call, "Not paid."], { tools }), store, onError });
  const request = await end(host.ask("thread_1", "Go."));
  expect((await end(request.result)).text).toBe("Not paid.");
  expect(errors).toEqual([[broken, "tool_failed", "call_1"]]);
  expect(JSON.stringify((await host.thread("thread_1")).toArray())).not.toContain("The list is gone.");
  await end(host.stop());
});
