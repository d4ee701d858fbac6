import type { EntryInput } from "../thread/entry.ts";
import type { JsonObject, JsonValue } from "../thread/json.ts";
import { systemPorts } from "../thread/ports.ts";

/** Optional fields of an entry that every builder accepts: `id`, `at`, `refs`, `v`. */
export type EntryExtras = Omit<EntryInput, "kind" | "payload">;

/**
 * A user message.
 *
 * @example
 * await store.append("thread_1", [user("What's 2+2?"), assistant("4")]);
 */
export function user(content: string, extras: EntryExtras = {}): EntryInput {
  return { ...extras, kind: "message", payload: { role: "user", content } };
}

/** A message of the model. */
export function assistant(content: string, extras: EntryExtras = {}): EntryInput {
  return { ...extras, kind: "message", payload: { role: "assistant", content } };
}

/**
 * A tool call. Its result is made by `toolResult`.
 *
 * @example
 * const exchange = [toolCall("c1", "add", { a: 2, b: 2 }), toolResult("c1", "add", 4)];
 */
export function toolCall(id: string, name: string, args: JsonValue, extras: EntryExtras = {}): EntryInput {
  return { ...extras, kind: "tool_call", payload: { id, name, arguments: args } };
}

/** The result of a `toolCall`. */
export function toolResult(toolCallId: string, name: string, result: JsonValue, extras: EntryExtras = {}): EntryInput {
  return { ...extras, kind: "tool_result", payload: { toolCallId, name, result } };
}

/**
 * A note with any payload, for tests that are not about conversations.
 *
 * @example
 * await store.append("thread_1", note({ n: 1 }));
 */
export function note(payload: JsonObject = {}, extras: EntryExtras = {}): EntryInput {
  return { ...extras, kind: "note", payload };
}

/**
 * A list of `count` notes, numbered from 0.
 *
 * @example
 * await store.append("thread_1", notes(1000));
 */
export function notes(count: number, extras: EntryExtras = {}): EntryInput[] {
  return Array.from({ length: count }, (_, n) => note({ n }, extras));
}

/**
 * A summary of the entries from one seq to another, both included.
 *
 * @example
 * await store.append("thread_1", [user("What's 2+2?"), assistant("4"), summary(0, 1, "2+2 is 4.")]);
 */
export function summary(
  fromSeq: number,
  toSeq: number,
  content = "what was said",
  extras: EntryExtras = {},
): EntryInput {
  return { ...extras, kind: "summary", payload: { fromSeq, toSeq, content } };
}

/**
 * Replaces the content of a lane. Entries after `baseSeq` stay visible.
 *
 * @example
 * await store.append("thread_1", [user("Forget this."), replace("default")]);
 */
export function replace(lane: string, baseSeq?: number, extras: EntryExtras = {}): EntryInput {
  const resultContext = { id: systemPorts.ids("ctx"), entries: [] };
  const operation = { type: "replace", reason: "manual", resultContext, ...(baseSeq !== undefined && { baseSeq }) };
  return contextOperation(lane, operation, extras);
}

/**
 * Switches the active lane.
 *
 * @example
 * await store.append("thread_1", [switchTo("research"), user("Look this up.")]);
 */
export function switchTo(lane: string, extras: EntryExtras = {}): EntryInput {
  return contextOperation(lane, { type: "switch", reason: "manual" }, extras);
}

/**
 * The same entry on the given lane.
 *
 * @example
 * await store.append("thread_1", inLane("research", user("Look this up")));
 */
export function inLane(contextRef: string, entry: EntryInput): EntryInput {
  return { ...entry, payload: { ...entry.payload, contextRef } };
}

function contextOperation(contextRef: string, operation: JsonObject, extras: EntryExtras): EntryInput {
  return {
    ...extras,
    kind: "ai_context_operation",
    payload: { opId: systemPorts.ids("op"), contextRef, operation },
  };
}
