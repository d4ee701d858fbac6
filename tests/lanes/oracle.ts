import type { Entry, JsonObject } from "heddle";
import type { LaneState, LaneTrack } from "../../src/lanes/track.ts";

/** What the oracle reads: an entry with its measure. */
export type Measured = Pick<Entry, "seq" | "kind" | "payload"> & { readonly measure: number };

/** The track of a whole list, from the rules and not from the track before: slow, and obvious. */
export function trackOf(log: readonly Measured[]): LaneTrack {
  const placed = log.map((entry, index) => ({ ...entry, lane: namedLane(entry) ?? activeAt(log, index) }));
  const names = [...new Set(placed.map(({ lane }) => lane))];
  const malformed = placed.some((entry, index) =>
    isMalformed(
      entry,
      placed.slice(0, index).map(({ lane }) => lane),
    ),
  );
  return {
    active: activeAt(log, log.length),
    ...(malformed && { malformed }),
    lanes: Object.fromEntries(names.map((name) => [name, stateOf(placed.filter(({ lane }) => lane === name))])),
  };
}

const REASONS: readonly unknown[] = ["manual", "restore", "compaction", "system"];

/** An operation that counts here, and not for projector heddle/1.1; `before` are the lanes that have entries. */
function isMalformed(entry: Measured, before: readonly string[]): boolean {
  const { type, reason, baseSeq, resultContext, from, atSeq } = operation(entry) ?? {};
  const context = resultContext as { readonly entries?: unknown } | null | undefined;
  const isReplace =
    type === "replace" && Array.isArray(context?.entries) && (baseSeq === undefined || Number.isSafeInteger(baseSeq));
  const lane = namedLane(entry);
  if (!isReplace && (type !== "switch" || lane === undefined)) return false;
  if (!REASONS.includes(reason)) return true;
  if (isReplace) return baseSeq !== undefined && (Number(baseSeq) < -1 || Number(baseSeq) > entry.seq);
  if (from === undefined && atSeq === undefined) return false;
  const leaves = Number.isSafeInteger(atSeq) && Number(atSeq) >= -1 && Number(atSeq) < entry.seq;
  const isThere = from === "default" || before.some((lane) => lane === from);
  return !leaves || !isThere || before.some((other) => other === lane);
}

function activeAt(log: readonly Measured[], end: number): string {
  const lastSwitch = log.slice(0, end).findLast((entry) => operation(entry)?.["type"] === "switch" && namedLane(entry));
  return (lastSwitch && namedLane(lastSwitch)) ?? "default";
}

function namedLane({ payload }: Measured): string | undefined {
  const name = payload["contextRef"];
  return typeof name === "string" && name.length > 0 ? name : undefined;
}

function operation({ kind, payload }: Measured): JsonObject | undefined {
  const value = kind === "ai_context_operation" ? payload["operation"] : undefined;
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

function stateOf(lane: readonly Measured[]): LaneState {
  const replaces = lane.flatMap((entry) => {
    const { type, baseSeq = entry.seq, resultContext } = operation(entry) ?? {};
    const context = resultContext as { readonly entries?: unknown } | null | undefined;
    return type === "replace" && Array.isArray(context?.entries) && Number.isSafeInteger(baseSeq)
      ? [{ seq: entry.seq, base: Math.min(Number(baseSeq), entry.seq) }]
      : [];
  });
  const summaries = lane.flatMap(({ kind, seq, payload }) => {
    const { toSeq, content } = payload;
    return kind === "summary" && typeof content === "string" && Number.isSafeInteger(toSeq)
      ? [{ seq, to: Math.min(Number(toSeq), seq) }]
      : [];
  });
  const standing = summaries.filter(({ seq, to }) => {
    const before = replaces.findLast((replace) => replace.seq < seq);
    const since = replaces.filter((replace) => replace.seq > seq);
    return to >= -1 && [...(before ? [before] : []), ...since].every(({ base }) => to > base);
  });
  const [best] = standing.toSorted((a, b) => b.to - a.to || b.seq - a.seq);
  const anchor = replaces.at(-1);
  const { type, from, atSeq } = (lane[0] && operation(lane[0])) ?? {};
  const isBranch =
    type === "switch" &&
    lane[0] !== undefined &&
    namedLane(lane[0]) !== undefined &&
    typeof from === "string" &&
    from !== "" &&
    Number.isSafeInteger(atSeq);
  const branched = isBranch && Number(atSeq) >= -1 && anchor === undefined;
  return {
    measure: lane.reduce((sum, { measure }) => sum + measure, 0),
    ...(anchor && { replaceSeq: anchor.seq, replaceBase: anchor.base }),
    ...(best && { summarySeq: best.seq, summaryTo: best.to }),
    ...(branched && { branched }),
  };
}
