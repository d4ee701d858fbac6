import type { ProjectionView } from "../projection/projection.ts";
import type { Entry } from "../thread/entry.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";
import type { CallRecord, Usage } from "./model-call.ts";

/** Marks a record without its usual values. A record of an earlier version has all values, and no mark. */
const FORM = 2;

// These never change, because stored records lack them. Any other value is written in full.
const COUNTER = Object.freeze({ id: "heuristic", version: "1" });
const LISTS = ["headSeqs", "cleared", "thinkingDropped"] as const;
const COUNTS = ["cacheReadTokens", "cacheWriteTokens", "reasoningTokens"] as const;

/** The record as `payload.call` has it on this lane: without the values that most records have. */
export function storedCall(record: CallRecord, contextRef: string): JsonObject {
  const { basisRev, lane, counter, calibration, view, usage, ...own } = record;
  const isUsualCounter = counter.id === COUNTER.id && counter.version === COUNTER.version;
  const shown = storedView(view);
  return {
    v: FORM,
    ...own,
    ...(basisRev !== own.basisLastSeq + 1 && { basisRev }),
    ...(lane !== contextRef && { lane }),
    ...(!isUsualCounter && { counter }),
    ...(calibration !== 1 && { calibration }),
    ...(Object.keys(shown).length > 0 && { view: shown }),
    usage: storedUsage(usage),
  };
}

/** A view from entry 0 is usual. Null stands for one without history. */
function storedView({ headSeqs, cleared, thinkingDropped, startSeq, ...own }: ProjectionView): JsonObject {
  return {
    ...(startSeq !== 0 && { startSeq: startSeq ?? null }),
    ...own,
    ...(headSeqs.length > 0 && { headSeqs }),
    ...(cleared.length > 0 && { cleared }),
    ...(thinkingDropped.length > 0 && { thinkingDropped }),
  };
}

/** Of these counts, 0 is usual. Null stands for one that was not reported. */
function storedUsage(usage: Usage): JsonObject {
  const counts = COUNTS.map((name) => [name, usage[name] ?? null] as const).filter(([, count]) => count !== 0);
  const { cacheReadTokens, cacheWriteTokens, reasoningTokens, ...own } = usage;
  return { ...own, ...Object.fromEntries(counts) };
}

/**
 * The record of the model call that made an entry. `payload.call` lacks values that most records have; this adds them.
 * A summary and an entry of your own loop have only some of the fields.
 *
 * @example
 * for (const entry of thread.toArray()) console.log(recordedCall(entry)?.view?.startSeq);
 */
export function recordedCall({ payload }: Pick<Entry, "payload">): Partial<CallRecord> | undefined {
  const { call, contextRef } = payload as JsonObject; // every payload is a JSON object
  if (!isPlainObject(call)) return undefined;
  const { v, ...own } = call as JsonObject; // a part of a payload
  if (v !== FORM) return call as Partial<CallRecord>; // written by Heddle
  const usual = { basisRev: Number(own["basisLastSeq"]) + 1, lane: contextRef, counter: COUNTER, calibration: 1 };
  const parts = { view: wholeView(own["view"]), usage: wholeUsage(own["usage"]) };
  return { ...usual, ...own, ...parts } as unknown as CallRecord; // as above
}

function wholeView(stored: JsonValue | undefined): JsonObject {
  const { startSeq = 0, ...own } = isPlainObject(stored) ? (stored as JsonObject) : {}; // a part of a payload
  return { ...(startSeq !== null && { startSeq }), ...Object.fromEntries(LISTS.map((name) => [name, []])), ...own };
}

function wholeUsage(stored: JsonValue | undefined): JsonObject {
  const counts = isPlainObject(stored) ? stored : {};
  const whole = { ...Object.fromEntries(COUNTS.map((name) => [name, 0])), ...counts } as JsonObject; // a part of a payload
  return Object.fromEntries(Object.entries(whole).filter(([, count]) => count !== null));
}
