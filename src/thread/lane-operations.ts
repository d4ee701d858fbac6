import type { Entry } from "./entry.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "./json.ts";
import { laneBaseOf, type ThreadBase } from "./thread-data.ts";

type OperationEntry = Pick<Entry, "seq" | "kind" | "payload">;

/** A context operation that replaces entries of a lane with messages. */
export interface Replace {
  /** Entries of the lane up to this seq are replaced. */
  readonly baseSeq: number;
  readonly systemPrompt?: string;
  /** The messages that replace these entries. Their form is not checked. */
  readonly messages: readonly JsonValue[];
}

/** The lane and seq at which a new lane branches off. */
export interface Branch {
  readonly from: string;
  readonly atSeq: number;
}

/** The lane of entries that name none, until the first switch. It always exists. */
export const DEFAULT_LANE = "default";

/** Corrections of how lanes are read. All are false in projector heddle/1. */
export interface LaneRules {
  /** A branch may leave a lane at an inherited position. It then begins with the items of the lane's origin up to there. */
  readonly followsOrigins: boolean;
  /** Whether a malformed operation has no effect. Earlier rules applied some of them. */
  readonly ignoresMalformed: boolean;
  /** An answer may be cut to what was spoken or read. Before, a note could not change what is shown. */
  readonly cutsAnswers: boolean;
}

/** The kind of the entries that switch, branch or replace a lane. */
const OPERATION = "ai_context_operation";

export const LANE_RULES: LaneRules = Object.freeze({
  followsOrigins: true,
  ignoresMalformed: true,
  cutsAnswers: true,
});

export const OPERATION_REASONS: readonly unknown[] = ["manual", "restore", "compaction", "system"];

/**
 * Whether an operation that `heddle/1` applies is malformed: its reason is unknown, its base is after the entry, it
 * branches from a missing lane, or into an existing one. `isWritten` says which lanes have entries before it. The default
 * lane may be left before it has any.
 */
export function isMalformedOperation(entry: OperationEntry, isWritten: (lane: string) => boolean): boolean {
  const operation = operationOf(entry);
  if (operation === undefined || (replaceBase(entry) === undefined && switchTarget(entry) === undefined)) return false;
  if (!OPERATION_REASONS.includes(operation["reason"])) return true;
  const { type, baseSeq = -1, from, atSeq } = operation;
  if (type === "replace") return !isSeq(baseSeq) || baseSeq < -1 || baseSeq > entry.seq;
  if (from === undefined && atSeq === undefined) return false;
  const lane = namedLane(entry);
  const isBranch = isName(from) && isSeq(atSeq) && atSeq >= -1 && atSeq < entry.seq;
  return !isBranch || lane === undefined || isWritten(lane) || !(isWritten(from) || from === DEFAULT_LANE);
}

// The log accepts any payload, so these functions treat an operation without valid fields as a plain entry.

/** The lane an entry names, if any. */
export function namedLane({ payload }: Pick<Entry, "payload">): string | undefined {
  const name = payload["contextRef"];
  return isName(name) ? name : undefined;
}

/** The lane that this entry makes active, if any. */
export function switchTarget(entry: OperationEntry): string | undefined {
  return operationOf(entry)?.["type"] === "switch" ? namedLane(entry) : undefined;
}

/** The base of a replace. A replace without a list of messages has none, so that a mistake does not empty a lane. */
export function replaceBase(entry: OperationEntry): number | undefined {
  const operation = operationOf(entry);
  if (operation?.["type"] !== "replace" || contextIn(operation) === undefined) return undefined;
  const { baseSeq = entry.seq } = operation;
  return isSeq(baseSeq) ? Math.min(baseSeq, entry.seq) : undefined;
}

export function readReplace(entry: OperationEntry): Replace | undefined {
  const baseSeq = replaceBase(entry);
  if (baseSeq === undefined) return undefined;
  const context = contextIn(operationOf(entry));
  return context && { baseSeq, ...context };
}

export function readBranch(entry: OperationEntry): Branch | undefined {
  if (switchTarget(entry) === undefined) return undefined;
  const { from, atSeq } = operationOf(entry) ?? {};
  return isName(from) && isSeq(atSeq) && atSeq >= -1 ? { from, atSeq: Math.min(atSeq, entry.seq - 1) } : undefined;
}

/** The last seq that a summary covers, at most its own. Undefined for one without text, which has nothing to show. */
export function summaryReach({ kind, seq, payload }: OperationEntry): number | undefined {
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

function operationOf({ kind, payload }: OperationEntry): JsonObject | undefined {
  if (kind !== OPERATION) return undefined;
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

/** Finds the lane of each entry of a thread. Entries must be read in order. */
export class LaneReader {
  /** The active lane after the last entry that was read. */
  active: string;
  /** Whether the base of a loaded tail was computed with other rules. */
  readonly isUncertain: boolean;
  readonly followsOrigins: boolean;
  readonly cutsAnswers: boolean;
  readonly #rules: LaneRules;
  readonly #written = new Set<string>();
  readonly #base: ThreadBase | undefined;
  readonly #malformed = new Set<Entry>();

  constructor(base: ThreadBase | undefined, rules = LANE_RULES) {
    this.active = base?.activeLane ?? DEFAULT_LANE;
    this.isUncertain = base?.malformed === true && rules.ignoresMalformed;
    this.followsOrigins = rules.followsOrigins;
    this.cutsAnswers = rules.cutsAnswers;
    this.#rules = rules;
    this.#base = base;
  }

  /** The lane of the next entry. */
  read(entry: Entry): string {
    const lane = namedLane(entry) ?? this.active;
    if (entry.kind === OPERATION) this.#readOperation(entry);
    this.#written.add(lane);
    return lane;
  }

  #readOperation(entry: Entry): void {
    if (this.#rules.ignoresMalformed && isMalformedOperation(entry, (name) => this.#isWritten(name))) {
      this.#malformed.add(entry);
    } else {
      this.active = switchTarget(entry) ?? this.active;
    }
  }

  #isWritten(lane: string): boolean {
    return this.#written.has(lane) || laneBaseOf(this.#base, lane) !== undefined;
  }

  /** Whether an entry that was read is a malformed operation, which has no effect. */
  isMalformed(entry: Entry): boolean {
    return this.#malformed.has(entry);
  }
}
