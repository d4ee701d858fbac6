import { settingName } from "../../lanes/setting.ts";
import type { Entry } from "../../thread/entry.ts";
import { isPlainObject } from "../../thread/json.ts";
import type { LaneBase, LaneBaseOrigin, ThreadBase } from "../../thread/thread-data.ts";

/** Computes the base slowly and simply. The contract compares it with the base that stores compute while they write. */
export function naiveBase(entries: readonly Entry[]): ThreadBase {
  const owners = entries.map((entry, index) => laneOf(entry, entries.slice(0, index)));
  const log = { entries, owners };
  const lanes = [...new Set(owners)].map((lane) => [lane, baseOf(lane, log)] as const);
  const malformed = entries.some((entry, index) => isMalformed(entry, owners.slice(0, index)));
  const settings = newestSettings(entries, undefined);
  return {
    activeLane: activeAfter(entries),
    ...(malformed && { malformed }),
    lanes: Object.fromEntries(lanes),
    ...(settings.length > 0 && { settings }),
  };
}

/** The newest setting of each name, of a lane or of the thread. */
function newestSettings(entries: readonly Entry[], lane: string | undefined): readonly Entry[] {
  return entries.filter((entry, index) => {
    const name = settingName(entry);
    const isOfLevel = (other: Entry): boolean => nameIn(other.payload["contextRef"]) === lane;
    return (
      name !== undefined &&
      isOfLevel(entry) &&
      !entries.slice(index + 1).some((later) => settingName(later) === name && isOfLevel(later))
    );
  });
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

interface Log {
  readonly entries: readonly Entry[];
  /** The lane of each entry. */
  readonly owners: readonly string[];
}

function baseOf(lane: string, log: Log): LaneBase {
  const own = log.entries.filter((_, index) => log.owners[index] === lane);
  const { replace, ...base } = ownBase(own);
  const branched = replace === undefined && branchIn(own[0]) !== undefined;
  const origin = originOf(lane, log);
  const found = newestSettings(log.entries, lane);
  const settings = found.length > 0 ? { settings: found } : {};
  if (origin === undefined) return { ...base, ...(replace && { replace }), ...(branched && { branched }), ...settings };
  if (branched) return { ...base, branched, origin, ...settings };
  const { replace: _replace, summary: _summary, ...position } = origin;
  return { ...base, ...(replace && { replace }), origin: position, ...settings };
}

function ownBase(own: readonly Entry[]): Pick<LaneBase, "measure" | "replace" | "summary"> {
  const measure = own.reduce((sum, { payload }) => sum + Math.floor(bytesOf(payload) / 4), 0);
  const replace = own.findLast((entry) => anchorOf(entry) !== undefined);
  const summary = bestSummary(own);
  return { measure, ...(replace && { replace }), ...(summary && { summary }) };
}

/** Where a lane began as a branch. Unknown if the branch or an operation before it is malformed. */
function originOf(lane: string, { entries, owners }: Log): LaneBaseOrigin | undefined {
  const start = owners.indexOf(lane);
  const before = { entries: entries.slice(0, start), owners: owners.slice(0, start) };
  const isBroken = entries.slice(0, start + 1).some((entry, index) => isMalformed(entry, owners.slice(0, index)));
  let position = isBroken ? undefined : branchIn(entries[start]);
  if (position === undefined) return undefined;
  let isFollowed = false;
  for (let last = start; ; isFollowed = true) {
    const first = before.owners.indexOf(position.from);
    const origin = branchIn(before.entries[first]);
    if (origin === undefined || first <= position.atSeq || first >= last) break;
    position = { from: origin.from, atSeq: Math.min(position.atSeq, origin.atSeq) };
    last = first;
  }
  const { from, atSeq } = position;
  const { followed = isFollowed, ...inherited } = stateAt(from, atSeq, before);
  return { lane: from, seq: atSeq, ...inherited, ...(followed && { followed }) };
}

/** The state of a lane at a seq: its own summary and replace, and without a replace those of its origin. */
function stateAt(lane: string, atSeq: number, { entries, owners }: Log): Omit<LaneBaseOrigin, "lane" | "seq"> {
  const own = ownBase(entries.filter(({ seq }) => seq <= atSeq && owners[seq] === lane));
  const isWritten = owners.slice(0, atSeq + 1).includes(lane);
  const origin = isWritten ? originOf(lane, { entries, owners }) : undefined;
  if (origin === undefined) return own;
  const measure = own.measure + origin.measure;
  if (own.replace !== undefined) return { ...own, measure };
  const { replace, followed } = origin;
  const reach = (entry: Entry | undefined): number => (entry && reachOf(entry)) ?? -2;
  const summary = reach(own.summary) >= reach(origin.summary) ? own.summary : origin.summary;
  return { measure, ...(replace && { replace }), ...(summary && { summary }), ...(followed && { followed }) };
}

/** The branch that a lane begins with, if its first entry is a switch that names the source lane and a seq. */
function branchIn(first: Entry | undefined): { readonly from: string; readonly atSeq: number } | undefined {
  const { type, from, atSeq } = (first && operationOf(first)) ?? {};
  const source = nameIn(from);
  const isBranch = type === "switch" && nameIn(first?.payload["contextRef"]) !== undefined && source !== undefined;
  return isBranch && Number.isSafeInteger(atSeq) && Number(atSeq) >= -1
    ? { from: source, atSeq: Number(atSeq) }
    : undefined;
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
