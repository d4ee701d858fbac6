import { foldLane } from "../../lanes/fold-lane.ts";
import { ProjectionError } from "../../projection/error.ts";
import { settingsOf } from "../../projection/input/input.ts";
import type { ContextPolicy } from "../../projection/policy/policy.ts";
import { firstSummaryRange, type SummaryRange, summaryLimit } from "../../projection/summary/summary-range.ts";
import { otherTokens, recordTokens } from "../../projection/summary/summary-record.ts";
import type { Entry } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import { summaryReach } from "../../thread/lane-operations.ts";
import type { Thread } from "../../thread/thread.ts";
import type { FailedSummary } from "../signal.ts";
import type { ReactAgent } from "./agent.ts";
import { counterFor, currentModel, heldFor, systemPromptOf, toolsFor } from "./call-context.ts";

/** The next summary to write: of a whole range, or of its first piece if the range is too long for one call. */
export interface SummaryPlan {
  readonly range: SummaryRange;
  /** The token limit of the request to the summarizer, with the instructions and the summary before it. Longer texts are shortened. */
  readonly maxTokens: number;
  /** Whether more pieces of the range follow. */
  readonly isPart: boolean;
  /**
   * Whether to summarize the piece now. After a failure, a piece of another size is tried at once. The same piece is tried again
   * after a delay that grows.
   */
  readonly isDue: boolean;
}

/** A failed or discarded summary, from its note in the log. */
type SummaryFailure = FailedSummary & { readonly seq: number };

/** The smallest window to assume for a summarizer, because the instructions alone need about 700 tokens. */
const SMALLEST_WINDOW = 8000;
/** The largest window to use, which limits the cost of one call. */
const LARGEST_WINDOW = 100_000;
/** The rest of the window is for instructions, the answer, and texts with more tokens than estimated. */
const SHARE = 0.5;

/** Attempts for one piece, each with half the size, before it is skipped. */
const ATTEMPTS = 5;
/** New entries before the next attempt. Doubles with each failure, up to 64 times this number. */
const WAIT = 8;

/** Failures after which a smaller piece is tried at once. */
const FIXED_BY_SMALLER_RANGE: ReadonlySet<string> = new Set([
  "model_context_too_long",
  "model_refused",
  "model_bad_request",
  "model_answer_too_large",
  "summary_too_long",
]);

interface SummaryTarget {
  readonly toSeq: number;
  readonly policy: ContextPolicy;
  /** A caller asked for the summary: try it now, even after failures. Default false. */
  readonly isAsked?: boolean;
}

/** The next summary towards `toSeq`. Undefined when there is nothing to summarize, or not now. */
export function summaryPlan(
  agent: ReactAgent,
  lane: string,
  { toSeq, policy, isAsked = false }: SummaryTarget,
): SummaryPlan | undefined {
  const { thread, settings } = agent;
  const input = { thread, lane, model: currentModel(agent), readers: settings.readers };
  const { failures, before } = failuresSince(thread, lane);
  const shrinking = failures.filter(isShrinking);
  const growing = failures.filter(({ code }) => code === NOT_SMALLER);
  const isDue = isAfter(failures.at(-1), before + failures.length, toSeq, thread);
  if (!isAsked && !isDue) return undefined; // return before more entries have to be loaded
  const full = roomFor(agent, policy);
  const maxSummaryTokens = longestSummary(agent, policy);
  const whole = firstSummaryRange(input, toSeq, { requestTokens: full, maxSummaryTokens });
  if (whole === undefined) {
    mustReach(toSeq, thread, lane);
    return undefined;
  }
  if (whole.messages.length > 0) mustReachBack(whole, thread, lane);
  const maxTokens = shrinking.reduce((most, { tokens }) => Math.max(1, Math.floor(Math.min(most, tokens) / 2)), full);
  const leastToSeq = growing.reduce((least, failure) => Math.max(least, twiceAsFar(failure)), -1);
  const limits = { maxTokens, requestTokens: full, leastToSeq, maxSummaryTokens };
  const range = failures.length === 0 ? whole : (firstSummaryRange(input, toSeq, limits) ?? whole);
  return {
    range,
    maxTokens: Math.min(full, Math.max(SMALLEST_REQUEST, maxTokens + otherTokens(range.previous, full))),
    isPart: range.toSeq < toSeq,
    isDue,
  };
}

function longestSummary(agent: ReactAgent, policy: ContextPolicy): number {
  const { thread, settings, state } = agent;
  const held = heldFor(agent);
  const model = currentModel(agent);
  const tokenCounter = counterFor(policy, { ...settings, model }, thread);
  const tools = toolsFor(agent, state.run?.options ?? {}, held);
  return summaryLimit(settingsOf({ thread, policy, model, tokenCounter, tools, system: systemPromptOf(agent, held) }));
}

/** With a lower limit a request would contain no text at all. */
const SMALLEST_REQUEST = 1000;

function roomFor({ settings }: ReactAgent, { summarizationModel, maxInputTokens }: ContextPolicy): number {
  const window = settings.summaryWindow?.(summarizationModel) ?? maxInputTokens;
  return Math.floor(Math.min(LARGEST_WINDOW, Math.max(SMALLEST_WINDOW, window)) * SHARE);
}

/** The number of failed attempts, if the range has failed so often that it should be skipped; else undefined. */
export function failuresIfHopeless(thread: Thread, lane: string): number | undefined {
  const { failures, before } = failuresSince(thread, lane);
  const growing = failures.filter(({ code }) => code === NOT_SMALLER).length;
  const isHopeless = Math.max(failures.filter(isShrinking).length, growing) >= ATTEMPTS;
  return isHopeless ? before + failures.length : undefined;
}

