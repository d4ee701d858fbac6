import fc from "fast-check";
import {
  toAISDKPrompt,
  toAnthropic,
  toGemini,
  toModelMessages,
  toOpenAIChat,
  toOpenAIResponses,
  validateMessages,
} from "heddle/providers";
import { expect, test } from "vitest";
import { legalList } from "./support/legal.ts";
import { checkAnthropic } from "./support/wire-anthropic.ts";
import { checkGemini } from "./support/wire-gemini.ts";
import { checkOpenAIChat } from "./support/wire-openai-chat.ts";
import { checkOpenAIResponses } from "./support/wire-openai-responses.ts";

const providers = ["openai-chat", "openai-responses", "anthropic", "gemini"] as const;
const runs = { numRuns: 300 };

/** For all legal lists. */
function always(name: string, check: (messages: Parameters<typeof toOpenAIChat>[0], stable: number) => void): void {
  test(name, () => {
    fc.assert(fc.property(legalList, fc.nat(12), check), runs);
  });
}

always("a list that is legal by the common denominator breaks no provider's rule", (messages) => {
  for (const provider of providers) expect(validateMessages(messages, provider)).toEqual([]);
});

always("it is legal for Chat Completions on the wire", (messages) => checkOpenAIChat(toOpenAIChat(messages)));

always("it is legal for Responses on the wire", (messages) => checkOpenAIResponses(toOpenAIResponses(messages)));

always("it is legal for Anthropic on the wire, with and without cache breakpoints", (messages, stablePrefix) => {
  checkAnthropic(toAnthropic(messages));
  checkAnthropic(toAnthropic(messages, [], { cache: { stablePrefix } }));
});

always("it is legal for Gemini on the wire", (messages) => checkGemini(toGemini(messages)));

always("it makes a prompt and model messages that hold every call, in order", (messages) => {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  for (const list of [toAISDKPrompt(messages), toModelMessages(messages)]) {
    const parts = list.flatMap(({ content }): readonly { readonly type: string }[] =>
      typeof content === "string" ? [] : content,
    );
    const sent = parts.flatMap((part) => (part.type === "tool-call" && "toolCallId" in part ? [part.toolCallId] : []));
    expect(sent).toEqual(calls.map(({ id }) => id));
  }
});

always("formatting the same list again gives the same bytes and leaves the list as it was", (messages) => {
  const before = JSON.stringify(messages);
  for (const format of [toOpenAIChat, toOpenAIResponses, toAnthropic, toGemini]) {
    expect(JSON.stringify(format(messages))).toBe(JSON.stringify(format(messages)));
  }
  toAISDKPrompt(messages, { cache: true });
  expect(JSON.stringify(messages)).toBe(before);
});
