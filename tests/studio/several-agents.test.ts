import { AgentHost, defineAgent, memoryStore } from "heddle";
import { studioHandler } from "heddle/studio";
import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { started } from "./support/client.ts";

const any = { order: "any" } as const;
const ann = defineAgent({ name: "ann", model: scriptedModel(["I am Ann."], any) });
const sign = { description: "Signs it", inputSchema: { type: "object" } } as const;
const bob = defineAgent({
  name: "bob",
  model: scriptedModel([{ calls: [{ name: "sign" }] }, "I am Bob."]),
  tools: { sign },
});

test("each thread has its own agent: the first one, or the one that it was made for", async () => {
  const { api } = await started({ agents: [ann, bob] });
  expect((await api.get("/info")).body).toMatchObject({
    agent: "ann",
    agents: [
      { name: "ann", model: "scripted:scripted-model", tools: [] },
      { name: "bob", model: "scripted:scripted-model", tools: ["sign"] },
    ],
  });
  const first = await api.newThread();
  expect((await api.asked(first, "Hi.")).at(-1)).toMatchObject({ payload: { content: "I am Ann." } });

  const { body } = await api.post("/threads", { agent: "bob" });
  const { requestId } = (await api.post(`/threads/${body.id}/ask`, { content: "Sign it." })).body;
  // Only Bob has the tool that runs outside.
  await expect
    .poll(async () => (await api.get(`/threads/${body.id}`)).body.request)
    .toMatchObject({ id: requestId, agent: "bob", waiting: [{ name: "sign", kind: "answer" }] });
  expect((await api.get("/threads?agent=bob")).body.threads).toMatchObject([{ id: body.id, agent: "bob" }]);
});

test("a thread that another process began has the agent that its log names", async () => {
  const { api, store } = await started({ agents: [ann, bob] });
  const carl = defineAgent({ name: "carl", model: scriptedModel(["I am Carl."]) });
  const host = AgentHost.create({ agent: carl, store });
  await (await host.ask("thread_c", "Hi.")).result;
  await host.stop();
  expect((await api.get("/threads/thread_c")).body).toMatchObject({ agent: "carl", status: "completed" });
});

test("another agent is refused", async () => {
  const { api } = await started({ agents: [ann, bob] });
  const { status, body } = await api.post("/threads", { agent: "eve" });
  expect({ status, error: body.error }).toMatchObject({
    status: 400,
    error: { code: "unknown_agent", message: expect.stringContaining("Its agents are: ann, bob.") },
  });
});

test.each([
  ["agent and agents", { agent: ann, agents: [bob] }],
  ["no agents", { agents: [] }],
])("%s are refused", async (_, agents) => {
  await expect(studioHandler({ store: memoryStore(), ...agents })).rejects.toMatchObject({ code: "invalid_options" });
});
