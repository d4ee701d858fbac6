import type { Entry } from "./entry.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "./json.ts";

type Read = Pick<Entry, "seq" | "kind" | "payload">;

/** A context operation that gives a lane a new beginning. */
export interface Replace {
  /** Entries of the lane up to here are replaced. */
  readonly baseSeq: number;
  readonly systemPrompt?: string;
  /** What stands in their place: messages, as far as anyone has checked. */
  readonly messages: readonly JsonValue[];
}

/** Where a new lane takes its beginning from. */
export interface Branch {
  readonly from: string;
  readonly atSeq: number;
}

/** The lane of entries that name none, until the first switch. It is there from the beginning. */
export const DEFAULT_LANE = "default";

/** Corrections of how lanes are read. In projector heddle/1 all are false. */
export interface LaneRules {
  /** A branch that leaves a lane at a position which that lane inherited begins with what the lane's origin held there. */
  readonly followsOrigins: boolean;
  /** A malformed operation is a plain entry; before, some were applied. */
  readonly ignoresMalformed: boolean;
}

export const LANE_RULES: LaneRules = Object.freeze({ followsOrigins: true, ignoresMalformed: true });

export const REASONS: readonly unknown[] = ["manual", "restore", "compaction", "system"];

/**
 * Whether an operation that `heddle/1` applies is malformed: its reason is none, its base lies beyond the end, or it
 * branches from a lane that is not there, or into one that is. `isWritten` says which lanes have entries before it; the
 * default lane may be left before it has any.
 */
export function isMalformed(entry: Read, isWritten: (lane: string) => boolean): boolean {
  const operation = operationOf(entry);
  if (operation === undefined || (replaceBase(entry) === undefined && switchTarget(entry) === undefined)) return false;
  if (!REASONS.includes(operation["reason"])) return true;
  const { type, baseSeq = -1, from, atSeq } = operation;
  if (type === "replace") return !isSeq(baseSeq) || baseSeq < -1 || baseSeq > entry.seq;
  if (from === undefined && atSeq === undefined) return false;
  const lane = namedLane(entry);
  const isBranch = isName(from) && isSeq(atSeq) && atSeq >= -1 && atSeq < entry.seq;
  return !isBranch || lane === undefined || isWritten(lane) || !(isWritten(from) || from === DEFAULT_LANE);
}

// The log takes anything, and so do these: an operation that says nothing sensible is a plain entry.

/** The lane an entry names, if it names one. */
export function namedLane({ payload }: Pick<Entry, "payload">): string | undefined {
  const name = payload["contextRef"];
  return isName(name) ? name : undefined;
}

/** The lane that is active from this entry on, if it changes that. */
export function switchTarget(entry: Read): string | undefined {
  return operationOf(entry)?.["type"] === "switch" ? namedLane(entry) : undefined;
}

/** Without a list of messages to put there it takes the place of nothing: a lane is not emptied by a mistake. */
export function replaceBase(entry: Read): number | undefined {
  const operation = operationOf(entry);
  if (operation?.["type"] !== "replace" || contextIn(operation) === undefined) return undefined;
  const { baseSeq = entry.seq } = operation;
  return isSeq(baseSeq) ? Math.min(baseSeq, entry.seq) : undefined;
}

export function replaceOf(entry: Read): Replace | undefined {
  const baseSeq = replaceBase(entry);
  if (baseSeq === undefined) return undefined;
  const context = contextIn(operationOf(entry));
  return context && { baseSeq, ...context };
}

export function branchOf(entry: Read): Branch | undefined {
  if (switchTarget(entry) === undefined) return undefined;
  const { from, atSeq } = operationOf(entry) ?? {};
  return isName(from) && isSeq(atSeq) && atSeq >= -1 ? { from, atSeq: Math.min(atSeq, entry.seq - 1) } : undefined;
}

/** How far a summary reaches: never past itself. One without a text has nothing to put in the place of what it covers. */
export function summaryReach({ kind, seq, payload }: Read): number | undefined {
  const toSeq = payload["toSeq"];
  const isSummary = kind === "summary" && typeof payload["content"] === "string";
  return isSummary && isSeq(toSeq) ? Math.min(toSeq, seq) : undefined;
}

function contextIn(operation: JsonObject | undefined): Omit<Replace, "baseSeq"> | undefined {
  const context = operation?.["resultContext"];
  const { systemPrompt, entries } = isObject(context) ? context : {};
  if (!Array.isArray(entries)) return undefined;
  return { ...(typeof systemPrompt === "string" && { systemPrompt }), messages: entries };
}

function operationOf({ kind, payload }: Read): JsonObject | undefined {
  if (kind !== "ai_context_operation") return undefined;
  const operation = payload["operation"];
  return isObject(operation) ? operation : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return isPlainObject(value);
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isSeq(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
