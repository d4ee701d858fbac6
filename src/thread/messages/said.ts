import { isPlainObject, type JsonValue } from "../json.ts";
import type { Content, Part, PartMetadata, ToolCall } from "../message.ts";

/** A neutral message with one type for all roles. */
export interface Said {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: Content;
  readonly toolCalls?: readonly ToolCall[];
  readonly toolCallId?: string;
  readonly name?: string;
  readonly isError?: boolean;
  readonly metadata?: PartMetadata;
}

/** A neutral message with the id of its source. */
export type Spoken = Said & {
  readonly id: string;
  /** For a result: the output of the tool, if the text that the model reads does not hold it. */
  readonly output?: JsonValue | undefined;
};

/** A single text part without metadata becomes a string. */
export function contentOf(parts: readonly Part[]): Content {
  const [first, ...others] = parts;
  if (first === undefined) return "";
  return others.length === 0 && first.type === "text" && first.metadata === undefined ? first.text : parts;
}

export function partsOf(content: Content): readonly Part[] {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
}

export function textIn(content: Content): string {
  return partsOf(content)
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n");
}

/** Makes an answer. Calls get places among the parts only if content follows a call. */
export function answer(parts: readonly Part[], toolCalls: readonly ToolCall[]): Said {
  const isCall = ({ type }: Part): boolean => type === "tool_call";
  const said = parts.slice(0, parts.findLastIndex((part) => !isCall(part)) + 1);
  const content = contentOf(said.some(isCall) ? parts : said);
  return { role: "assistant", content, ...(toolCalls.length > 0 && { toolCalls }) };
}

/** Parts and calls of an answer in order. Calls without a place come last. */
export function inOrder({ content, toolCalls = [] }: Said): readonly (Part | ToolCall)[] {
  const places = partsOf(content);
  const pieces = places.flatMap((part): readonly (Part | ToolCall)[] =>
    part.type === "tool_call" ? toolCalls.filter(({ id }) => id === part.id) : [part],
  );
  return [...pieces, ...toolCalls.filter((call) => !pieces.includes(call))];
}

/** Provider metadata, if the value is an object of objects. */
export function metadataOf(value: JsonValue | undefined, as = "metadata"): { readonly metadata?: PartMetadata } {
  const isMetadata = isPlainObject(value) && Object.values(value).every(isPlainObject);
  return isMetadata ? { [as]: value as PartMetadata } : {};
}
