import type { Message } from "heddle";
import {
  ProviderError,
  toAISDKPrompt,
  toAnthropic,
  toGemini,
  toModelMessages,
  toModelPrompt,
  toOpenAIChat,
  toOpenAIResponses,
  validateMessages,
} from "heddle/providers";
import { describe, expect, test } from "vitest";
import { assistant, call, pixel, result, user } from "./support/messages.ts";

const TAKERS: { readonly [name: string]: (messages: readonly Message[]) => unknown } = {
  toAnthropic: (messages) => toAnthropic(messages),
  toOpenAIChat: (messages) => toOpenAIChat(messages),
  toOpenAIResponses: (messages) => toOpenAIResponses(messages),
  toGemini: (messages) => toGemini(messages),
  toAISDKPrompt: (messages) => toAISDKPrompt(messages),
  toModelMessages: (messages) => toModelMessages(messages),
  toModelPrompt: (messages) => toModelPrompt(messages),
  validateMessages: (messages) => validateMessages(messages, "anthropic"),
};

const FOREIGN: { readonly [what: string]: unknown } = {
  nothing: null,
  "a message without content": { role: "assistant" },
  "an answer of OpenAI": { role: "assistant", content: null, tool_calls: [] },
  "a result of OpenAI": { role: "tool", tool_call_id: "c1", content: "Sunny." },
  "a role of another format": { role: "human", content: "Hi" },
  "a part without a type": user([null as never]),
  "an image of the AI SDK": user([{ type: "image", image: "https://example.com/a.png" } as never]),
  "a file of the AI SDK": user([{ type: "file", mediaType: "image/png", data: "AQID" } as never]),
  "a tagged file of the AI SDK": user([
    { type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" } } as never,
  ]),
  "an image of OpenAI": user([{ type: "image_url", image_url: { url: "https://example.com/a.png" } } as never]),
  "a text that is none": user([{ type: "text", text: 1 } as never]),
  "calls that are none": { role: "assistant", content: "", toolCalls: {} },
  "a call without a name": assistant("", { id: "c1" } as never),
};

describe.each(Object.entries(TAKERS))("%s", (_, take) => {
  test.each(Object.entries(FOREIGN))("refuses %s, and names the message and what to do", (_, message) => {
    const list = [user("Hi"), message] as Message[];
    const refusal = { code: "invalid_message", message: expect.stringMatching(/^messages\[1\].*Thread\.fromMessages/) };
    expect(() => take(list)).toThrow(expect.objectContaining(refusal));
  });

  test("refuses a value that is not a list", () => {
    for (const list of [undefined, null, "Hi", {}]) {
      expect(() => take(list as never)).toThrow(ProviderError);
      expect(() => take(list as never)).toThrow(expect.objectContaining({ code: "invalid_message" }));
    }
  });

  test("takes messages of every role", () => {
    const list = [user([{ type: "text", text: "Look." }, pixel]), assistant("", call("c1")), result("c1", [pixel])];
    expect(() => take(list)).not.toThrow();
  });
});