/** A range without messages, for a shorter summary, cannot be smaller. */
function isShrinking({ code, tokens }: SummaryFailure): boolean {
  return FIXED_BY_SMALLER_RANGE.has(code) && tokens > 0;
}

/** The failure of a summary that is not smaller than its range. A longer range is tried next. */
export const NOT_SMALLER = "summary_not_smaller";

/** A caller has cancelled the summary. It says nothing of the next attempt. */
export const CANCELLED = "summary_cancelled";

function twiceAsFar({ fromSeq, toSeq }: SummaryFailure): number {
  return fromSeq + 2 * (toSeq - fromSeq + 1) - 1;
}

/** Whether to retry after the last of `count` failures. */
function isAfter(last: SummaryFailure | undefined, count: number, toSeq: number, thread: Thread): boolean {
  if (last === undefined) return true;
  if (isShrinking(last)) return isOver(last, Math.max(0, count - ATTEMPTS + 1), thread);
  if (last.code !== NOT_SMALLER) return isOver(last, count, thread);
  return toSeq >= twiceAsFar(last);
}

function isOver({ seq }: SummaryFailure, doublings: number, { lastSeq }: Thread): boolean {
  return doublings === 0 || lastSeq - seq >= WAIT * 2 ** Math.min(6, doublings - 1);
}

/**
 * The failed summaries since the lane's last summary or replace. After several failures, a placeholder takes the place of the
 * summary. `before` is the number of failures before that one. Failures before a replace do not count, because their messages
 * left the context.
 */
function failuresSince(
  thread: Thread,
  lane: string,
): { readonly failures: readonly SummaryFailure[]; readonly before: number } {
  const summary = thread
    .filterByKind("summary", { partial: true })
    .findLast(({ payload: { contextRef = lane } }) => contextRef === lane);
  const { skipped } = (summary?.payload ?? {}) as JsonObject; // every payload is a JSON object
  const before = isPlainObject(skipped) && typeof skipped["failures"] === "number" ? skipped["failures"] : 0;
  const failures = thread.filterByKind("note", { partial: true }).flatMap(({ seq, payload }) => {
    const failed = payload["summaryFailed"];
    const isOfLane = isPlainObject(failed) && failed["code"] !== CANCELLED && payload["contextRef"] === lane;
    return seq > (summary?.seq ?? -1) && isOfLane
      ? [{ seq, ...(failed as FailedSummary) }] // the agent wrote this note
      : [];
  });
  if (failures.length === 0 && before === 0) return { failures, before };
  const replaceSeq = foldLane(thread, lane).anchor?.seq ?? -1;
  return {
    failures: failures.filter(({ seq }) => seq > replaceSeq),
    before: summary !== undefined && summary.seq > replaceSeq ? before : 0,
  };
}

/** Whether an entry is a summary of the lane that covers the entry with this seq. */
export function isSummaryOf(entry: Entry, lane: string, seq: number): boolean {
  const { contextRef = lane } = entry.payload as JsonObject; // every payload is a JSON object
  return contextRef === lane && (summaryReach(entry) ?? -1) >= seq;
}

/** The content of the note about a failed summary. */
export function failedSummary({ fromSeq, toSeq, messages }: SummaryRange, code: string): FailedSummary {
  return { fromSeq, toSeq, code, tokens: recordTokens(messages) };
}

/** A placeholder for a piece that could not be summarized: counts of messages and names of tools, without their content. */
export function gapText({ fromSeq, toSeq, messages, previous }: SummaryRange): string {
  const count = (role: string): number => messages.filter((message) => message.role === role).length;
  const tools = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  const names = [...new Set(tools.map(({ name }) => name))].slice(0, 10).map((name) => JSON.stringify(name));
  const called = names.length === 0 ? "" : `, with calls of ${names.join(", ")}`;
  const gap = `Entries ${fromSeq} to ${toSeq} could not be summarized and are missing here: ${count("user")} messages of the user and ${count("assistant")} of the assistant${called}.`;
  return previous === undefined ? gap : `${previous.content}\n\n${gap}`;
}

/** The number of rows to load before the edge, enough for an exchange. */
const EXCHANGE_ROWS = 64;

/** "Nothing to summarize" is certain only if the loaded entries reach back far enough. */
function mustReach(toSeq: number, thread: Thread, lane: string): void {
  const neededFromSeq = Math.max(0, toSeq - EXCHANGE_ROWS);
  if (thread.firstSeq <= neededFromSeq || foldLane(thread, lane).complete) return;
  throw tooShort(neededFromSeq, "The summary ends before the entries loaded.");
}

/** A summary must not start at the first loaded entry by chance, because earlier entries would be lost. */
function mustReachBack({ previous }: SummaryRange, thread: Thread, lane: string): void {
  const { firstSeq } = thread;
  if (firstSeq === 0 || (previous !== undefined && previous.toSeq >= firstSeq - 1)) return;
  if (foldLane(thread, lane).complete) return;
  throw tooShort(previous === undefined ? 0 : previous.toSeq + 1, "The summary begins before the entries loaded.");
}

function tooShort(neededFromSeq: number, why: string): ProjectionError {
  const message = `${why} Load the thread from seq ${neededFromSeq}.`;
  return new ProjectionError({ code: "tail_too_short", message, neededFromSeq });
}
