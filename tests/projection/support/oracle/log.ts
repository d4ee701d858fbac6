import type { Entry, JsonObject, Refs } from "heddle";
import { PROJECTOR } from "heddle/core";
import type { ProjectionInput } from "../../../../src/projection/input/input.ts";
import { isPlainObject } from "../../../../src/thread/json.ts";
import type { Message } from "../../../../src/thread/message.ts";

/** An entry of the thread or one that is pending, with its lane. */
export interface Logged {
  readonly seq: number;
  readonly kind: string;
  readonly v: number;
  readonly payload: JsonObject;
  readonly refs: Refs;
  readonly lane: string;
  readonly pending: boolean;
  /** An operation that does nothing. */
  readonly malformed: boolean;
}

export type Fields = { readonly [key: string]: unknown };

/** What is to be projected: the lane, and every entry as if what is pending had been committed. */
export function logOf({ thread, lane, pending, rules = PROJECTOR }: ProjectionInput): {
  lane: string;
  log: Logged[];
  pendingCount: number;
} {
  const entries = thread.toArray();
  const ignored = rules === "heddle/1" ? [] : entries.filter((_, index) => isMalformed(entries, index));
  const effective = entries.filter((entry) => !ignored.includes(entry));
  const projected = lane ?? activeAfter(effective);
  const log = entries.map((entry): Logged => {
    const { seq, kind, v = 1, payload, refs } = entry;
    return {
      seq,
      kind,
      v,
      payload,
      refs,
      lane: named(payload) ?? activeAfter(effective.filter((other) => other.seq < seq)),
      pending: false,
      malformed: ignored.includes(entry),
    };
  });
  const items: readonly unknown[] = pending === undefined ? [] : Array.isArray(pending) ? pending : [pending];
  const waiting = items.map((item, index) => pendingEntry(item, thread.rev + index, projected));
  return { lane: projected, log: [...log, ...waiting], pendingCount: items.length };
}

function pendingEntry(item: unknown, seq: number, lane: string): Logged {
  const { kind, payload, refs, v } = asEntry(item, lane);
  return { seq, kind, v, payload, refs, lane: named(payload) ?? lane, pending: true, malformed: false };
}

function asEntry(item: unknown, lane: string): Pick<Logged, "kind" | "payload" | "refs" | "v"> {
  if (typeof item === "string") return { kind: "message", payload: { role: "user", content: item }, refs: {}, v: 1 };
  const given = item as Fields;
  if (typeof given["role"] !== "string") {
    const { kind = "note", payload = {}, refs = {}, v = 1 } = item as Partial<Logged>;
    return { kind, payload, refs, v };
  }
  const message = item as Message;
  const plain = message.role !== "tool" && !(message.role === "assistant" && message.toolCalls !== undefined);
  const { role, content, toolCalls, toolCallId, name, isError } = given;
  const rest = { content, toolCalls, toolCallId, name, isError };
  const payload = plain ? { role, content } : { contextRef: lane, role, ...rest };
  return { kind: plain ? "message" : "ai_message", payload: payload as JsonObject, refs: {}, v: 1 };
}

type Read = { readonly kind: string; readonly payload: JsonObject };

const REASONS: readonly unknown[] = ["manual", "restore", "compaction", "system"];

/** An operation that says something which cannot be, as the documentation of lanes lists it. */
function isMalformed(entries: readonly Entry[], index: number): boolean {
  const entry = entries[index];
  const operation = entry && operationOf(entry);
  if (entry === undefined || operation === undefined) return false;
  const { type, reason, baseSeq, from, atSeq } = operation;
  if (type !== "replace" && type !== "switch") return false;
  if (!REASONS.includes(reason)) return true;
  const isWithin = (seq: unknown, end: number) => Number.isSafeInteger(seq) && Number(seq) >= -1 && Number(seq) <= end;
  if (type === "replace") return baseSeq !== undefined && !isWithin(baseSeq, entry.seq);
  if (from === undefined && atSeq === undefined) return false;
  const before = entries.slice(0, index);
  const effective = before.filter((_, at) => !isMalformed(before, at));
  const lanes = before.map(
    ({ seq, payload }) => named(payload) ?? activeAfter(effective.filter((one) => one.seq < seq)),
  );
  const isThere = from === "default" || lanes.some((lane) => lane === from);
  return !isWithin(atSeq, entry.seq - 1) || !isThere || lanes.some((lane) => lane === named(entry.payload));
}

/** Where the last switch led to. */
function activeAfter(entries: readonly Read[]): string {
  const targets = entries.flatMap((entry) =>
    operationOf(entry)?.["type"] === "switch" ? (named(entry.payload) ?? []) : [],
  );
  return targets.at(-1) ?? "default";
}

export function operationOf({ kind, payload }: Read): Fields | undefined {
  const operation = payload["operation"];
  return kind === "ai_context_operation" && isPlainObject(operation) ? operation : undefined;
}

/** The base of a replace that counts: what it says, its own seq when it says nothing, never beyond itself. */
export function baseOf(entry: Logged): number | undefined {
  const operation = operationOf(entry);
  if (entry.malformed || operation?.["type"] !== "replace") return undefined;
  const { baseSeq = entry.seq, resultContext } = operation;
  if (!isPlainObject(resultContext) || !Array.isArray(resultContext["entries"])) return undefined;
  return Number.isSafeInteger(baseSeq) ? Math.min(Number(baseSeq), entry.seq) : undefined;
}

export function reachOf({ kind, seq, payload }: Pick<Logged, "kind" | "seq" | "payload">): number | undefined {
  const { toSeq, content } = payload;
  return kind === "summary" && typeof content === "string" && Number.isSafeInteger(toSeq)
    ? Math.min(Number(toSeq), seq)
    : undefined;
}

function named(payload: JsonObject): string | undefined {
  const lane = payload["contextRef"];
  return typeof lane === "string" && lane !== "" ? lane : undefined;
}

export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

export function measureOf(payload: unknown): number {
  const { role, details } = payload as { readonly role?: unknown; readonly details?: unknown };
  const size = role === "tool" && details !== undefined ? bytesOf(JSON.stringify(details)) : 0;
  return Math.floor((bytesOf(JSON.stringify(payload)) - (size > 1024 ? size : 0)) / 4);
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
