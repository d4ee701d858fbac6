import type { Usage } from "../agent/model-call.ts";
import { utf8Length } from "../thread/encoding.ts";
import type { Entry } from "../thread/entry.ts";
import { isPlainObject, type JsonObject } from "../thread/json.ts";
import { isUserMessage } from "./thread-sums.ts";

/** The asks or model calls of one UTC day. */
export interface UsageSum extends Required<Usage> {
  /** Days since 1970. */
  readonly day: number;
  /** Empty for asks. */
  readonly model: string;
  /** How many asks or calls. */
  readonly count: number;
}

/** A sum that a thread adds to. */
export interface CountedUsage {
  /** Empty when the thread has none. */
  readonly owner: string;
  readonly sum: UsageSum;
}

/** Which sums to add up. */
export interface UsageQuery {
  readonly owner: string | undefined;
  readonly threadId: string | undefined;
  /** The first and the last day, both inclusive. */
  readonly from: number;
  readonly to: number;
}

/** The sum of both, for the day and model of the second one. */
export function addSums(a: UsageSum | undefined, b: UsageSum): UsageSum {
  if (a === undefined) return b;
  return {
    day: b.day,
    model: b.model,
    count: a.count + b.count,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  };
}

/** The `model` of the sum that counts asks. No model has this name. */
export const ASKS = "";

const DAY_MS = 86_400_000;

/** The UTC day of a time, in days since 1970. */
export function dayOf(time: number): number {
  return Math.floor(time / DAY_MS);
}

/** The UTC day as text: `2026-11-22`. */
export function dayText(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, -14);
}

/** The kinds of entries that may contain the record of a model call. */
const CALL_KINDS: ReadonlySet<string> = new Set(["ai_message", "message", "error", "note", "summary"]);

/** The asks and model calls that these entries add to the sums. Empty when there is none, so that other appends cost nothing. */
export function usageIn(
  entries: readonly Entry[],
  owner: string | null,
  now: number,
): { readonly usage?: readonly CountedUsage[] } {
  const sums = new Map<string, UsageSum>();
  for (const entry of entries) {
    if (!CALL_KINDS.has(entry.kind)) continue;
    const { call } = entry.payload as JsonObject; // every payload is a JSON object
    if (isUserMessage(entry) && entry.refs["requestId"] !== undefined) addTo(sums, ASKS, {}, now);
    else if (isPlainObject(call) && isPlainObject(call["usage"]))
      addTo(sums, modelName(call["model"]), call["usage"], now);
  }
  return sums.size === 0 ? {} : { usage: [...sums.values()].map((sum) => ({ owner: owner ?? "", sum })) };
}

function addTo(
  sums: Map<string, UsageSum>,
  model: string,
  usage: { readonly [Name in keyof Usage]: unknown },
  now: number,
): void {
  const sum: UsageSum = {
    day: dayOf(now),
    model,
    count: 1,
    inputTokens: tokens(usage.inputTokens),
    outputTokens: tokens(usage.outputTokens),
    cacheReadTokens: tokens(usage.cacheReadTokens),
    cacheWriteTokens: tokens(usage.cacheWriteTokens),
    reasoningTokens: tokens(usage.reasoningTokens),
  };
  sums.set(model, addSums(sums.get(model), sum));
}

/** No call has more tokens. The limit keeps a forged count from making the sums overflow, which would refuse appends. */
const MAX_TOKENS = 1e9;

function tokens(count: unknown): number {
  return Number.isInteger(count) && Number(count) >= 0 && Number(count) <= MAX_TOKENS ? Number(count) : 0;
}

/** Postgres limits the size of a key. Longer names are counted as "unknown". */
const MAX_MODEL_BYTES = 200;

function modelName(model: unknown): string {
  const isName = typeof model === "string" && model !== ASKS && !/\p{Cc}/u.test(model);
  return isName && utf8Length(model) <= MAX_MODEL_BYTES ? model : "unknown";
}
