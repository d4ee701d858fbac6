import { type Block, isOfContext } from "../history/block.ts";
import type { Coverage } from "../history/coverage.ts";
import { invalid } from "../input/check.ts";
import type { ProjectionInput } from "../input/input.ts";
import { settingsOf } from "../input/settings.ts";
import { Engine } from "../run/engine.ts";
import { firstIndex } from "../search.ts";
import type { SummaryRange } from "./range.ts";
import { recordTokens } from "./request.ts";

type RangeInput = Omit<ProjectionInput, "pending" | "previous"> & { readonly lane: string };

/**
 * The range for a summary up to `toSeq`, which is the `meta.boundary` of a projection. It holds all messages that no
 * summary covers yet, unshortened, and the previous summary. Undefined when there are no such messages.
 *
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "What's 2+2?" } });
 * const { meta } = project({ thread });
 * summaryRangeOf({ thread, lane: meta.lane }, 0)?.messages; // [{ role: "user", content: "What's 2+2?" }]
 */
export function summaryRangeOf(input: RangeInput, toSeq: number): SummaryRange | undefined {
  return firstPieceOf(input, toSeq, { maxTokens: Number.POSITIVE_INFINITY });
}

interface PieceLimits {
  readonly maxTokens: number;
  /** The piece covers at least up to this seq, even above `maxTokens`. Default -1. */
  readonly leastToSeq?: number;
}

/**
 * The first part of the range up to `toSeq` whose record takes at most `maxTokens`. After it is summarized, the next part
 * begins behind it. It holds at least one exchange or message, even if that is longer than `maxTokens`.
 */
export function firstPieceOf(
  input: RangeInput,
  toSeq: number,
  { maxTokens, leastToSeq = -1 }: PieceLimits,
): SummaryRange | undefined {
  if (!Number.isSafeInteger(toSeq)) throw invalid("toSeq", "must be a seq", toSeq);
  const { history, costs } = new Engine(input.thread, input.lane, settingsOf(input));
  const { blocks, coverage } = history;
  const first = coverage.firstUncovered;
  const end = firstIndex(first, blocks.length, (index) => (blocks[index]?.open ?? 0) > toSeq);
  const messagesOf = (index: number) => costs.piece(index, costs.variantFrom(first, index)).messages;
  const tokensOf = (index: number): number => recordTokens(messagesOf(index));
  const cut = cutWithin({ blocks, first, end, reach: Math.max(coverage.reach, leastToSeq), tokensOf }, maxTokens);
  const messages = blocks.slice(first, cut).flatMap((_, at) => messagesOf(first + at));
  if (messages.length === 0) return undefined;
  const last = cut === end ? toSeq : (blocks[cut]?.open ?? toSeq) - 1;
  return { fromSeq: Math.max(0, blocks[first]?.open ?? 0), toSeq: last, messages, ...previousOf(coverage) };
}

interface Stretch {
  readonly blocks: readonly Block[];
  readonly first: number;
  readonly end: number;
  /** The seq it must reach: at least that of the previous summary. */
  readonly reach: number;
  readonly tokensOf: (index: number) => number;
}

/** The last place where a summary may end and everything before it fits. Else the first place where one may end. */
function cutWithin({ blocks, first, end, reach, tokensOf }: Stretch, maxTokens: number): number {
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

/** Not inside an exchange with later results, nor inside a replaced context, which is covered as a whole. */
function canEndBetween(before: Block, block: Block, lastSeq: number): boolean {
  return block.open > lastSeq && block.open - 1 > (isOfContext(before) ? before.open : -1);
}

function previousOf({ summary, reach }: Coverage): Pick<SummaryRange, "previous"> {
  const { fromSeq, content } = summary?.payload ?? {};
  if (typeof content !== "string") return {};
  return { previous: { fromSeq: typeof fromSeq === "number" ? fromSeq : 0, toSeq: Math.max(0, reach), content } };
}
