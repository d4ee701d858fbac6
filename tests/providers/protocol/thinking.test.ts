import type { LanguageModelV4FunctionTool } from "@ai-sdk/provider";
import type { JsonObject, Message } from "heddle";
import type { AssistantMessage } from "heddle/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { objectOf, objectsOf } from "../../support/protocol/json.ts";
import { type ApiName, type ProtocolServer, startProtocolServer } from "../../support/protocol/server.ts";
import { hinted, redacted, result, sealed, signed, system, user } from "../support/messages.ts";
import { type Answered, ask, callOf, messageOf, modelOf, WAYS } from "./support/packages.ts";
import { post, type RawAnswer } from "./support/raw.ts";

// Thinking goes back as it came, or it is refused.

let server: ProtocolServer;
beforeEach(async () => {
  server = await startProtocolServer({ bindThinking: true });
});
afterEach(() => server.stop());

const weather: LanguageModelV4FunctionTool = { type: "function", name: "weather", inputSchema: { type: "object" } };
const head = [system("Be brief."), user("Weather in Bern and Basel?")];
const OWNERS = { "openai-responses": "openai", anthropic: "anthropic", gemini: "google" } as const;
const FOREIGN = {
  "openai-responses": { rule: "foreign_reasoning", metadata: sealed, seal: "enc" },
  anthropic: { rule: "foreign_thinking", metadata: signed, seal: "sig" },
  gemini: { rule: "foreign_thinking", metadata: hinted, seal: "hint" },
} as const;
type Thinking = keyof typeof FOREIGN;

/** The first step of a tool loop, and the list that asks for the second. */
async function firstStep(
  api: ApiName,
  way: (typeof WAYS)[number] = "doStream",
): Promise<{ answer: AssistantMessage; answered: Answered }> {
  const calls = [
    { name: "weather", arguments: { city: "Bern" } },
    { name: "weather", arguments: { city: "Basel" } },
  ];
  server.answer({ thinking: ["Two ", "cities"], text: "Looking.", calls });
  const answered = await ask(modelOf(server, api), way, callOf(api, head, { tools: [weather] }));
  return { answer: messageOf(answered), answered };
}

function followed(answer: AssistantMessage, list: readonly Message[] = head): readonly Message[] {
  return [...list, answer, ...(answer.toolCalls ?? []).map(({ id }) => result(id))];
}

async function secondStep(api: ApiName, messages: readonly Message[], options = {}): Promise<Answered> {
  server.answer({ text: "Sunny." });
  return ask(modelOf(server, api), "doGenerate", callOf(api, messages, { tools: [weather], ...options }));
}

describe.each(["openai-responses", "anthropic", "gemini"] as const)("%s", (api) => {
  test.each(WAYS)("what %s gave goes back and is taken", async (way) => {
    const { answer } = await firstStep(api, way);
    expect((await secondStep(api, followed(answer))).text).toBe("Sunny.");
    expect(server.requests.map(({ violation }) => violation)).toEqual([undefined, undefined]);
  });

  test("a seal of another provider is refused", async () => {
    const { answer } = await firstStep(api);
    const { rule, metadata } = FOREIGN[api];
    await expect(secondStep(api, followed(resealed(answer, api, metadata)))).rejects.toThrow(
      /[Ii]nvalid|not valid|verified/,
    );
    expect(server.requests[1]?.violation?.rule).toBe(rule);
  });

  test("unless it was adopted", async () => {
    const { answer } = await firstStep(api);
    const { metadata } = FOREIGN[api];
    server.adopt(api, FOREIGN[api].seal);
    const { text } = await secondStep(api, followed(resealed(answer, api, metadata)));
    expect(text).toBe("Sunny.");
  });
});

/** The answer with other metadata wherever its owner had put some. */
function resealed(answer: AssistantMessage, api: Thinking, metadata: object): AssistantMessage {
  return JSON.parse(JSON.stringify(answer), (key, value) =>
    key === "metadata" && value[OWNERS[api]] !== undefined && sealsIn(value[OWNERS[api]]) ? metadata : value,
  );
}

function sealsIn(metadata: object): boolean {
  return ["signature", "thoughtSignature", "reasoningEncryptedContent"].some((field) => Object.hasOwn(metadata, field));
}

