import type { Message, ToolCall } from "../../thread/message.ts";
import { approvalIn, writeRequest, writeResponse } from "../../thread/messages/approval.ts";
import { withFileNotes } from "./file-notes.ts";
import { type AISDKOptions, toAISDKPrompt } from "./prompt.ts";
import type { AISDKAssistantPart, AISDKMessage, AISDKToolResult } from "./types.ts";

/** A message as `generateText` and `streamText` of the AI SDK accept it. */
export type ModelMessage =
  | Exclude<AISDKMessage, { role: "user" | "assistant" | "tool" }>
  | { role: "user"; content: string | Extract<AISDKMessage, { role: "user" }>["content"] }
  | { role: "assistant"; content: string | (AISDKAssistantPart | ApprovalRequest)[] }
  | { role: "tool"; content: (AISDKToolResult | ApprovalResponse)[] };

type ApprovalRequest = { type: "tool-approval-request"; approvalId: string; toolCallId: string };
type ApprovalResponse = { type: "tool-approval-response"; approvalId: string; approved: boolean; reason?: string };

/** A system message of the AI SDK: the form of `instructions` with options for a provider. */
type SystemModelMessage = Extract<ModelMessage, { role: "system" }>;

/** `instructions` and `messages` for `generateText` and `streamText`. Without a system message there is no `instructions`. */
export interface ModelPrompt {
  /** A string for one plain system message. A list for several, or for one with cache marks. */
  instructions?: string | SystemModelMessage[];
  messages: Exclude<ModelMessage, { role: "system" }>[];
}

/**
 * The arguments of `generateText` and `streamText` of the AI SDK. System messages and summaries become `instructions`,
 * because AI SDK 7 refuses them in `messages`. AI SDK 6 names the instructions `system`.
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
 * The messages for the functions of the AI SDK, including system messages. With a `provider`, a file of a kind that its
 * package refuses becomes a note. `generateText` of AI SDK 7 requires those as
 * `instructions`: use toModelPrompt there. To call a model directly, use toAISDKPrompt.
 *
 * @example
 * console.log(toModelMessages([{ role: "user", content: "Hi" }])); // [ { role: 'user', content: 'Hi' } ]
 */
export function toModelMessages(messages: readonly Message[], options: AISDKOptions = {}): ModelMessage[] {
  const made = toAISDKPrompt(
    Array.isArray(messages) ? withFileNotes(messages, options.provider) : messages,
    options,
  ).map((message): ModelMessage => {
    if (message.role !== "user" && message.role !== "assistant") return message;
    const text = onlyText(message.content);
    return text === undefined ? message : { role: message.role, content: text };
  });
  return withApprovals(made, messages);
}

/** Replaces synthetic results at the end with their approvals, because the AI SDK runs the calls that the last message approves. */
function withApprovals(made: readonly ModelMessage[], messages: readonly Message[]): ModelMessage[] {
  const from = messages.findLastIndex(({ role }) => role !== "tool") + 1;
  const calls = messages.slice(from).flatMap((message): readonly ToolCall[] => {
    const approval = approvalIn(message);
    if (approval === undefined || message.role !== "tool") return [];
    return [{ id: message.toolCallId, name: message.name, arguments: {}, approval }];
  });
  if (calls.length === 0) return [...made];
  const find = (id: string): ToolCall | undefined => calls.find((call) => call.id === id);
  return made.map((message, index): ModelMessage => {
    if (message.role === "assistant" && index === made.length - 2 && typeof message.content !== "string") {
      const content = message.content.flatMap((part) => {
        const call = part.type === "tool-call" ? find(part.toolCallId) : undefined;
        return call === undefined ? [part] : [part, ...(writeRequest(call) as ApprovalRequest[])]; // as it is written there
      });
      return { ...message, content };
    }
    if (message.role !== "tool" || index !== made.length - 1) return message;
    const content = message.content.flatMap((part) => {
      const call = part.type === "tool-result" ? find(part.toolCallId) : undefined;
      return call === undefined ? [part] : (writeResponse(call) as ApprovalResponse[]); // as it is written there
    });
    return { ...message, content };
  });
}

/** The text of a content that is one plain text. */
function onlyText(content: readonly AISDKAssistantPart[]): string | undefined {
  const [first, ...others] = content;
  const plain = first?.type === "text" && first.providerOptions === undefined && others.length === 0;
  return plain ? first.text : undefined;
}
