import type { ModelAnswer } from "../../agent/model-call.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { Content, FileContentPart, Message, Part, ToolCall } from "../../thread/message.ts";
import { finishReasonOf } from "./finish-reason.ts";

/** Messages in the form of the conventions, as JSON: attributes of spans hold no structures. */
export function inputMessages(messages: readonly Message[]): string {
  return JSON.stringify(messages.map((message) => ({ role: message.role, parts: partsOfMessage(message) })));
}

export function outputMessages({ content, toolCalls, finishReason }: ModelAnswer): string {
  const parts = partsOf(content, toolCalls);
  return JSON.stringify([{ role: "assistant", parts, finish_reason: finishReasonOf(finishReason) }]);
}

/** What a tool said, as text or as JSON. */
export function resultContent(content: Content): string {
  return typeof content === "string" ? content : JSON.stringify(partsOf(content, []));
}

function partsOfMessage(message: Message): readonly object[] {
  if (message.role !== "tool") return partsOf(message.content, "toolCalls" in message ? message.toolCalls : []);
  const { toolCallId: id, content } = message;
  return [{ type: "tool_call_response", id, response: typeof content === "string" ? content : partsOf(content, []) }];
}

/** Calls that have no place among the parts come behind them. */
function partsOf(content: Content, calls: readonly ToolCall[] = []): readonly object[] {
  const parts: readonly Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const placed = new Set(parts.flatMap((part) => (part.type === "tool_call" ? [part.id] : [])));
  const told = parts.filter((part) => part.type !== "text" || part.text !== "").flatMap((part) => partOf(part, calls));
  return [...told, ...calls.filter(({ id }) => !placed.has(id)).map(callOf)];
}

function partOf(part: Part, calls: readonly ToolCall[]): readonly object[] {
  switch (part.type) {
    case "text":
      return [{ type: "text", content: part.text }];
    case "thinking":
      return [{ type: "reasoning", content: part.text }];
    case "tool_call":
      return calls.filter(({ id }) => id === part.id).map(callOf);
    case "file":
      return [fileOf(part)];
    case "provider_call":
      return [serverCall(part.id, part.name, part.arguments)];
    case "provider_result": {
      const { id, name, result } = part;
      return [{ type: "server_tool_call_response", id, server_tool_call_response: { type: name, result } }];
    }
    case "source":
    case "custom": {
      const { metadata: _, ...rest } = part;
      return [rest];
    }
    default:
      return part satisfies never;
  }
}

function callOf({ id, name, arguments: given }: ToolCall): object {
  return { type: "tool_call", id, name, arguments: given };
}

function serverCall(id: string, name: string, given: JsonValue): object {
  return { type: "server_tool_call", id, name, server_tool_call: { type: name, arguments: given } };
}

/** Bytes are not for telemetry: of a file that travels inline only its size is told. */
function fileOf({ mediaType, data }: FileContentPart): object {
  const modality = /^(image|audio|video)\//.exec(mediaType)?.[1] ?? "document";
  const file = { mime_type: mediaType, modality };
  if ("url" in data && !data.url.startsWith("data:")) return { type: "uri", ...file, uri: data.url };
  if ("blob" in data) return { type: "file", ...file, file_id: data.blob };
  return { type: "inline_file", ...file, characters: "url" in data ? data.url.length : data.base64.length };
}
