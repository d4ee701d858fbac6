import type { Entry } from "../../thread/entry.ts";
import { isPlainObject } from "../../thread/json.ts";
import type { LaneBase, ThreadBase } from "../../thread/thread-data.ts";

/** Computes the base slowly and simply. The contract compares it with the base that stores compute while they write. */
export function naiveBase(entries: readonly Entry[]): ThreadBase {
  const owners = entries.map((entry, index) => laneOf(entry, entries.slice(0, index)));
  const lanes = [...new Set(owners)].map(
    (lane) => [lane, baseOf(entries.filter((_, i) => owners[i] === lane))] as const,
  );
  const malformed = entries.some((entry, index) => isMalformed(entry, owners.slice(0, index)));
  return { activeLane: activeAfter(entries), ...(malformed && { malformed }), lanes: Object.fromEntries(lanes) };
}

const REASONS: readonly unknown[] = ["manual", "restore", "compaction", "system"];

/**
 * Whether an operation has an effect here, but none since projector heddle/1.1, because a field is invalid. `before`
 * are the lanes with entries.
 */
function isMalformed(entry: Entry, before: readonly string[]): boolean {
  const { type, reason, baseSeq, from, atSeq } = operationOf(entry) ?? {};
  const lane = nameIn(entry.payload["contextRef"]);
  if (type === "replace" ? anchorOf(entry) === undefined : type !== "switch" || lane === undefined) return false;
  if (!REASONS.includes(reason)) return true;
  if (type === "replace") return baseSeq !== undefined && (Number(baseSeq) < -1 || Number(baseSeq) > entry.seq);
  if (from === undefined && atSeq === undefined) return false;
  const leaves = Number.isSafeInteger(atSeq) && Number(atSeq) >= -1 && Number(atSeq) < entry.seq;
  return !leaves || !["default", ...before].includes(String(from)) || before.includes(String(lane));
}

/** Returns the lane that an entry names, else the active lane before it. */
function laneOf({ payload }: Entry, before: readonly Entry[]): string {
  return nameIn(payload["contextRef"]) ?? activeAfter(before);
}

/** Returns the target lane of the last switch. */
function activeAfter(entries: readonly Entry[]): string {
  const targets = entries.flatMap((entry) =>
    operationOf(entry)?.["type"] === "switch" ? (nameIn(entry.payload["contextRef"]) ?? []) : [],
  );
  return targets.at(-1) ?? "default";
}

function baseOf(lane: readonly Entry[]): LaneBase {
  const measure = lane.reduce((sum, { payload }) => sum + Math.floor(bytesOf(payload) / 4), 0);
  const replace = lane.findLast((entry) => anchorOf(entry) !== undefined);
  const summary = bestSummary(lane);
  const branched = replace === undefined && isBranch(lane[0]);
  return { measure, ...(replace && { replace }), ...(summary && { summary }), ...(branched && { branched }) };
}

/** Whether the first entry of a lane is a switch that creates a branch: it names the source lane and a seq. */
function isBranch(first: Entry | undefined): boolean {
  const { type, from, atSeq } = (first && operationOf(first)) ?? {};
  const names = nameIn(first?.payload["contextRef"]) !== undefined;
  return type === "switch" && names && nameIn(from) !== undefined && Number.isSafeInteger(atSeq) && Number(atSeq) >= -1;
}

/**
 * Returns the summary that covers up to the latest seq, and of equal ones the newest. Discarded summaries do not count.
 */
function bestSummary(lane: readonly Entry[]): Entry | undefined {
  const standing = lane.filter((entry) => reachOf(entry) !== undefined && !isDiscarded(entry, lane));
  const furthest = Math.max(...standing.map((entry) => reachOf(entry) ?? -1));
  return standing.findLast((entry) => reachOf(entry) === furthest);
}

/**
 * Returns whether a `replace` of the lane discards the summary, because the summary ends at or before the base of that
 * replace. It looks at the replaces after the summary, and at the last one before it.
 */
function isDiscarded(summary: Entry, lane: readonly Entry[]): boolean {
  const replaces = lane.filter((entry) => anchorOf(entry) !== undefined);
  const inForce = replaces.findLast(({ seq }) => seq < summary.seq);
  const facing = [...(inForce ? [inForce] : []), ...replaces.filter(({ seq }) => seq > summary.seq)];
  return facing.some((replace) => (reachOf(summary) ?? -1) <= (anchorOf(replace) ?? -1));
}

/**
 * Returns the last seq that a summary covers: its toSeq, but not beyond its own seq. Undefined if the summary is
 * invalid.
 */
function reachOf({ kind, seq, payload }: Entry): number | undefined {
  const toSeq = payload["toSeq"];
  const isSummary = kind === "summary" && typeof payload["content"] === "string";
  return isSummary && Number.isSafeInteger(toSeq) ? Math.min(Number(toSeq), seq) : undefined;
}

/** Returns the base seq of a `replace`, by default its own seq. Undefined if it has no list of messages. */
function anchorOf(entry: Entry): number | undefined {
  const operation = operationOf(entry);
  if (operation?.["type"] !== "replace") return undefined;
  const { baseSeq = entry.seq, resultContext } = operation;
  if (!isPlainObject(resultContext) || !Array.isArray(resultContext["entries"])) return undefined;
  return Number.isSafeInteger(baseSeq) ? Math.min(Number(baseSeq), entry.seq) : undefined;
}

function operationOf({ kind, payload }: Entry): { readonly [key: string]: unknown } | undefined {
  const operation = payload["operation"];
  return kind === "ai_context_operation" && isPlainObject(operation) ? operation : undefined;
}

function nameIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function bytesOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}
