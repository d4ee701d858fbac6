import { foldLane } from "../../lanes/fold-lane.ts";
import { ProjectionError } from "../../projection/error.ts";
import type { ContextPolicy } from "../../projection/policy/fields.ts";
import type { SummaryRange } from "../../projection/summarise/range.ts";
import { firstPieceOf } from "../../projection/summarise/range-of.ts";
import { recordTokens } from "../../projection/summarise/request.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { Thread } from "../../thread/thread.ts";
import type { FailedSummary } from "../signal.ts";
import type { ReactAgent } from "./agent.ts";

/** One summary to be written: of a whole stretch, or of its first piece where the stretch is too long for one call. */
export interface SummaryPlan {
  readonly range: SummaryRange;
  /** What the request to the summarizer may take: longer texts are shortened for it. */
  readonly maxTokens: number;
  /** Whether more is left of the stretch. */
  readonly isPart: boolean;
  /** Whether it may be tried now: in smaller or larger pieces at once, else less and less often. */
  readonly isDue: boolean;
}

/** A summary that was not written or was discarded, as its note in the log tells. */
type SummaryFailure = FailedSummary & { readonly seq: number };

/** The window of a summarizer counts as this at least, because the instructions alone take some 700 tokens. */
const SMALLEST_WINDOW = 8000;
/** More in one call costs more than most people expect. */
const LARGEST_WINDOW = 100_000;
/** For instructions, the answer, and texts that have more tokens than four bytes each. */
const SHARE = 0.5;

/** Attempts at one piece, each with half of what failed, before it is given up. */
const ATTEMPTS = 5;
/** Entries before the next attempt, doubled with each failure up to 64 times as many. */
const WAIT = 8;

/** Failures that a smaller piece may cure: it is tried at once. */
const CURED_BY_LESS: ReadonlySet<string> = new Set([
  "model_context_too_long",
  "model_refused",
  "model_bad_request",
  "model_answer_too_large",
]);

interface Wanted {
  readonly toSeq: number;
  readonly policy: ContextPolicy;
  /** A caller asks for it: now, whatever has failed before. */
  readonly isAsked?: boolean;
}

/** The next summary on the way to `toSeq`; undefined when there is nothing to summarize up to there, or not now. */
export function summaryPlan(
  agent: ReactAgent,
  lane: string,
  { toSeq, policy, isAsked = false }: Wanted,
): SummaryPlan | undefined {
  const { thread, settings } = agent;
  const input = { thread, lane, model: settings.model, readers: settings.readers };
  const { failures, before } = failuresSince(thread, lane);
  const shrinking = failures.filter(isShrinking);
  const growing = failures.filter(({ code }) => code === NOT_SMALLER);
  const isDue = isAfter(failures.at(-1), before + failures.length, toSeq, thread);
  if (!isAsked && !isDue) return undefined; // before anything is loaded for it
  const full = roomFor(agent, policy);
  const whole = firstPieceOf(input, toSeq, { maxTokens: full });
  if (whole === undefined) {
    mustReach(toSeq, thread, lane);
    return undefined;
  }
  mustReachBack(whole, thread, lane);
  const maxTokens = shrinking.reduce((most, { tokens }) => Math.max(1, Math.floor(Math.min(most, tokens) / 2)), full);
  const leastToSeq = growing.reduce((least, failure) => Math.max(least, twiceAsFar(failure)), -1);
  const range = failures.length === 0 ? whole : (firstPieceOf(input, toSeq, { maxTokens, leastToSeq }) ?? whole);
  return {
    range,
    maxTokens: Math.max(SMALLEST_REQUEST, maxTokens),
    isPart: range.toSeq < toSeq,
    isDue,
  };
}

/** A request with less room would have no text at all. */
const SMALLEST_REQUEST = 1000;

function roomFor({ settings }: ReactAgent, { summarizationModel, maxInputTokens }: ContextPolicy): number {
  const window = settings.summaryWindow?.(summarizationModel) ?? maxInputTokens;
  return Math.floor(Math.min(LARGEST_WINDOW, Math.max(SMALLEST_WINDOW, window)) * SHARE);
}

