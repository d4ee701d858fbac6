import { isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";
import {
  type AssistantMessage,
  type Content,
  type FileContentPart,
  fileNote,
  type Part,
  type TextContentPart,
  type ToolCall,
  type ToolCallPosition,
  type ToolMessage,
} from "../thread/message.ts";

/** A part of an assistant message. A call is a part too, so that all parts form one ordered list. */
export type AssistantPart = Exclude<Part, ToolCallPosition> | { readonly type: "call"; readonly call: ToolCall };

/** Returns the parts of a content. Empty text is left out, because some providers refuse it. */
export function partsOf(content: Content): readonly Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return content.filter((part) => part.type !== "text" || part.text !== "" || part.metadata !== undefined);
}

/**
 * Inserts the calls at their positions in the content. Calls without a position come last, as in the providers'
 * formats.
 */
export function assistantParts({ content, toolCalls = [] }: AssistantMessage): readonly AssistantPart[] {
  if (toolCalls.length === 0) return partsOf(content).filter((part) => part.type !== "tool_call");
  const waiting = new Map(toolCalls.map((call) => [call.id, call]));
  const parts: AssistantPart[] = [];
  for (const part of partsOf(content)) {
    if (part.type !== "tool_call") {
      parts.push(part);
      continue;
    }
    const call = waiting.get(part.id);
    if (call === undefined) continue; // Skips a position without a call, and a second position of the same call.
    waiting.delete(part.id);
    const metadata = call.metadata ?? part.metadata;
    parts.push({ type: "call", call: metadata === undefined ? call : { ...call, metadata } });
  }
  for (const call of toolCalls) if (waiting.has(call.id)) parts.push({ type: "call", call });
  return parts;
}

/** A tool result in the three forms that providers distinguish. */
type ToolOutput =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "error"; readonly error: JsonValue }
  | { readonly type: "parts"; readonly parts: readonly (TextContentPart | FileContentPart)[] };

export function toolOutputOf({ content, isError }: ToolMessage): ToolOutput {
  const parts = partsOf(content).filter((part) => part.type === "text" || part.type === "file");
  if (isError === true) return { type: "error", error: unwrappedError(textWithFileNotes(parts)) };
  const [first, ...others] = parts;
  if (first === undefined) return { type: "text", text: "" };
  const plain = first.type === "text" && first.metadata === undefined && others.length === 0;
  return plain ? { type: "text", text: first.text } : { type: "parts", parts };
}

/**
 * Joins the parts of an error to one text, with a note for each file. Anthropic refuses images in errors, and other
 * formats cannot hold them.
 */
function textWithFileNotes(parts: readonly (TextContentPart | FileContentPart)[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : fileNote(part))).join("\n");
}

/** Removes the wrapper {"error": ...}, which the projection writes, because provider formats have their own. */
function unwrappedError(text: string): JsonValue {
  const { error, ...others } = asObject(parseJson(text)) ?? {};
  return error !== undefined && Object.keys(others).length === 0 ? error : text;
}

/**
 * Returns a call's arguments as an object, which every provider requires. Arguments that are not a JSON object are kept
 * under the name that the AI SDK uses, so that the model can read them.
 */
export function argumentsObject(value: JsonValue): JsonObject {
  return asObject(typeof value === "string" ? parseJson(value) : value) ?? { rawInvalidInput: value };
}

/** Parses JSON. Undefined if the text is not JSON. */
function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function asObject(value: JsonValue | undefined): JsonObject | undefined {
  return isPlainObject(value) ? (value as JsonObject) : undefined; // a plain object inside JSON is a JSON object
}
