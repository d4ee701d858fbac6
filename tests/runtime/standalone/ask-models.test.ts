import { AgentHost, defineAgent, memoryStore, RequestError, react, systemRuntimePorts } from "heddle";
import { chatTurn } from "heddle/ai-sdk";
import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";

const named = (modelId: string, ...script: Parameters<typeof scriptedModel>[0]) =>
  scriptedModel(script, { provider: "test", modelId });
const pay = { inputSchema: { type: "object" }, needsApproval: true, execute: () => "paid" } as const;
const tokenSecret = "a secret of at least thirty-two bytes";

test("host.ask, a turn of a chat and react.run take a model, a mode and settings of the model", async () => {
  const asked = { model: "big", mode: "plan", temperature: 0 } as const;
  const modes = { plan: { systemPrompt: "Plan." } };
  const agentOf = () => {
    const big = named("big", "1.", "2.");
    return { big, agent: defineAgent({ model: scriptedModel([]), models: { big }, modes }) };
  };
  const { big, agent } = agentOf();
  await using host = AgentHost.create({ agent, store: memoryStore() });
  await (await host.ask("a", "Go.", asked)).result;
  const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Go." }] } as const;
  await (await chatTurn(host, "b", [message], asked)).request.result;
  const alone = agentOf();
  await react.run("Go.", alone.agent, asked);
  for (const { system, options } of [...big.requests, ...alone.big.requests]) {
    expect([system, options["temperature"]]).toEqual(["Plan.", 0]);
  }
  expect([big.requests.length, alone.big.requests.length]).toEqual([2, 1]);
});

test("a token continues with the model, the headers and the deadline of its run", async () => {
  const headers = { authorization: "Bearer s3cret" };
  const resolveModel = (name: string) => (name === "test:big" ? big : undefined);
  const big = named("big", "Paid.");
  const agent = defineAgent({ model: scriptedModel([]), tools: { pay }, resolveModel, tokenSecret });
  const begin = async (deadline: number) => {
    const first = named("big", { calls: [{ id: "call_1", name: "pay" }] });
    const run = await react.start("Go.", agent, { model: first, headers, deadline });
    const error = await run.result.catch((reason: unknown) => reason);
    if (!RequestError.isInstance(error) || error.code !== "request_waiting") throw error;
    return run.token ?? "";
  };
  const token = await begin(60_000);
  const lost = await react.collect(token, agent, { approve: ["call_1"] }).catch((error: unknown) => error);
  expect(lost).toMatchObject({ failure: { code: "options_lost" } });
  const { text } = await react.collect(token, agent, { approve: ["call_1"], headers });
  expect(text).toBe("Paid.");
  expect(big.requests[0]?.options["headers"]).toEqual(headers);
  const clock = () => systemRuntimePorts.clock() + 120_000;
  const late = react.collect(await begin(60_000), agent, { approve: ["call_1"], headers, ports: { clock } });
  await expect(late).rejects.toMatchObject({ failure: { code: "deadline_exceeded" } });
});
