import type { Message, ToolCall } from "../../thread/message.ts";
import { approvalFromMetadata, writeApprovalRequest, writeApprovalResponse } from "../../thread/messages/approval.ts";
import { type AISDKOptions, toAISDKPrompt } from "./prompt.ts";
import type { AISDKAssistantPart, AISDKMessage, AISDKToolResult } from "./types.ts";

/** A message in the format that the AI SDK functions `generateText` and `streamText` accept. */
export type ModelMessage =
  | Exclude<AISDKMessage, { role: "user" | "assistant" | "tool" }>
  | { role: "user"; content: string | Extract<AISDKMessage, { role: "user" }>["content"] }
  | { role: "assistant"; content: string | (AISDKAssistantPart | ApprovalRequest)[] }
  | { role: "tool"; content: (AISDKToolResult | ApprovalResponse)[] };

type ApprovalRequest = { type: "tool-approval-request"; approvalId: string; toolCallId: string };
type ApprovalResponse = { type: "tool-approval-response"; approvalId: string; approved: boolean; reason?: string };

/** A system message of the AI SDK. Unlike a text, it can have provider options. */
type SystemModelMessage = Extract<ModelMessage, { role: "system" }>;

/** `instructions` and `messages` for `generateText` and `streamText`. Without a system message there is no `instructions`. */
export interface ModelPrompt {
  /** A text for one plain system message. A list for several, or for one with cache breakpoints. */
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
 * The messages for the functions of the AI SDK, including system messages. `generateText` of AI SDK 7 requires those as
 * `instructions`: use toModelPrompt there. To call a model directly, use toAISDKPrompt.
 *
 * @example
 * console.log(toModelMessages([{ role: "user", content: "Hi" }])); // [ { role: 'user', content: 'Hi' } ]
 */
export function toModelMessages(messages: readonly Message[], options: AISDKOptions = {}): ModelMessage[] {
  const made = toAISDKPrompt(messages, options).map((message): ModelMessage => {
    if (message.role !== "user" && message.role !== "assistant") return message;
    const text = onlyText(message.content);
    return text === undefined ? message : { role: message.role, content: text };
  });
  return withApprovals(made, messages);
}

/** Replaces synthetic results at the end with approvals. The AI SDK runs the calls that the last message approves. */
function withApprovals(made: readonly ModelMessage[], messages: readonly Message[]): ModelMessage[] {
  const from = messages.findLastIndex(({ role }) => role !== "tool") + 1;
  const calls = messages.slice(from).flatMap((message): readonly ToolCall[] => {
    const approval = approvalFromMetadata(message);
    if (approval === undefined || message.role !== "tool") return [];
    return [{ id: message.toolCallId, name: message.name, arguments: {}, approval }];
  });
  if (calls.length === 0) return [...made];
  const find = (id: string): ToolCall | undefined => calls.find((call) => call.id === id);
  return made.map((message, index): ModelMessage => {
    if (message.role === "assistant" && index === made.length - 2 && typeof message.content !== "string") {
      const content = message.content.flatMap((part) => {
        const call = part.type === "tool-call" ? find(part.toolCallId) : undefined;
        return call === undefined ? [part] : [part, ...(writeApprovalRequest(call) as ApprovalRequest[])]; // `writeApprovalRequest` returns parts of this type
      });
      return { ...message, content };
    }
    if (message.role !== "tool" || index !== made.length - 1) return message;
    const content = message.content.flatMap((part) => {
      const call = part.type === "tool-result" ? find(part.toolCallId) : undefined;
      return call === undefined ? [part] : (writeApprovalResponse(call) as ApprovalResponse[]); // `writeApprovalResponse` returns parts of this type
    });
    return { ...message, content };
  });
}

/** Returns the text if the content is a single text without provider options. */
function onlyText(content: readonly AISDKAssistantPart[]): string | undefined {
  const [first, ...others] = content;
  const plain = first?.type === "text" && first.providerOptions === undefined && others.length === 0;
  return plain ? first.text : undefined;
}
