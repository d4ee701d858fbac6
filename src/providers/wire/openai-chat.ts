import type { JsonObject } from "../../thread/json.ts";
import type { AssistantMessage, Content, FilePart, Message, ToolMessage, ToolSpec } from "../../thread/message.ts";
import { objectOf } from "../arguments.ts";
import { partsOf, piecesOf } from "../parts.ts";
import { resultOf } from "../results.ts";
import { runs } from "../runs.ts";
import { chatFile, type OpenAIChatPart } from "./openai-chat-files.ts";

export type OpenAIChatMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string | readonly OpenAIChatPart[] }
  | {
      readonly role: "assistant";
      readonly content: string | null;
      readonly tool_calls?: readonly {
        readonly id: string;
        readonly type: "function";
        readonly function: { readonly name: string; readonly arguments: string };
      }[];
    }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string };

export interface OpenAIChatBody {
  readonly messages: readonly OpenAIChatMessage[];
  readonly tools?: readonly {
    readonly type: "function";
    readonly function: { readonly name: string; readonly description?: string; readonly parameters: JsonObject };
  }[];
}

/**
 * The fields `messages` and `tools` of a Chat Completions request. The format cannot hold thinking, the order of text and
 * calls, or calls that a provider ran. These are left out.
 *
 * @example
 * const { messages } = toOpenAIChat([{ role: "user", content: "Hi" }]);
 * console.log(messages); // [ { role: 'user', content: 'Hi' } ]
 */
export function toOpenAIChat(messages: readonly Message[], tools: readonly ToolSpec[] = []): OpenAIChatBody {
  const groups = runs(messages, (a, b) => a.role === "tool" && b.role === "tool");
  const body = { messages: groups.flatMap((group) => [...group.flatMap(messageOf), ...filesBehind(group)]) };
  return tools.length === 0 ? body : { ...body, tools: tools.map(toolOf) };
}

function messageOf(message: Message): readonly OpenAIChatMessage[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content }];
    case "user":
      return [{ role: "user", content: userContent(message.content) }];
    case "assistant":
      return [assistantMessage(message)];
    case "tool":
      return [{ role: "tool", tool_call_id: message.toolCallId, content: resultText(message) }];
    default:
      return message satisfies never;
  }
}

function userContent(content: Content): string | readonly OpenAIChatPart[] {
  const parts = partsOf(content).flatMap((part, index): readonly OpenAIChatPart[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    return part.type === "file" ? [chatFile(part, index)] : [];
  });
  const [first, ...others] = parts;
  return first?.type === "text" && others.length === 0 ? first.text : parts;
}

function assistantMessage(message: AssistantMessage): OpenAIChatMessage {
  const pieces = piecesOf(message);
  const text = pieces.map((piece) => (piece.type === "text" ? piece.text : "")).join("");
  const calls = pieces.flatMap((piece) => (piece.type === "call" ? [piece.call] : []));
  if (calls.length === 0) return { role: "assistant", content: text };
  const tool_calls = calls.map(({ id, name, arguments: input }) => ({
    id,
    type: "function" as const,
    function: { name, arguments: JSON.stringify(objectOf(input)) },
  }));
  return { role: "assistant", content: text === "" ? null : text, tool_calls };
}

/** A result is text only. The format has no flag for errors, so the text must show them. */
function resultText(message: ToolMessage): string {
  const result = resultOf(message);
  switch (result.type) {
    case "text":
      return result.text;
    case "error":
      return JSON.stringify({ error: result.error });
    case "parts":
      return result.parts
        .map((part) => (part.type === "text" ? part.text : `[${part.mediaType}: see the message behind the results]`))
        .join("\n");
    default:
      return result satisfies never;
  }
}

/** Files of tool results follow in a user message after all results, because nothing may separate the results. */
function filesBehind(group: readonly Message[]): readonly OpenAIChatMessage[] {
  const files = group.flatMap((message) => (message.role === "tool" ? filesOf(message) : []));
  return files.length === 0 ? [] : [{ role: "user", content: files.map(chatFile) }];
}

function filesOf(message: ToolMessage): readonly FilePart[] {
  const result = resultOf(message);
  return result.type === "parts" ? result.parts.filter((part) => part.type === "file") : [];
}

function toolOf({ name, description, inputSchema }: ToolSpec) {
  const described = description === undefined ? {} : { description };
  return { type: "function" as const, function: { name, ...described, parameters: inputSchema } };
}
