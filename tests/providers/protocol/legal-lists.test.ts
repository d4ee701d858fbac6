import fc from "fast-check";
import type { Message } from "heddle";
import { toAISDKPrompt, validateMessages } from "heddle/providers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ProtocolServer, startProtocolServer } from "../../support/protocol/server.ts";
import { legalList } from "../support/legal.ts";
import { comparable } from "../support/normalize.ts";
import { RULE_EXAMPLES } from "../support/rule-examples.ts";
import { APIS, ask, callOf, modelOf } from "./support/packages.ts";

// What our rules call legal for everyone is accepted by everyone, as the real packages send it.

let server: ProtocolServer;
beforeAll(async () => {
  server = await startProtocolServer();
  server.answer(() => ({ text: "ok" }));
  // The seals in the lists were made up; only what is around them is looked at here.
  server.adopt("anthropic", "sig");
  server.adopt("anthropic", "sealed");
  server.adopt("openai-responses", "enc");
  server.adopt("gemini", "hint");
});
afterAll(() => server.stop());

const PROVIDERS = ["openai-chat", "openai-responses", "anthropic", "gemini"] as const;
const legalForAll = (messages: readonly Message[]): boolean =>
  PROVIDERS.every((provider) => validateMessages(messages, provider).length === 0);

test.each(APIS)("%s accepts every list that is legal for all", async (api) => {
  const rules = api === "openai-compatible" ? "openai-chat" : api;
  const property = fc.asyncProperty(legalList, async (messages) => {
    fc.pre(comparable(rules, messages) && legalForAll(messages));
    const { text } = await ask(modelOf(server, api), "doGenerate", callOf(api, messages));
    expect(text).toBe("ok");
    expect(server.requests.at(-1)?.violation).toBeUndefined();
  });
  await fc.assert(property, { numRuns: 150 });
});

test("anthropic accepts them with cache breakpoints, wherever the stable prefix ends", async () => {
  const property = fc.asyncProperty(legalList, fc.nat(12), async (messages, stablePrefix) => {
    const prompt = toAISDKPrompt(messages, { provider: "anthropic", cache: { stablePrefix } });
    const { text } = await ask(modelOf(server, "anthropic"), "doStream", { prompt });
    expect(text).toBe("ok");
  });
  await fc.assert(property, { numRuns: 150 });
});

const kept = Object.entries(RULE_EXAMPLES).flatMap(([rule, { keeps }]) =>
  legalForAll(keeps) ? [[rule, keeps] as const] : [],
);

test.each(kept)("the nearest legal list to one that breaks %s is accepted by all", async (_, messages) => {
  for (const api of APIS) {
    const { text } = await ask(modelOf(server, api), "doStream", callOf(api, messages));
    expect(text).toBe("ok");
  }
});