describe("anthropic", () => {
  const edited = (answer: AssistantMessage, text: string): AssistantMessage =>
    JSON.parse(JSON.stringify(answer), (key, value) => (key === "text" && value === "Two cities" ? text : value));
  const dropped = (answer: AssistantMessage): AssistantMessage => ({
    ...answer,
    content:
      typeof answer.content === "string" ? answer.content : answer.content.filter(({ type }) => type !== "thinking"),
  });

  test("thinking that was edited is refused", async () => {
    const { answer } = await firstStep("anthropic");
    await expect(secondStep("anthropic", followed(edited(answer, "Three cities")))).rejects.toThrow(
      "blocks in the latest assistant message cannot be modified",
    );
  });

  test("thinking that only Anthropic can read goes back as well", async () => {
    server.answer({ redacted: "secret", calls: [{ name: "weather", arguments: {} }] });
    const answer = messageOf(
      await ask(modelOf(server, "anthropic"), "doStream", callOf("anthropic", head, { tools: [weather] })),
    );
    expect(JSON.stringify(answer)).toContain("redactedData");
    await secondStep("anthropic", followed(answer));
    const foreign = JSON.parse(JSON.stringify(answer), (key, value) =>
      key === "metadata" && value.anthropic?.redactedData ? redacted : value,
    );
    await expect(secondStep("anthropic", followed(foreign))).rejects.toThrow(
      "Invalid `data` in `redacted_thinking` block",
    );
  });

  test.each([
    [
      "the system prompt",
      (answer: AssistantMessage) => followed(answer, [system("Be verbose."), ...head.slice(1)]),
      [weather],
    ],
    [
      "an earlier message",
      (answer: AssistantMessage) => followed(answer, [...head.slice(0, 1), user("Weather?")]),
      [weather],
    ],
    ["the tools", (answer: AssistantMessage) => followed(answer), [weather, { ...weather, name: "search" }]],
  ])("bound thinking behind a change of %s is refused", async (_, list, tools) => {
    const { answer } = await firstStep("anthropic");
    await expect(secondStep("anthropic", list(answer), { tools })).rejects.toThrow("Invalid `signature`");
    expect(server.requests[1]?.violation?.rule).toBe("thinking_prefix_mismatch");
  });

  test("without the thinking the change is fine", async () => {
    const { answer } = await firstStep("anthropic");
    const { text } = await secondStep("anthropic", followed(dropped(answer), [user("Weather?")]));
    expect(text).toBe("Sunny.");
  });

  test("cache breakpoints change nothing in what thinking is bound to", async () => {
    const { answer } = await firstStep("anthropic");
    const marked = { anthropic: { cacheControl: { type: "ephemeral" } } };
    const call = callOf("anthropic", followed(answer), { tools: [weather] });
    server.answer({ text: "Sunny." });
    const prompt = call.prompt.map((message) =>
      message.role === "user" ? { ...message, providerOptions: marked } : message,
    );
    expect((await ask(modelOf(server, "anthropic"), "doGenerate", { ...call, prompt })).text).toBe("Sunny.");
    expect(JSON.stringify(server.requests[1]?.body)).toContain("cache_control");
  });

  test("the client may ask to have it dropped instead, and gets a report of it", async () => {
    const { answer } = await firstStep("anthropic");
    const thinking = { type: "adaptive", blockBinding: { prefixMismatchBehavior: "drop_block" } };
    server.answer({ text: "Sunny." });
    const { providerMetadata } = await modelOf(server, "anthropic").doGenerate(
      callOf("anthropic", followed(answer, [user("Weather?")]), {
        tools: [weather],
        providerOptions: { anthropic: { thinking } },
      }),
    );
    expect(providerMetadata?.["anthropic"]?.["inputTransformations"]).toMatchObject([{ path: "messages.1.content.0" }]);
  });

  test("with a fixed budget a tool loop continues with the thinking it began with", async () => {
    const { answer } = await firstStep("anthropic");
    const providerOptions = { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } };
    const model = modelOf(server, "anthropic");
    server.answer({ text: "Sunny." });
    const call = callOf("anthropic", followed(dropped(answer)), { tools: [weather], providerOptions });
    await expect(ask(model, "doGenerate", call)).rejects.toThrow(
      "a final `assistant` message must start with a thinking block",
    );
  });
});

describe("openai-responses", () => {
  const hi = { role: "user", content: "Hi" };
  const reasoned = { thinking: "hm", text: "Hello." } as const;
  const output = ({ body }: RawAnswer): readonly JsonObject[] => objectsOf(body["output"]);

  test("what it stored may be named by its id, what it did not may not", async () => {
    server.answer(reasoned, { text: "Sunny." });
    const items = output(await post(server, "openai-responses", { input: [hi], store: true }));
    const references = items.map(({ id }) => ({ type: "item_reference", id }));
    const again = await post(server, "openai-responses", { input: [hi, ...references, hi] });
    expect(again.status).toBe(200);
    const unknown = await post(server, "openai-responses", {
      input: [hi, { type: "item_reference", id: "msg_9" }, hi],
    });
    expect(unknown).toMatchObject({
      status: 404,
      body: { error: { message: expect.stringContaining("Item with id 'msg_9' not found") } },
    });
  });

  test("an item that came with reasoning goes back with it, reasoning with what followed it", async () => {
    server.answer(reasoned, { text: "Sunny." });
    const include = ["reasoning.encrypted_content"];
    const [reasoning = {}, message = {}] = output(await post(server, "openai-responses", { input: [hi], include }));
    const told = async (...input: readonly JsonObject[]): Promise<unknown> => {
      const { body } = await post(server, "openai-responses", { input: [hi, ...input, hi] });
      return objectOf(body["error"] ?? {})["message"];
    };
    expect(await told(message)).toContain("was provided without its required 'reasoning' item");
    expect(await told(reasoning)).toContain("of type 'reasoning' was provided without its required following item");
    expect(await told({ ...reasoning, encrypted_content: "altered" }, message)).toContain("could not be verified");
    expect(await told({ ...reasoning, encrypted_content: null }, message)).toContain("Items are not persisted");
    expect(await told(reasoning, message)).toBeUndefined();
  });
});

test("gemini: the first call of a step in the current turn carries its signature; before the last ask it is not required", async () => {
  const { answer } = await firstStep("gemini");
  const signature = JSON.stringify(answer.toolCalls?.[0]?.metadata);
  expect(signature).toContain("thoughtSignature");
  expect(answer.toolCalls?.[1]?.metadata).toBeUndefined();
  const swapped = {
    ...answer,
    toolCalls: answer.toolCalls?.map((call, at) => (at === 0 ? { ...call, arguments: { city: "Rome" } } : call)) ?? [],
  };
  await expect(secondStep("gemini", followed(swapped))).rejects.toThrow("Corrupted thought signature.");
  const { text } = await secondStep("gemini", [...followed(swapped), user("And Rome?")]);
  expect(text).toBe("Sunny.");
});
