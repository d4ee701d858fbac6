import { isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";
import type { LaneItem } from "./lane-log.ts";
import { resultText } from "./results.ts";

/** One message of a lane, in the form of `resultContext.entries` of a `replace`. Not checked. */
export type ContextEntry = {
  readonly role: JsonValue;
  readonly content: JsonValue;
  readonly toolCalls?: JsonValue;
  readonly toolCallId?: JsonValue;
  readonly name?: JsonValue;
  readonly thinking?: JsonValue;
  readonly isError?: JsonValue;
  readonly call?: JsonValue;
  readonly refs?: JsonObject;
};

/** The payload fields of a message. */
const FIELDS = ["role", "content", "toolCalls", "toolCallId", "name", "thinking", "isError", "call"] as const;

/** The messages of a lane, from entries of all built-in message kinds. Summaries, operations and other kinds are skipped. */
export function contextEntries(items: readonly LaneItem[]): readonly ContextEntry[] {
  const entries: ContextEntry[] = [];
  let isAdjacent = false; // whether a call without a callId belongs to the message before it
  for (const item of items) {
    const entry = contextEntry(item);
    if (entry === undefined || isBlank(entry)) {
      isAdjacent &&= item.entry.kind !== "summary";
      continue;
    }
    const before = entries.at(-1);
    const isLoose = entry.role === "assistant" && entry.refs?.["callId"] === undefined;
    const isCall = isLoose && item.snapshot === undefined && item.entry.kind === "tool_call";
    if (isCall && isAdjacent && before !== undefined) entries[entries.length - 1] = withCalls(before, entry);
    else entries.push(entry);
    isAdjacent = isCall || (isLoose && item.snapshot === undefined && entry.toolCalls === undefined);
  }
  return entries;
}

function contextEntry({ entry, snapshot }: LaneItem): ContextEntry | undefined {
  const { kind, payload, refs } = entry;
  if (snapshot !== undefined) return isPlainObject(snapshot.message) ? (snapshot.message as ContextEntry) : undefined;
  const ofEntry = Object.keys(refs).length === 0 ? {} : { refs: refs as JsonObject };
  switch (kind) {
    case "message":
    case "ai_message": {
      const fields = FIELDS.flatMap((name) => (payload[name] === undefined ? [] : [[name, payload[name]] as const]));
      return { role: "", content: "", ...Object.fromEntries(fields), ...requestIn(payload, refs) };
    }
    case "tool_call": {
      const { id = refs["toolCallId"] ?? "", name = "", arguments: args = {}, metadata } = payload as JsonObject;
      const call = { id, name, arguments: args, ...(metadata !== undefined && { metadata }) };
      return { role: "assistant", content: "", toolCalls: [call], ...ofEntry };
    }
    case "tool_result": {
      const { toolCallId = refs["toolCallId"], name, result = null } = payload as JsonObject;
      const { content, isError } = resultText(result);
      const names = { ...(toolCallId !== undefined && { toolCallId }), ...(name !== undefined && { name }) };
      return { role: "tool", ...names, content, ...(isError && { isError }), ...ofEntry };
    }
    default:
      return undefined;
  }
}

/** Whether a model would be shown nothing: no text, no file, no call. */
function isBlank({ role, content, toolCalls }: ContextEntry): boolean {
  if (role === "tool" || (Array.isArray(toolCalls) && toolCalls.length > 0)) return false;
  if (typeof content === "string") return content.trim() === "";
  return Array.isArray(content) && content.every((part) => isBlankPart(part) || isThinking(part));
}

function isBlankPart(part: JsonValue): boolean {
  return (
    isPlainObject(part) && part["type"] === "text" && typeof part["text"] === "string" && part["text"].trim() === ""
  );
}

function isThinking(part: JsonValue): boolean {
  return isPlainObject(part) && part["type"] === "thinking";
}

/** The requestId may be in the payload instead of the refs. */
function requestIn(payload: JsonObject, refs: JsonObject): { readonly refs?: JsonObject } {
  const { requestId } = payload;
  const all = { ...(typeof requestId === "string" && { requestId }), ...refs };
  return Object.keys(all).length === 0 ? {} : { refs: all };
}

function withCalls(entry: ContextEntry, { toolCalls }: ContextEntry): ContextEntry {
  const list = (calls: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(calls) ? calls : []);
  return { ...entry, toolCalls: [...list(entry.toolCalls), ...list(toolCalls)] };
}
