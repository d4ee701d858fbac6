import type { Usage } from "../agent/model-call.ts";
import { utf8Length } from "../thread/encoding.ts";
import type { Entry } from "../thread/entry.ts";
import { isPlainObject, type JsonObject } from "../thread/json.ts";
import type { ThreadCounts } from "./port.ts";
import type { FirstWords, HeadSums, ThreadHead } from "./stored-records.ts";

export const NO_SUMS: HeadSums = Object.freeze({ counts: Object.freeze({ asks: 0, answers: 0 }), first: null });

/** The sums over all entries of a thread. Undefined when its beginning was written by version 0.1, which kept none. */
export function sumsOf({ rev, lanes }: Pick<ThreadHead, "rev" | "lanes">): HeadSums | undefined {
  if (rev === 0) return NO_SUMS;
  return "sums" in lanes ? lanes.sums : undefined;
}

type SummedEntry = Pick<Entry, "seq" | "kind" | "payload">;

/** Whether an entry is a message of the user, and not one that steers a running request. */
function isUserMessage({ kind, payload }: Pick<Entry, "kind" | "payload">): boolean {
  const { role, steer } = payload as JsonObject; // every payload is a JSON object
  return isMessage(kind) && role === "user" && steer === undefined;
}

function isMessage(kind: string): boolean {
  return kind === "ai_message" || kind === "message";
}

/** The sums after one more entry. */
export function sumsAfter(sums: HeadSums, entry: SummedEntry): HeadSums {
  const { role, content } = entry.payload as JsonObject; // every payload is a JSON object
  if (isMessage(entry.kind) && role === "assistant")
    return { ...sums, counts: plus(sums.counts, { asks: 0, answers: 1 }) };
  if (!isUserMessage(entry)) return sums;
  const first = sums.first ?? { seq: entry.seq, ...cutAtWord(textOf(content)) };
  return {
    counts: plus(sums.counts, { asks: 1, answers: 0 }),
    first: first.words === "" ? null : Object.freeze(first),
  };
}

function plus(counts: ThreadCounts | null, { asks, answers }: ThreadCounts): ThreadCounts | null {
  return counts && Object.freeze({ asks: counts.asks + asks, answers: counts.answers + answers });
}

/** The sums without the last entries of the thread. `later` has these, or is undefined when they are too many to count. */
export function sumsBefore(sums: HeadSums, seq: number, later: readonly SummedEntry[] | undefined): HeadSums {
  const first = sums.first !== null && sums.first.seq < seq ? sums.first : null;
  const { counts } = (later ?? []).reduce(sumsAfter, NO_SUMS);
  const isKnown = later !== undefined && counts !== null;
  return { first, counts: isKnown ? plus(sums.counts, { asks: -counts.asks, answers: -counts.answers }) : null };
}

/** Whether stored sums agree with those of the whole thread. A stored part that is null agrees with anything. */
export function areSumsOf(sums: HeadSums, all: HeadSums): boolean {
  const isFirst = sums.first?.seq === all.first?.seq && shownWords(sums.first) === shownWords(all.first);
  const { counts } = sums;
  return isFirst && (counts === null || (counts.asks === all.counts?.asks && counts.answers === all.counts.answers));
}

const MAX_LETTERS = 80;
/** The rest of a long text is not looked at. */
const MAX_READ = 1000;

/** The first words of a message on one line, cut at a word. Empty when it has no text. */
export function firstWords(content: unknown): string {
  return shownWords(cutAtWord(textOf(content)));
}

/** Stored words are without the sign that text was cut: it would make the whole record a string of two bytes a letter. */
export function shownWords(first: Omit<FirstWords, "seq"> | null): string {
  return first === null ? "" : `${first.words}${first.cut === true ? "…" : ""}`;
}

function cutAtWord(whole: string): Omit<FirstWords, "seq"> {
  const text = whole.trimStart();
  const line = text.slice(0, MAX_READ).replaceAll(/\s+/g, " ").trimEnd();
  const letters = [...line];
  if (letters.length <= MAX_LETTERS && text.length <= MAX_READ) return { words: line };
  const start = letters.slice(0, MAX_LETTERS - 1).join("");
  const space = letters[MAX_LETTERS - 1] === " " ? -1 : start.lastIndexOf(" ");
  return { words: (space > 0 ? start.slice(0, space) : start).trimEnd(), cut: true };
}

function textOf(content: unknown): string {
  if (Array.isArray(content)) return content.map(partText).join(" ");
  return typeof content === "string" ? content : "";
}

function partText(part: unknown): string {
  return isPlainObject(part) && typeof part["text"] === "string" ? part["text"] : "";
}

/** The asks or model calls of one UTC day. */
export interface UsageSum extends Required<Omit<Usage, "estimated">> {
  /** Days since 1970. */
  readonly day: number;
  /** Empty for asks. */
  readonly model: string;
  /** How many asks when `model` is empty, else how many calls of the model. */
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
export function usageIn(entries: readonly Entry[], owner: string | null, now: number): readonly CountedUsage[] {
  const counted = entries.flatMap((entry) => sumOf(entry, now) ?? []);
  if (counted.length === 0) return [];
  const sums = new Map<string, UsageSum>();
  for (const sum of counted) sums.set(sum.model, addSums(sums.get(sum.model), sum));
  return [...sums.values()].map((sum) => ({ owner: owner ?? "", sum }));
}

function sumOf(entry: Entry, now: number): UsageSum | undefined {
  if (!CALL_KINDS.has(entry.kind)) return undefined;
  const { call } = entry.payload as JsonObject; // every payload is a JSON object
  if (isUserMessage(entry) && entry.refs["requestId"] !== undefined) return sumOfOne(ASKS, {}, now);
  if (!(isPlainObject(call) && isPlainObject(call["usage"]))) return undefined;
  return sumOfOne(modelName(call["model"]), call["usage"], now);
}

function sumOfOne(model: string, usage: { readonly [Name in keyof Usage]: unknown }, now: number): UsageSum {
  return {
    day: dayOf(now),
    model,
    count: 1,
    inputTokens: tokens(usage.inputTokens),
    outputTokens: tokens(usage.outputTokens),
    cacheReadTokens: tokens(usage.cacheReadTokens),
    cacheWriteTokens: tokens(usage.cacheWriteTokens),
    reasoningTokens: tokens(usage.reasoningTokens),
  };
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
