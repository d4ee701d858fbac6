import { activeLane } from "../../lanes/active-lane.ts";
import type { SummaryPayload } from "../../thread/kinds.ts";
import type { Message } from "../../thread/message.ts";
import { countText, heuristic } from "../../tokens/counter.ts";
import { firstIndex } from "../binary-search.ts";
import { Engine } from "../engine/engine.ts";
import { ProjectionError } from "../error.ts";
import { type Block, isOfContext } from "../history/block.ts";
import type { Coverage } from "../history/history.ts";
import { invalid, type ProjectionInput, type Settings, settingsOf } from "../input/input.ts";
import { rulesOf } from "../rules.ts";
import { otherTokens, recordTokens } from "./summary-record.ts";

/** The messages to summarize, and the entries that the summary will cover. */
export interface SummaryRange {
  /** The first entry of the range. */
  readonly fromSeq: number;
  /** The last entry of the range, and of the summary. */
  readonly toSeq: number;
  /** The messages of the range, without the system prompt and without an earlier summary. */
  readonly messages: readonly Message[];
  /** The summary of the entries before the range. The new summary replaces it. */
  readonly previous?: Pick<SummaryPayload, "fromSeq" | "toSeq" | "content"> | undefined;
  /** The most tokens of the new summary, each of four UTF-8 bytes, so that it leaves space for the history. Default: no limit. */
  readonly maxSummaryTokens?: number | undefined;
}

/** The share of a summary in the tokens that system prompt and tools leave. */
const SUMMARY_SHARE = 1 / 3;

/** The most tokens of a summary, of four bytes each. */
export function summaryLimit({ policy, toolTokens, systemPrompt, tokensOf, counterFacts }: Settings): number {
  const system = systemPrompt === undefined ? 0 : tokensOf({ role: "system", content: systemPrompt });
  const left = policy.maxInputTokens - policy.reserveOutputTokens - toolTokens - system;
  return Math.max(1, Math.floor((left * SUMMARY_SHARE) / Math.max(1, counterFacts.factor)));
}

export function isTooLong(summary: string, { maxSummaryTokens = Number.POSITIVE_INFINITY }: SummaryLimit): boolean {
  return countText(summary, heuristic) > maxSummaryTokens;
}

type SummaryLimit = Pick<SummaryRange, "maxSummaryTokens">;

/** Returns the entries that the new summary covers. They begin where the previous summary began. */
export function coveredSeqs({ fromSeq, toSeq, previous }: SummaryRange): Pick<SummaryPayload, "fromSeq" | "toSeq"> {
  return { fromSeq: previous?.fromSeq ?? fromSeq, toSeq };
}

/**
 * Throws if the range begins or ends before the previous summary. It may overlap the start, because a summary's edge can move to
 * before a block.
 */
export function checkRange({ fromSeq, toSeq, previous }: SummaryRange): void {
  checkOrder("fromSeq", fromSeq, "toSeq", toSeq);
  if (previous === undefined) return;
  checkOrder("previous.fromSeq", previous.fromSeq, "previous.toSeq", previous.toSeq);
  // The new summary begins where the previous one began, so the range must not begin before it.
  checkOrder("previous.fromSeq", previous.fromSeq, "fromSeq", fromSeq);
  checkOrder("previous.toSeq", previous.toSeq, "toSeq", toSeq);
}

function checkOrder(first: string, from: number, last: string, to: number): void {
  if (Number.isSafeInteger(from) && Number.isSafeInteger(to) && from >= 0 && from <= to) return;
  const message = `${first} and ${last} must be seqs with ${first} <= ${last}, not ${from} and ${to}.`;
  throw new ProjectionError({ code: "invalid_input", message });
}

type RangeInput = Omit<ProjectionInput, "pending" | "previous">;

/**
 * Returns the range for a summary up to `toSeq`, which is the `meta.boundary` of a projection. It contains the previous
 * summary and all later messages in full. The default lane is the active one. Undefined if there are no such messages. With a
 * previous summary that is too long for the policy, a range without messages asks for a shorter one.
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "What's 2+2?" } });
 * summaryRangeOf({ thread }, 0)?.messages; // [{ role: "user", content: "What's 2+2?" }]
 */
export function summaryRangeOf(input: RangeInput, toSeq: number): SummaryRange | undefined {
  return firstSummaryRange(input, toSeq, { requestTokens: Number.POSITIVE_INFINITY });
}

