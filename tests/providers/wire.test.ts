import type { JsonValue, Message } from "heddle";
import { ProviderError, toAnthropic, toGemini, toOpenAIChat, toOpenAIResponses } from "heddle/providers";
import { describe, expect, test } from "vitest";
import {
  assistant,
  call,
  hinted,
  pixel,
  redacted,
  result,
  sealed,
  signed,
  system,
  thought,
  user,
} from "./support/messages.ts";

const FILL = "skip_thought_signature_validator";
const ask = user("Weather?");

describe("thinking goes back only to who made it", () => {
  const messages = [
    ask,
    assistant([thought("A", signed), thought("", redacted), thought("O", sealed), thought("G", hinted)], call("c1")),
    result("c1"),
  ];

  test("anthropic: signed and redacted, as they were", () => {
    expect(toAnthropic(messages).messages[1]?.content.slice(0, -1)).toEqual([
      { type: "thinking", thinking: "A", signature: "sig" },
      { type: "redacted_thinking", data: "sealed" },
    ]);
  });

  test("responses: sealed, with the id it came with", () => {
    expect(toOpenAIResponses(messages).input[1]).toEqual({
      type: "reasoning",
      id: "rs_1",
      encrypted_content: "enc",
      summary: [{ type: "summary_text", text: "O" }],
    });
  });

  test("responses: an item in parts goes back whole, with the content its last part brought; an id alone does not", () => {
    const first = thought("One", { openai: { itemId: "rs_1" } });
    const stored = thought("Stored", { openai: { itemId: "rs_9" } });
    const { input } = toOpenAIResponses([
      ask,
      assistant([stored, first, thought("Two", sealed)], call("c1")),
      result("c1"),
    ]);
    const summary = ["One", "Two"].map((text) => ({ type: "summary_text", text }));
    expect(input[1]).toEqual({ type: "reasoning", id: "rs_1", encrypted_content: "enc", summary });
    expect(input).toHaveLength(4);
  });

  test("responses: reasoning that led to nothing is left out", () => {
    const loose = [ask, assistant([{ type: "text", text: "Hm" }, thought("O", sealed)]), ask];
    expect(JSON.stringify(toOpenAIResponses(loose))).not.toContain("reasoning");
  });

  test("gemini: as a thought with its signature; chat: not at all", () => {
    expect(toGemini(messages).contents[1]?.parts[0]).toEqual({ text: "G", thought: true, thoughtSignature: "hint" });
    expect(toOpenAIChat(messages).messages[1]).toMatchObject({ content: null });
  });
});

describe("gemini", () => {
  const signedCall = { ...call("c2"), metadata: hinted };
  const signatures = (messages: readonly Message[], fillSignatures = true) =>
    toGemini(messages, [], { fillSignatures }).contents.flatMap(({ parts }) =>
      parts.flatMap((part) => ("functionCall" in part ? [part.thoughtSignature] : [])),
    );

  test("the first call of each step since the user last spoke gets a signature, no other", () => {
    const earlier = [ask, assistant("", call("c0")), result("c0")];
    const step = [assistant("", call("c1"), call("c3")), result("c1"), result("c3")];
    const next = [assistant("", signedCall), result("c2")];
    const list = [...earlier, ask, ...step, ...next];
    expect(signatures(list)).toEqual([undefined, FILL, undefined, "hint"]);
    expect(signatures(list, false)).toEqual([undefined, undefined, undefined, "hint"]);
  });

  test("two answers in a row are one content, and what has nothing to say is none", () => {
    const list = [ask, assistant("One."), assistant("", call("c1")), result("c1"), assistant([thought("", {})])];
    expect(toGemini(list).contents.map(({ role, parts }) => [role, parts.length])).toEqual([
      ["user", 1],
      ["model", 2],
      ["user", 1],
    ]);
  });
});

describe("anthropic", () => {
  test("an answer at the end loses the whitespace behind it", () => {
    expect(toAnthropic([ask, assistant("Sunny. \n")]).messages[1]?.content).toEqual([{ type: "text", text: "Sunny." }]);
  });

  test("text of the user follows the results, in the same message", () => {
    const { messages } = toAnthropic([ask, assistant("", call("c1"), call("c2")), result("c1"), result("c2"), ask]);
    expect(messages[2]?.content.map(({ type }) => type)).toEqual(["tool_result", "tool_result", "text"]);
  });

  test("results come first even where the user spoke before them", () => {
    const { messages } = toAnthropic([ask, assistant("", call("c1")), ask, result("c1")]);
    expect(messages[2]?.content.map(({ type }) => type)).toEqual(["tool_result", "text"]);
  });

  test("a file of a kind it does not take becomes a note", () => {
    const sound: Message = user([
      { type: "file", mediaType: "audio/wav", filename: "a.wav", data: { base64: "AA==" } },
    ]);
    expect(toAnthropic([sound]).messages[0]?.content).toEqual([
      { type: "text", text: "[A file (a.wav, audio/wav) that cannot be shown here]" },
    ]);
  });
});

describe("chat", () => {
  test("images of tools follow behind all results, as the user's", () => {
    const list = [ask, assistant("", call("c1"), call("c2")), result("c1", [pixel]), result("c2"), ask];
    const roles = toOpenAIChat(list).messages.map(({ role }) => role);
    expect(roles).toEqual(["user", "assistant", "tool", "tool", "user", "user"]);
  });
});

test("system messages go where each provider has them", () => {
  const list = [system("Be brief."), ask];
  expect(toAnthropic(list).system).toEqual([{ type: "text", text: "Be brief." }]);
  expect(toGemini(list).systemInstruction).toEqual({ parts: [{ text: "Be brief." }] });
  expect(toOpenAIChat(list).messages[0]).toEqual({ role: "system", content: "Be brief." });
});

test("arguments are an object everywhere; text that is none is kept inside one", () => {
  const inputOf = (args: JsonValue) => toAnthropic([ask, assistant("", call("c1", args))]).messages[1]?.content[0];
  expect(inputOf('{"city":"Bern"}')).toMatchObject({ input: { city: "Bern" } });
  expect(inputOf('{"city":')).toMatchObject({ input: { rawInvalidInput: '{"city":' } });
  expect(inputOf([1])).toMatchObject({ input: { rawInvalidInput: [1] } });
});

test("a blob is refused: only the store can read it", () => {
  const blob = user([{ type: "file", mediaType: "image/png", data: { blob: "sha" } }]);
  for (const format of [toOpenAIChat, toOpenAIResponses, toAnthropic, toGemini]) {
    expect(() => format([blob])).toThrow(expect.objectContaining({ code: "file_unsendable" }));
  }
  expect(ProviderError.isInstance(new ProviderError({ code: "file_unsendable", message: "" }))).toBe(true);
});