/** How many attempts have failed, where a stretch has failed so often for its own sake that it can only be skipped. */
export function failuresIfHopeless(thread: Thread, lane: string): number | undefined {
  const { failures, before } = failuresSince(thread, lane);
  const growing = failures.filter(({ code }) => code === NOT_SMALLER).length;
  const isHopeless = Math.max(failures.filter(isShrinking).length, growing) >= ATTEMPTS;
  return isHopeless ? before + failures.length : undefined;
}

function isShrinking({ code }: SummaryFailure): boolean {
  return CURED_BY_LESS.has(code);
}

/** Of a short stretch: a longer one cures it. */
export const NOT_SMALLER = "summary_not_smaller";

function twiceAsFar({ fromSeq, toSeq }: SummaryFailure): number {
  return fromSeq + 2 * (toSeq - fromSeq + 1) - 1;
}

/** Whether enough has happened since the last of so many failures. */
function isAfter(last: SummaryFailure | undefined, count: number, toSeq: number, thread: Thread): boolean {
  if (last === undefined) return true;
  if (isShrinking(last)) return isOver(last, Math.max(0, count - ATTEMPTS + 1), thread);
  if (last.code !== NOT_SMALLER) return isOver(last, count, thread);
  return toSeq >= twiceAsFar(last);
}

function isOver({ seq }: SummaryFailure, doublings: number, { lastSeq }: Thread): boolean {
  return doublings === 0 || lastSeq - seq >= WAIT * 2 ** Math.min(6, doublings - 1);
}

/** What failed on a lane since its last summary, so all of one stretch; and before that, where it stands for a gap, which no one has written. */
function failuresSince(
  thread: Thread,
  lane: string,
): { readonly failures: readonly SummaryFailure[]; readonly before: number } {
  const summary = thread.filterByKind("summary").findLast(({ payload: { contextRef = lane } }) => contextRef === lane);
  const { skipped } = (summary?.payload ?? {}) as JsonObject; // payloads are JSON
  const failures = thread.filterByKind("note").flatMap(({ seq, payload }) => {
    const failed = payload["summaryFailed"];
    return seq > (summary?.seq ?? -1) && isPlainObject(failed) && payload["contextRef"] === lane
      ? [{ seq, ...(failed as FailedSummary) }] // written by us
      : [];
  });
  const before = isPlainObject(skipped) && typeof skipped["failures"] === "number" ? skipped["failures"] : 0;
  return { failures, before };
}

/** What a note keeps of a range whose summary failed. */
export function failedSummary({ fromSeq, toSeq, messages }: SummaryRange, code: string): FailedSummary {
  return { fromSeq, toSeq, code, tokens: recordTokens(messages) };
}

/** What stands for a piece that no summarizer could take: who spoke and which tools were called, and nothing they said. */
export function gapText({ fromSeq, toSeq, messages, previous }: SummaryRange): string {
  const count = (role: string): number => messages.filter((message) => message.role === role).length;
  const tools = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  const names = [...new Set(tools.map(({ name }) => name))].slice(0, 10).map((name) => JSON.stringify(name));
  const called = names.length === 0 ? "" : `, with calls of ${names.join(", ")}`;
  const gap = `Entries ${fromSeq} to ${toSeq} could not be summarized and are missing here: ${count("user")} messages of the user and ${count("assistant")} of the assistant${called}.`;
  return previous === undefined ? gap : `${previous.content}\n\n${gap}`;
}

/** Rows that an exchange at the edge may take. */
const AN_EXCHANGE = 64;

/** Nothing to summarize before what is loaded: that is certain only when the loaded part reaches that far. */
function mustReach(toSeq: number, thread: Thread, lane: string): void {
  const neededFromSeq = Math.max(0, toSeq - AN_EXCHANGE);
  if (thread.firstSeq <= neededFromSeq || foldLane(thread, lane).complete) return;
  throw tooShort(neededFromSeq, "The summary ends before the entries loaded.");
}

/** A summary of what happens to be loaded would lose what lies before it. */
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
