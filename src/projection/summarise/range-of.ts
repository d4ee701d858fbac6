import type { Coverage } from "../history/coverage.ts";
import { invalid } from "../input/check.ts";
import type { ProjectionInput } from "../input/input.ts";
import { settingsOf } from "../input/settings.ts";
import { Engine } from "../run/engine.ts";
import { firstIndex } from "../search.ts";
import type { SummaryRange } from "./range.ts";

/**
 * What a summary up to `toSeq`, which is the `meta.boundary` of a projection, is to be made of: what no summary covers
 * yet, whole, and the summary before it. Undefined when there is nothing new up to there.
 *
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "What's 2+2?" } });
 * const { meta } = project({ thread });
 * summaryRangeOf({ thread, lane: meta.lane }, 0)?.messages; // [{ role: "user", content: "What's 2+2?" }]
 */
export function summaryRangeOf(
  input: Omit<ProjectionInput, "pending" | "previous"> & { readonly lane: string },
  toSeq: number,
): SummaryRange | undefined {
  if (!Number.isSafeInteger(toSeq)) throw invalid("toSeq", "must be a seq", toSeq);
  const { history, costs } = new Engine(input.thread, input.lane, settingsOf(input));
  const first = history.coverage.firstUncovered;
  const end = firstIndex(first, history.blocks.length, (index) => (history.blocks[index]?.open ?? 0) > toSeq);
  const messages = history.blocks
    .slice(first, end)
    .flatMap((_, at) => costs.piece(first + at, costs.variantFrom(first, first + at)).messages);
  if (messages.length === 0) return undefined;
  return { fromSeq: Math.max(0, history.blocks[first]?.open ?? 0), toSeq, messages, ...previousOf(history.coverage) };
}

function previousOf({ summary, reach }: Coverage): Pick<SummaryRange, "previous"> {
  const { fromSeq, content } = summary?.payload ?? {};
  if (typeof content !== "string") return {};
  return { previous: { fromSeq: typeof fromSeq === "number" ? fromSeq : 0, toSeq: Math.max(0, reach), content } };
}
