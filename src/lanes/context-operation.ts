import type { Entry } from "../thread/entry.ts";
import { type ErrorFacts, HeddleError } from "../thread/errors.ts";
import { copyJsonObject, isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";
import type { AiContextOperationPayload } from "../thread/kinds.ts";
import { type Branch, DEFAULT_LANE, LaneReader, namedLane, OPERATION_REASONS } from "../thread/lane-operations.ts";
import type { Thread } from "../thread/thread.ts";
import { laneBaseOf } from "../thread/thread-data.ts";
import { isWritten } from "./active-lane.ts";
import { findOwnerBranch } from "./fold-lane.ts";

/** A change to the content of a lane, or a switch of the active lane: the payload of an `ai_context_operation`. */
export type ContextOperation = AiContextOperationPayload;

/** The reason for which a context operation was refused. Nothing was written. */
export type ContextOpErrorCode =
  | "context_op_invalid"
  /** `baseSeq` or `atSeq` is between a call and its result. */
  | "context_op_splits_exchange"
  /** The lane in `from` has no entries. */
  | "context_op_lane_unknown"
  /** The lane in `from` has no entries up to `atSeq`, and no origin. */
  | "context_op_position_unknown"
  /** The thread has no entry with the id in `at` or `before`. */
  | "context_op_entry_unknown"
  /** The lane to create by a branch exists already. */
  | "context_op_lane_exists"
  /** This opId was applied before with other content. */
  | "context_op_id_reused";

/**
 * A context operation that cannot be applied.
 *
 * @example
 * const error = new ContextOpError({ code: "context_op_invalid", path: "opId", message: "opId is missing." });
 * error.path; // "opId"
 */
export class ContextOpError extends HeddleError {
  static override readonly className: string = "ContextOpError";
  declare readonly code: ContextOpErrorCode;
  /** The field that is wrong, if it is a single one. */
  declare readonly path?: string;

  constructor({ path, ...facts }: ErrorFacts & { readonly code: ContextOpErrorCode; readonly path?: string }) {
    super(facts);
    if (path !== undefined) this.path = path;
  }
}

const ROLES: readonly unknown[] = ["user", "assistant", "tool", "system"];
const FIELDS = ["opId", "contextRef", "operation"];
const REPLACE_FIELDS = ["type", "reason", "resultContext", "baseSeq", "meta"];
const SWITCH_FIELDS = ["type", "reason", "from", "atSeq", "meta"];

/**
 * A frozen, checked copy of a context operation. The check comes before the write, because a malformed operation in the log
 * has no effect.
 */
export function checkContextOperation(value: unknown, thread: Thread): AiContextOperationPayload {
  const payload = withContextId(copied(value));
  const { opId, contextRef, operation } = payload;
  onlyFields(payload, FIELDS, "");
  for (const [path, name] of [
    ["opId", opId],
    ["contextRef", contextRef],
  ] as const) {
    if (typeof name !== "string" || name === "") throw invalid(path, "must be a non-empty string");
  }
  if (!isObject(operation)) throw invalid("operation", "must be an object with type and reason");
  if (!OPERATION_REASONS.includes(operation["reason"]))
    throw invalid("operation.reason", `must be one of ${OPERATION_REASONS.join(", ")}`);
  if (operation["type"] === "replace") checkReplace(operation, String(contextRef), thread);
  else if (operation["type"] === "switch") checkSwitch(operation, thread);
  else throw invalid("operation.type", "must be replace or switch");
  return payload as AiContextOperationPayload & JsonObject; // all fields are checked
}

/**
 * A branch needs an existing lane to leave and a new lane to create. Do not call this for an operation that is already
 * applied, because its own entry has created the lane.
 */
export function checkBranch({ contextRef, operation }: AiContextOperationPayload, thread: Thread): void {
  const { type, from } = operation;
  if (type !== "switch" || from === undefined) return;
  if (from !== DEFAULT_LANE && !isWritten(thread, from)) {
    const message = `operation.from: lane "${from}" does not exist. Name the lane to branch from.`;
    throw new ContextOpError({ code: "context_op_lane_unknown", path: "operation.from", message });
  }
  checkPosition(thread, from, operation.atSeq ?? -1);
  if (!isWritten(thread, contextRef)) return;
  const message = `contextRef: lane "${contextRef}" exists already. Leave out from and atSeq to switch to it, or branch into a new lane.`;
  throw new ContextOpError({ code: "context_op_lane_exists", path: "contextRef", message });
}

/**
 * A branch from a position without entries would be empty, which is probably a mistake. -1 is for a branch that is meant to be
 * empty.
 */
function checkPosition(thread: Thread, from: string, atSeq: number): void {
  if (hasPosition(thread, findOwnerBranch(thread, { from, atSeq }))) return;
  const message = `operation.atSeq: lane "${from}" has no entries up to seq ${atSeq}. Use a later seq, or -1 for a branch without entries.`;
  throw new ContextOpError({ code: "context_op_position_unknown", path: "operation.atSeq", message });
}

/** Whether a lane has an entry at or before a seq. The seq must be that of a loaded entry. Also true for -1. */
export function hasPosition(thread: Thread, { from, atSeq }: Branch): boolean {
  if (atSeq < 0 || laneBaseOf(thread.base, from) !== undefined) return true;
  const reader = new LaneReader(thread.base);
  return thread.toArray({ partial: true }).some((entry) => reader.read(entry) === from && entry.seq <= atSeq);
}

/** Gives a resultContext without an id one made from the opId, so that a retry has equal content. */
function withContextId(payload: JsonObject): JsonObject {
  const { opId, operation } = payload;
  const context = isObject(operation) ? operation["resultContext"] : undefined;
  if (!isObject(operation) || !isObject(context) || context["id"] !== undefined) return payload;
  return copied({ ...payload, operation: { ...operation, resultContext: { id: `ctx_${opId}`, ...context } } });
}

function checkReplace(operation: JsonObject, lane: string, thread: Thread): void {
  onlyFields(operation, REPLACE_FIELDS, "operation.");
  const { resultContext, baseSeq, reason } = operation;
  if (!isObject(resultContext))
    throw invalid(
      "operation.resultContext",
      "must be an object { entries, systemPrompt?, id? }, which replaces the lane",
    );
  onlyFields(resultContext, ["id", "systemPrompt", "entries"], "operation.resultContext.");
  const { id, systemPrompt, entries } = resultContext;
  if (typeof id !== "string" || id === "") throw invalid("operation.resultContext.id", "must be a non-empty string");
  if (systemPrompt !== undefined && typeof systemPrompt !== "string") {
    throw invalid("operation.resultContext.systemPrompt", "must be text");
  }
  if (!Array.isArray(entries)) throw invalid("operation.resultContext.entries", "must be a list of messages");
  for (const [index, entry] of entries.entries()) checkMessage(entry, `operation.resultContext.entries[${index}]`);
  if (baseSeq === undefined) {
    if (reason !== "compaction") return;
    throw invalid("operation.baseSeq", "is missing: a compaction keeps the entries after it");
  }
  checkSeq(baseSeq, "operation.baseSeq", thread);
  checkEdge(Number(baseSeq), lane, thread);
}

function checkSwitch(operation: JsonObject, thread: Thread): void {
  onlyFields(operation, SWITCH_FIELDS, "operation.");
  const { from, atSeq } = operation;
  if (from === undefined && atSeq === undefined) return;
  if (typeof from !== "string" || from === "") throw invalid("operation.from", "must be the lane to branch from");
  if (atSeq === undefined) throw invalid("operation.atSeq", "must say where the lane branches");
  checkSeq(atSeq, "operation.atSeq", thread);
  const held = findOwnerBranch(thread, { from, atSeq: Number(atSeq) });
  checkEdge(held.atSeq, held.from, thread);
}

function checkMessage(message: JsonValue, path: string): void {
  if (!isObject(message)) throw invalid(path, "must be a message");
  const { role, content, toolCalls, toolCallId } = message;
  if (!ROLES.includes(role)) throw invalid(`${path}.role`, `must be one of ${ROLES.join(", ")}`);
  const isContent = typeof content === "string" || (Array.isArray(content) && content.every(isPart));
  if (!isContent) throw invalid(`${path}.content`, "must be text or a list of parts");
  if (role === "tool" && typeof toolCallId !== "string") throw invalid(`${path}.toolCallId`, "must name the call");
  if (toolCalls !== undefined && !(Array.isArray(toolCalls) && toolCalls.every(isCall))) {
    throw invalid(`${path}.toolCalls`, "must be a list of { id, name, arguments }");
  }
}

function isPart(part: JsonValue): boolean {
  return isObject(part) && typeof part["type"] === "string";
}

function isCall(call: JsonValue): boolean {
  return isObject(call) && typeof call["id"] === "string" && typeof call["name"] === "string" && "arguments" in call;
}

function checkSeq(seq: JsonValue, path: string, { lastSeq }: Thread): void {
  if (Number.isSafeInteger(seq) && Number(seq) >= -1 && Number(seq) <= lastSeq) return;
  throw invalid(path, `must be a seq of the thread, from -1 to ${lastSeq}`);
}

/** An edge between a call and its result would separate them. */
function checkEdge(seq: number, lane: string, thread: Thread): void {
  const from = Math.max(seq + 1, thread.firstSeq);
  for (const entry of thread.slice(from, Math.max(from, thread.lastSeq))) {
    const id = answeredCall(entry);
    if (id === undefined || (namedLane(entry) ?? lane) !== lane) continue;
    const call = callBefore(entry, id, thread);
    if (call === undefined || call.seq > seq) continue;
    const message = `operation: seq ${seq} is between a call (${call.seq}) and its result (${entry.seq}). Choose ${call.seq - 1} or ${entry.seq}.`;
    throw new ContextOpError({ code: "context_op_splits_exchange", message });
  }
}

function answeredCall({ kind, payload, refs }: Entry): string | undefined {
  const { role, toolCallId } = payload as JsonObject; // every payload is a JSON object
  const isResult = kind === "tool_result" || ((kind === "message" || kind === "ai_message") && role === "tool");
  const id = toolCallId ?? refs.toolCallId;
  return isResult && typeof id === "string" ? id : undefined;
}

function callBefore({ seq, refs }: Entry, id: string, thread: Thread): Entry | undefined {
  for (let at = seq - 1; at >= thread.firstSeq; at--) {
    const entry = thread.at(at);
    if (entry === undefined || !calls(entry, id)) continue;
    if (refs.callId === undefined || entry.refs.callId === undefined || refs.callId === entry.refs.callId) return entry;
  }
  return undefined;
}

function calls({ kind, payload, refs }: Entry, id: string): boolean {
  const { toolCalls, id: own } = payload as JsonObject; // every payload is a JSON object
  if (kind === "tool_call") return (own ?? refs.toolCallId) === id;
  return Array.isArray(toolCalls) && toolCalls.some((call: JsonValue) => isObject(call) && call["id"] === id);
}

function onlyFields(value: JsonObject, known: readonly string[], path: string): void {
  const unknown = Object.keys(value).find((field) => !known.includes(field));
  if (unknown !== undefined)
    throw invalid(`${path}${unknown}`, `is not a known field. Known fields: ${known.join(", ")}`);
}

function copied(value: unknown): JsonObject {
  try {
    return copyJsonObject(value, "operation");
  } catch (cause) {
    const message = HeddleError.isInstance(cause) ? cause.message : "The operation could not be read.";
    throw new ContextOpError({ code: "context_op_invalid", message, cause });
  }
}

function isObject(value: unknown): value is JsonObject {
  return isPlainObject(value);
}

function invalid(path: string, trouble: string): ContextOpError {
  return new ContextOpError({ code: "context_op_invalid", path, message: `${path} ${trouble}.` });
}
