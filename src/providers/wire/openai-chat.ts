import type { JsonObject } from "../../thread/json.ts";
import {
  type AssistantMessage,
  type Content,
  type FileContentPart,
  fileNote,
  groupAdjacent,
  type Message,
  type ToolMessage,
  type ToolSpec,
} from "../../thread/message.ts";
import {
  argumentsObject,
  assistantParts,
  familyOf,
  functionTools,
  type ImageDetail,
  messagesFor,
  partsOf,
  sourceOf,
  textField,
  toolOutputOf,
  urlOf,
} from "../message-parts.ts";

/** One message of a Chat Completions request. */
export type OpenAIChatMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string | OpenAIChatPart[] }
  | {
      readonly role: "assistant";
      readonly content: string | null;
      readonly tool_calls?: {
        readonly id: string;
        readonly type: "function";
        readonly function: { readonly name: string; readonly arguments: string };
      }[];
    }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string };

/** The fields of a Chat Completions request that `toOpenAIChat` makes. */
export interface OpenAIChatBody {
  readonly messages: OpenAIChatMessage[];
  readonly tools?: {
    readonly type: "function";
    readonly function: { readonly name: string; readonly description?: string; readonly parameters: JsonObject };
  }[];
}

/**
 * Makes the fields `messages` and `tools` of a Chat Completions request. Thinking, the order of text and calls, and
 * calls that a provider ran are lost, because the format cannot hold them.
 * @example
 * const { messages } = toOpenAIChat([{ role: "user", content: "Hi" }]);
 * console.log(messages); // [ { role: 'user', content: 'Hi' } ]
 */
export function toOpenAIChat(list: readonly Message[], tools: readonly ToolSpec[] = []): OpenAIChatBody {
  const messages = messagesFor("openai-chat", list);
  const groups = groupAdjacent(messages, (a, b) => a.role === "tool" && b.role === "tool");
  const body = { messages: groups.flatMap((group) => [...group.flatMap(messageOf), ...filesBehind(group)]) };
  const own = functionTools(tools);
  return own.length === 0 ? body : { ...body, tools: own.map(toolOf) };
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

function userContent(content: Content): string | OpenAIChatPart[] {
  const parts = partsOf(content).flatMap((part, index): readonly OpenAIChatPart[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    return part.type === "file" ? [chatFile(part, index)] : [];
  });
  const [first, ...others] = parts;
  return first?.type === "text" && others.length === 0 ? first.text : parts;
}

function assistantMessage(message: AssistantMessage): OpenAIChatMessage {
  const parts = assistantParts(message);
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const calls = parts.flatMap((part) => (part.type === "call" ? [part.call] : []));
  if (calls.length === 0) return { role: "assistant", content: text };
  const tool_calls = calls.map(({ id, name, arguments: input }) => ({
    id,
    type: "function" as const,
    function: { name, arguments: JSON.stringify(argumentsObject(input)) },
  }));
  return { role: "assistant", content: text === "" ? null : text, tool_calls };
}

/** Returns a tool result as text, the only form this format allows. It has no error flag, so the text shows errors. */
function resultText(message: ToolMessage): string {
  const result = toolOutputOf(message);
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

/**
 * Makes a user message with the files of tool results. It comes after all results, because nothing may be between them.
 */
function filesBehind(group: readonly Message[]): readonly OpenAIChatMessage[] {
  const files = group.flatMap((message) => (message.role === "tool" ? filesOf(message) : []));
  return files.length === 0 ? [] : [{ role: "user", content: files.map(chatFile) }];
}

function filesOf(message: ToolMessage): readonly FileContentPart[] {
  const result = toolOutputOf(message);
  return result.type === "parts" ? result.parts.filter((part) => part.type === "file") : [];
}

function toolOf({ name, description, inputSchema }: ToolSpec) {
  const described = description === undefined ? {} : { description };
  return { type: "function" as const, function: { name, ...described, parameters: inputSchema } };
}

/** One part of a user message. */
export type OpenAIChatPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string; readonly detail?: ImageDetail } }
  | { readonly type: "input_audio"; readonly input_audio: { readonly data: string; readonly format: "wav" | "mp3" } }
  | { readonly type: "file"; readonly file: { readonly filename: string; readonly file_data: string } };

/**
 * Makes a file part. Images are sent by URL or bytes, audio and PDF by bytes only. `index` names a file without a name.
 */
function chatFile(part: FileContentPart, index: number): OpenAIChatPart {
  const source = sourceOf(part);
  if (familyOf(part) === "image") {
    const detail = textField(part, "openai", "imageDetail") as ImageDetail | undefined; // OpenAI checks it
    return { type: "image_url", image_url: { url: urlOf(part), ...(detail === undefined ? {} : { detail }) } };
  }
  const format = AUDIO.get(part.mediaType);
  if ("base64" in source && format !== undefined) {
    return { type: "input_audio", input_audio: { data: source.base64, format } };
  }
  if ("base64" in source && part.mediaType === "application/pdf") {
    return { type: "file", file: { filename: part.filename ?? `part-${index}.pdf`, file_data: urlOf(part) } };
  }
  return { type: "text", text: fileNote(part) };
}

const AUDIO: ReadonlyMap<string, "wav" | "mp3"> = new Map([
  ["audio/wav", "wav"],
  ["audio/mp3", "mp3"],
  ["audio/mpeg", "mp3"],
]);