interface SummaryRangeLimits extends SummaryLimit {
  /** The limit of the text of the range. Default: none of its own. */
  readonly maxTokens?: number;
  /** The limit of the whole request, with the instructions and the previous summary. */
  readonly requestTokens: number;
  /** The range ends at this seq or later, even above `maxTokens`. Default -1. */
  readonly leastToSeq?: number;
}

/**
 * Returns the first part of the range up to `toSeq` whose text fits within the limits. After it is summarized, the next part
 * follows. It contains at least one block, even if that does not fit.
 */
export function firstSummaryRange(
  input: RangeInput,
  toSeq: number,
  { maxTokens = Number.POSITIVE_INFINITY, requestTokens, leastToSeq = -1, ...given }: SummaryRangeLimits,
): SummaryRange | undefined {
  if (!Number.isSafeInteger(toSeq)) throw invalid("toSeq", "must be a seq", toSeq);
  const settings = settingsOf(input);
  const limit = { maxSummaryTokens: given.maxSummaryTokens ?? summaryLimit(settings) };
  const { lane = activeLane(input.thread, rulesOf(settings.rules)) } = settings;
  const { history, costs } = new Engine(input.thread, lane, settings);
  const { blocks, coverage } = history;
  const first = coverage.firstUncovered;
  const end = firstIndex(first, blocks.length, (index) => (blocks[index]?.open ?? 0) > toSeq);
  const messagesOf = (index: number) => costs.renderedBlock(index, costs.variantFrom(first, index)).messages;
  const tokensOf = (index: number): number => recordTokens(messagesOf(index));
  const { previous } = previousOf(coverage);
  const most = Math.min(maxTokens, Math.max(1, requestTokens - otherTokens(previous, requestTokens)));
  const cut = cutWithin({ blocks, first, end, reach: Math.max(coverage.reach, leastToSeq), tokensOf }, most);
  const messages = blocks.slice(first, cut).flatMap((_, at) => messagesOf(first + at));
  if (messages.length === 0)
    return previous !== undefined && previous.toSeq <= toSeq && isTooLong(previous.content, limit)
      ? { fromSeq: previous.fromSeq, toSeq: previous.toSeq, messages, previous, ...limit }
      : undefined;
  const last = cut === end ? toSeq : (blocks[cut]?.open ?? toSeq) - 1;
  return {
    fromSeq: Math.max(0, blocks[first]?.open ?? 0),
    toSeq: last,
    messages,
    ...(previous && { previous }),
    ...limit,
  };
}

interface CutInput {
  readonly blocks: readonly Block[];
  readonly first: number;
  readonly end: number;
  /** The summary must end at this seq or later, because the previous summary does. */
  readonly reach: number;
  readonly tokensOf: (index: number) => number;
}

/**
 * Returns the last block before which a summary may end so that all earlier blocks fit. If none fits, the first
 * possible block.
 */
function cutWithin({ blocks, first, end, reach, tokensOf }: CutInput, maxTokens: number): number {
  if (maxTokens === Number.POSITIVE_INFINITY) return end;
  let cut: number | undefined;
  let tokens = 0;
  let lastSeq = Number.NEGATIVE_INFINITY;
  for (let index = first; index < end; index++) {
    const [before, block] = [blocks[index - 1], blocks[index]];
    if (block === undefined) break;
    if (tokens > 0 && before !== undefined && canEndBetween(before, block, Math.max(lastSeq, reach))) cut = index;
    tokens += tokensOf(index);
    lastSeq = Math.max(lastSeq, block.lastSeq);
    if (tokens > maxTokens && cut !== undefined) return cut;
  }
  return tokens > maxTokens ? (cut ?? end) : end;
}

/**
 * Whether a summary may end between two blocks. It may not if a block has later results, or inside a `replace`
 * operation.
 */
function canEndBetween(before: Block, block: Block, lastSeq: number): boolean {
  return block.open > lastSeq && block.open - 1 > (isOfContext(before) ? before.open : -1);
}

function previousOf({ summary, reach }: Coverage): Pick<SummaryRange, "previous"> {
  const { fromSeq, content } = summary?.payload ?? {};
  if (typeof content !== "string") return {};
  return { previous: { fromSeq: typeof fromSeq === "number" ? fromSeq : 0, toSeq: Math.max(0, reach), content } };
}
