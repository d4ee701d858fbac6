import type { Message } from "../../thread/message.ts";
import { type AISDKOptions, toAISDKPrompt } from "./prompt.ts";
import type { AISDKAssistantPart, AISDKMessage } from "./types.ts";

/** A message as `generateText` and `streamText` of the AI SDK take it. */
export type ModelMessage =
  | Exclude<AISDKMessage, { role: "user" | "assistant" }>
  | { role: "user"; content: string | Extract<AISDKMessage, { role: "user" }>["content"] }
  | { role: "assistant"; content: string | Extract<AISDKMessage, { role: "assistant" }>["content"] };

/** A system message of the AI SDK: the form of `instructions` that can carry options for a provider. */
type SystemModelMessage = Extract<ModelMessage, { role: "system" }>;

/** `instructions` and `messages` for `generateText` and `streamText`. Without a system message there is no `instructions`. */
export interface ModelPrompt {
  /** One plain system message as text; several, or one with cache marks, as a list. */
  instructions?: string | SystemModelMessage[];
  messages: Exclude<ModelMessage, { role: "system" }>[];
}

/**
 * What `generateText` and `streamText` of the AI SDK take, in one call: system messages and summaries as `instructions`, because
 * AI SDK 7 refuses them among the `messages`. AI SDK 6 names the instructions `system`.
 *
 * @example
 * const prompt = toModelPrompt([{ role: "system", content: "Be brief." }, { role: "user", content: "Hi" }]);
 * // await generateText({ model, ...prompt });
 * console.log(prompt); // { instructions: 'Be brief.', messages: [ { role: 'user', content: 'Hi' } ] }
 */
export function toModelPrompt(messages: readonly Message[], options: AISDKOptions = {}): ModelPrompt {
  const system: SystemModelMessage[] = [];
  const others: ModelPrompt["messages"] = [];
  for (const message of toModelMessages(messages, options)) {
    if (message.role === "system") system.push(message);
    else others.push(message);
  }
  const [first, ...more] = system;
  if (first === undefined) return { messages: others };
  const isPlain = more.length === 0 && first.providerOptions === undefined;
  return { instructions: isPlain ? first.content : system, messages: others };
}

/**
 * The messages in the form of the AI SDK's own functions, system messages in the list. `generateText` of AI SDK 7 wants
 * these as `instructions`: use toModelPrompt there. For a model itself use toAISDKPrompt.
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
