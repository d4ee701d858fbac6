import type { Message } from "../../thread/message.ts";
import { type AISDKOptions, toAISDKPrompt } from "./prompt.ts";
import type { AISDKAssistantPart, AISDKMessage } from "./types.ts";

/** A message as `generateText` and `streamText` of the AI SDK take it. */
export type ModelMessage =
  | Exclude<AISDKMessage, { role: "user" | "assistant" }>
  | { role: "user"; content: string | Extract<AISDKMessage, { role: "user" }>["content"] }
  | { role: "assistant"; content: string | Extract<AISDKMessage, { role: "assistant" }>["content"] };

/**
 * The messages in the form of the AI SDK's own functions. They want system messages as `instructions`, not in the list;
 * for a model itself use toAISDKPrompt.
 *
 * @example
 * console.log(toModelMessages([{ role: "user", content: "Hi" }])); // [ { role: 'user', content: 'Hi' } ]
 */
export function toModelMessages(messages: readonly Message[], options: AISDKOptions = {}): ModelMessage[] {
  return toAISDKPrompt(messages, options).map((message) => {
    if (message.role !== "user" && message.role !== "assistant") return message;
    const text = onlyText(message.content);
    return text === undefined ? message : { role: message.role, content: text };
  });
}

/** What says no more than its text is sent as such. */
function onlyText(content: readonly AISDKAssistantPart[]): string | undefined {
  const [first, ...others] = content;
  const plain = first?.type === "text" && first.providerOptions === undefined && others.length === 0;
  return plain ? first.text : undefined;
}
