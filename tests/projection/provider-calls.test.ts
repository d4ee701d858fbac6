import type { Message } from "heddle";
import { project } from "heddle";
import { validateMessages } from "heddle/providers";
import { user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { ai, given } from "./given.ts";

// Calls that a provider ran by itself, such as a web search.

const search = (id: string, metadata?: object) => [
  { type: "provider_call", id, name: "web_search", arguments: { query: "looms" }, ...(metadata && { metadata }) },
  { type: "provider_result", id, name: "web_search", result: [{ url: "https://example.com" }] },
];
const found = (id: string, metadata?: object) =>
  given(
    user("Find looms."),
    ai("assistant", [...search(id, metadata), { type: "text", text: "Found one." }] as never), // parts as a model gives them
    user("Thanks"),
  );

const runs = ({ messages }: { readonly messages: readonly Message[] }): number =>
  messages
    .flatMap(({ content }) => (typeof content === "string" ? [] : content))
    .filter(({ type }) => type.startsWith("provider_")).length;

describe("what Anthropic's server ran", () => {
  const thread = found("srvtoolu_01");

  test("is shown to Anthropic", () => {
    const { messages } = project({ thread, model: "anthropic:claude-sonnet-5" });
    expect(runs({ messages })).toBe(2);
    expect(validateMessages(messages, "anthropic")).toEqual([]);
  });

  test.each([
    ["openai:gpt-5.2", "openai-chat"],
    ["openai:gpt-5.2", "openai-responses"],
    ["google:gemini-3-pro-preview", "gemini"],
    [undefined, "openai-chat"],
  ] as const)("is left out for %s, and its answer stays", (model, api) => {
    const { messages } = project({ thread, model });
    expect(messages[1]?.content).toBe("Found one.");
    expect(validateMessages(messages, api)).toEqual([]);
    const all = project({ thread, model, rules: "heddle/1" }).messages;
    expect(validateMessages(all, api)).toMatchObject([{ rule: "foreign_provider_call", index: 1 }]);
  });
});

test("an answer that its provider paused and the rest of it are one message", () => {
  const [call, result] = search("srvtoolu_01");
  const paused = { call: { finishReason: "paused" } };
  const rest = ai("assistant", [result, { type: "text", text: "Found one." }] as never); // as above
  const asked = [user("Find looms."), ai("assistant", [call] as never, paused)] as const; // as above
  const model = "anthropic:claude-sonnet-5";
  expect(project({ thread: given(...asked), model }).messages.at(-1)).toEqual({ role: "assistant", content: [call] });
  const whole = project({ thread: given(...asked, rest, user("Thanks")), model }).messages;
  expect(whole[1]?.content).toMatchObject([call, result, { type: "text" }]);
  expect(whole).toHaveLength(3);
  const before = project({ thread: given(...asked, rest), model, rules: "heddle/1" }).messages;
  expect(runs({ messages: before })).toBe(1);
});

test("what OpenAI ran is shown to OpenAI, and to Azure, by its id or its metadata", () => {
  for (const thread of [found("ws_1"), found("x", { openai: { itemId: "ws_1" } })]) {
    expect(runs(project({ thread, model: "azure:gpt-5.2" }))).toBe(2);
    expect(runs(project({ thread, model: "anthropic:claude-sonnet-5" }))).toBe(0);
  }
});
