import { AgentHost, defineAgent, handoff } from "heddle";
import { describe, expect, test } from "vitest";
import { APIS, EVERY_WAY, modelAt, WAYS } from "./support/models.ts";
import { expectAccepted, proveBodies, stage, WEATHER, weatherIn } from "./support/stage.ts";
import { THREAD } from "./support/thread.ts";

// What one model thought is nobody else's, and what changes before it makes it worthless.

test.each(WAYS)("a thread goes from model to model and back, $way", async ({ streaming }) => {
  const scene = await stage({ api: "anthropic", streaming, options: { bindThinking: true } });
  const { provider } = scene;
  for (const api of [...APIS, ...APIS]) {
    provider.answer(
      { thinking: `I am ${api}.`, text: "Looking.", calls: [weatherIn("Bern"), weatherIn("Rome")] },
      { thinking: `I am still ${api}.`, text: `Sunny, says ${api}.` },
    );
    const server = await scene.start({ model: modelAt(provider.url, api) });
    expect((await (await server.ask(`Weather, ${api}?`)).result).text).toBe(`Sunny, says ${api}.`);
    await server.stop();
  }
  expect(provider.requests.filter(({ accepted }) => !accepted)).toEqual([]);
  const seals = { anthropic: /"signature":/g, "openai-responses": /"encrypted_content":"/g } as const;
  for (const [api, seal] of Object.entries(seals)) {
    const bodies = provider.requests.filter((request) => request.api === api).map(({ body }) => JSON.stringify(body));
    expect(bodies.map((body) => body.match(seal)?.length ?? 0)).toEqual([0, 1, 2, 3]);
  }
});

describe.each(EVERY_WAY)("$api, $way", (setting) => {
  const thoughtful = { thinking: "Let me see.", text: "Looking.", calls: [weatherIn("Bern")] };
  const last = { thinking: "Done.", text: `Sunny. ${"I am quite sure of it. ".repeat(20)}` };

  test("a summary, a reset and other tools between two asks", async () => {
    const scene = await stage({ ...setting, options: { bindThinking: true } });
    const { provider } = scene;
    const server = await scene.start();
    const ask = async (): Promise<void> => {
      provider.answer(thoughtful, last);
      await (await server.ask(`Weather? ${"Please. ".repeat(20)}`)).result;
    };
    for (let times = 0; times < 4; times++) await ask();
    provider.answer({ text: "They talked of the weather." });
    await server.summarize();
    await ask();
    await server.unregisterTool("other");
    await server.registerTool("other", { inputSchema: { type: "object" }, execute: async () => "ok" });
    await ask();
    await server.reset();
    await ask();
    expect(provider.requests.filter(({ accepted }) => !accepted)).toEqual([]);
    expect(await proveBodies(scene)).toBe(14);
  });

  test("a handoff in a request, and back in the next one", async () => {
    const scene = await stage({ ...setting, options: { bindThinking: true } });
    const { provider, model, streaming, store, warnings } = scene;
    const plain = { model, streaming, contextPolicy: { maxInputTokens: 8000 } };
    const back = { front: handoff("front", { description: "All else" }) };
    const billing = defineAgent({ ...plain, name: "billing", systemPrompt: "You know bills.", tools: back });
    const tools = { ...WEATHER, billing: handoff(billing, { description: "Bills" }) };
    const front = defineAgent({ ...plain, name: "front", systemPrompt: "You greet.", tools });
    const host = AgentHost.create({ agents: [front, billing], store, warn: (message) => void warnings.push(message) });
    const asked = async (text: string): Promise<string> =>
      (await (await host.ask(THREAD, text, { agent: "front" })).result).text;
    const handed = { thinking: "For billing.", text: "A moment.", calls: [{ name: "billing", arguments: {} }] };
    provider.answer(thoughtful, handed, { thinking: "A bill.", text: "It is paid." });
    expect(await asked("Weather, and my bill?")).toBe("It is paid.");
    const returned = { thinking: "No bill.", text: "A moment.", calls: [{ name: "front", arguments: {} }] };
    provider.answer(returned, thoughtful, last);
    expect(await asked("Weather?")).toContain("Sunny.");
    await host.stop();
    expectAccepted(scene);
    const ofBilling = provider.requests.map(({ body }) => JSON.stringify(body).includes("You know bills."));
    expect(ofBilling).toEqual([false, false, true, true, false, false]);
    expect(await proveBodies(scene)).toBe(6);
  });

  test("a cancel while tools run", async () => {
    const scene = await stage({ ...setting, options: { bindThinking: true } });
    const { provider } = scene;
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const hang = async (): Promise<never> => {
      begin();
      return new Promise(() => undefined);
    };
    const server = await scene.start();
    await server.registerTool("hang", { inputSchema: { type: "object" }, execute: hang });
    provider.answer({
      thinking: "Hm.",
      calls: [weatherIn("Bern"), { name: "hang", arguments: {} }, { name: "hang", arguments: {} }],
    });
    const request = await server.ask("Weather?");
    await begun;
    await server.cancel();
    await expect(request.result).rejects.toMatchObject({ code: "request_cancelled" });
    provider.answer({ text: "Sunny." });
    expect((await (await server.ask("And now?")).result).text).toBe("Sunny.");
    expectAccepted(scene);
    expect(await proveBodies(scene)).toBe(2);
  });
});
