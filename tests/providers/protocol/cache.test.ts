import type { LanguageModelV4Usage } from "@ai-sdk/provider";
import type { Message } from "heddle";
import { toAISDKPrompt } from "heddle/providers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ApiName, type ProtocolServer, startProtocolServer } from "../../support/protocol/server.ts";
import { assistant, system, user } from "../support/messages.ts";
import { ask, callOf, modelOf, WAYS } from "./support/packages.ts";

// Prompts that begin as an earlier one did are cheaper, as far as each provider's cache goes.

let server: ProtocolServer;
beforeEach(async () => {
  server = await startProtocolServer();
  server.answer(() => ({ text: "ok" }));
});
afterEach(() => server.stop());

const long = system("word ".repeat(4000)); // about 5000 tokens
const first = [long, user("One?")];
const second = [...first, assistant("ok"), user("Two?")];

async function inputOf(
  api: ApiName,
  messages: readonly Message[],
  way: (typeof WAYS)[number] = "doGenerate",
): Promise<LanguageModelV4Usage["inputTokens"]> {
  const call = callOf(api, messages);
  const prompt = api === "anthropic" ? toAISDKPrompt(messages, { provider: "anthropic", cache: true }) : call.prompt;
  const { usage } = await ask(modelOf(server, api), way, { ...call, prompt });
  return usage.inputTokens;
}

describe.each(["openai-chat", "openai-compatible", "openai-responses", "gemini"] as const)("%s", (api) => {
  test.each(WAYS)("%s: the common beginning is read, from the second time on", async (way) => {
    expect(await inputOf(api, first, way)).toMatchObject({ cacheRead: 0 });
    const { total = 0, cacheRead = 0, noCache = 0 } = await inputOf(api, second, way);
    expect(cacheRead).toBeGreaterThan(4800);
    expect(total - cacheRead).toBe(noCache);
    expect(noCache).toBeLessThan(200);
  });

  test("a change at the beginning reads nothing", async () => {
    await inputOf(api, first);
    expect(await inputOf(api, [system(`Now ${long.content}`), ...second.slice(1)])).toMatchObject({ cacheRead: 0 });
  });

  test("short prompts are not kept", async () => {
    const short = user("word ".repeat(600)); // about 750 tokens
    await inputOf(api, [short]);
    expect(await inputOf(api, [short, user("Two?")])).toMatchObject({ cacheRead: 0 });
  });
});

test.each(["openai-chat", "openai-responses"] as const)("%s reads in blocks of 128 tokens", async (api) => {
  await inputOf(api, first);
  const { cacheRead = 0 } = await inputOf(api, second);
  expect(cacheRead % 128).toBe(0);
});

describe("anthropic", () => {
  test.each(WAYS)("%s: what was written up to a mark is read by the next, which writes the rest", async (way) => {
    const one = await inputOf("anthropic", first, way);
    expect(one).toMatchObject({ cacheRead: 0, cacheWrite: one.total });
    const two = await inputOf("anthropic", second, way);
    expect(two).toMatchObject({ cacheRead: one.total, cacheWrite: (two.total ?? 0) - (one.total ?? 0), noCache: 0 });
  });

  test("without marks nothing is kept", async () => {
    for (const messages of [first, second]) {
      const { usage } = await ask(modelOf(server, "anthropic"), "doGenerate", callOf("anthropic", messages));
      expect(usage.inputTokens).toMatchObject({ cacheRead: 0, cacheWrite: 0 });
    }
  });

  test("a mark finds what was kept up to twenty blocks before it, and nothing further back", async () => {
    const asks = (count: number): readonly Message[] => Array.from({ length: count }, (_, at) => user(`Ask ${at}?`));
    const marked = async (messages: readonly Message[]): Promise<number | undefined> => {
      const prompt = toAISDKPrompt(messages, { provider: "anthropic" });
      const last = prompt.at(-1);
      if (last !== undefined) last.providerOptions = { anthropic: { cacheControl: { type: "ephemeral" } } };
      const { usage } = await ask(modelOf(server, "anthropic"), "doGenerate", { prompt });
      return usage.inputTokens.cacheRead;
    };
    await marked([long, ...asks(1)]);
    expect(await marked([long, ...asks(22)])).toBe(0);
    await marked([long, ...asks(30)]);
    expect(await marked([long, ...asks(50)])).toBeGreaterThan(4800);
  });

  test("other tools empty the cache", async () => {
    await inputOf("anthropic", first);
    const prompt = toAISDKPrompt(second, { provider: "anthropic", cache: true });
    const tools = [{ type: "function" as const, name: "add", inputSchema: { type: "object" as const } }];
    const { usage } = await ask(modelOf(server, "anthropic"), "doGenerate", { prompt, tools });
    expect(usage.inputTokens.cacheRead).toBe(0);
  });
});

test("a server may keep short prompts as well", async () => {
  await using keen = await startProtocolServer({ cacheMinTokens: 0 });
  keen.answer(() => ({ text: "ok" }));
  const call = { prompt: toAISDKPrompt([user("One?")], { provider: "anthropic", cache: true }) };
  const model = modelOf(keen, "anthropic");
  await model.doGenerate(call);
  const { usage } = await model.doGenerate(call);
  expect(usage.inputTokens).toMatchObject({ cacheRead: usage.inputTokens.total, cacheWrite: 0 });
});

test("what is refused, or answered by an error, leaves nothing in the cache", async () => {
  server.answer({ error: "overloaded" });
  await expect(inputOf("anthropic", first)).rejects.toThrow("Overloaded");
  expect(await inputOf("anthropic", first)).toMatchObject({ cacheRead: 0 });
});
