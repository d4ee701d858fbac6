import type { Content, JsonObject, JsonValue, Part } from "heddle";
import { escapeHidden } from "heddle/ai-sdk";
import { oneLine } from "./format.ts";

/** Joins the text parts of a message content. */
export function textOf(content: Content | JsonValue | undefined): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content === undefined ? "" : JSON.stringify(content);
  return (content as readonly Part[]) // a list in a content holds message parts
    .flatMap((part) => (part.type === "text" ? [part.text as string] : []))
    .join("\n");
}

export function thinkingOf(content: Content): string {
  if (typeof content === "string") return "";
  return content.flatMap((part) => (part.type === "thinking" ? [part.text as string] : [])).join("\n");
}

/** Returns a short name for each part that is neither text nor thinking, for example an image. */
export function othersOf(content: Content): string[] {
  if (typeof content === "string") return [];
  return content.flatMap((part) => {
    if (part.type === "text" || part.type === "thinking" || part.type === "tool_call") return [];
    if (part.type === "file") return [`${part.filename ?? "file"} (${part.mediaType})`];
    return [part.type.replace("_", " ")];
  });
}

export interface CallOf {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonValue;
  /** Of a call that was imported. */
  readonly approval?: { readonly approved?: JsonValue; readonly reason?: JsonValue };
}

export function callsOf(payload: JsonObject): readonly CallOf[] {
  const calls = payload["toolCalls"];
  return Array.isArray(calls) ? (calls as unknown as readonly CallOf[]) : []; // Heddle wrote the calls, so their shape is known
}

/** Formats a tool call as `name(argument: value, …)`. Long values are cut, but calls stay distinguishable. */
export function callLine({ name, arguments: given }: Pick<CallOf, "name" | "arguments">): string {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    return `${name}(${given === null ? "" : oneLine(escapeHidden(JSON.stringify(given)), 80)})`;
  }
  const fields = Object.entries(given).map(
    ([key, value]) => `${escapeHidden(key)}: ${oneLine(escapeHidden(JSON.stringify(value)), 60)}`,
  );
  return `${name}(${fields.join(", ")})`;
}
