import type { Budget, Projection, ProjectionMeta } from "../projection/projection.ts";
import type { CallDetail } from "./answers.ts";
import { count } from "./text.ts";

// One-line descriptions of a projection and of a model call.

const number = (value: number): string => value.toLocaleString("en-US");

/** The tokens of each part, and what is free. */
export function budgetLine({ estimatedTokens, budget }: Pick<ProjectionMeta, "estimatedTokens" | "budget">): string {
  const { maxInputTokens, reserveOutputTokens, available, history } = budget;
  const parts = PARTS.map((part) => `${part} ${number(budget[part])}`).join(", ");
  return [
    `${number(estimatedTokens)} of ${number(maxInputTokens - reserveOutputTokens)} tokens`,
    parts,
    `free ${number(available - history)}, reserved ${number(reserveOutputTokens)}`,
  ].join(" · ");
}

export const PARTS = ["system", "tools", "summary", "history", "pending"] as const satisfies readonly (keyof Budget)[];

/** How the context differs from the log: cut, cleared, shortened, summarized. */
export function viewLine(meta: ProjectionMeta): string {
  const { truncated, cutSeq, entriesIncluded, entriesTotal, needsSummary, needsSummaryReason, boundary } = meta;
  const { cleared, repaired, dropped, thinkingDropped, floorViolated, view } = meta;
  const results = view.shrunk?.map(({ seq }) => seq) ?? [];
  return [
    `${number(entriesIncluded)} of ${count(entriesTotal, "entry", "entries")} shown`,
    ...(view.summarySeq === undefined ? [] : [`summary of entry ${view.summarySeq}`]),
    ...(truncated ? [`cut before entry ${cutSeq}`] : []),
    ...(truncated && view.headSeqs.length > 0 ? [`head of the cut request: ${entriesOf(view.headSeqs)}`] : []),
    ...(cleared.length > 0 ? [`results cleared: ${entriesOf(cleared)}`] : []),
    ...(results.length > 0 ? [`results shrunk: ${entriesOf(results)}`] : []),
    ...(repaired.calls.length > 0 ? [`calls closed as interrupted: ${entriesOf(repaired.calls)}`] : []),
    ...(repaired.standIns > 0 ? [count(repaired.standIns, "placeholder")] : []),
    ...(dropped.length > 0 ? [`dropped: ${entriesOf(dropped)}`] : []),
    ...(thinkingDropped.length > 0 ? [`thinking dropped: ${entriesOf(thinkingDropped)}`] : []),
    ...(floorViolated ? ["fewer turns than keepLastTurns"] : []),
    ...(needsSummary
      ? [`needs a summary (${needsSummaryReason})${boundary === undefined ? "" : ` up to entry ${boundary}`}`]
      : []),
  ].join(" · ");
}

/** `entry 4`, or `entries 0 to 3, 7`. */
export function entriesOf(seqs: readonly number[]): string {
  const runs: [from: number, to: number][] = [];
  for (const seq of seqs.toSorted((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last !== undefined && seq <= last[1] + 1) last[1] = seq;
    else runs.push([seq, seq]);
  }
  const ranges = runs.map(([from, to]) => (from === to ? `${from}` : `${from} to ${to}`));
  return `${seqs.length === 1 ? "entry" : "entries"} ${ranges.join(", ")}`;
}

/** The tokens that were estimated, and the tokens that the provider reported. */
export function usageLine({ call: { estimatedTokens, usage, finishReason } }: Pick<CallDetail, "call">): string {
  const reported = (value: number | undefined): string => (value === undefined ? "unknown" : number(value));
  return [
    `estimated ${number(estimatedTokens)}`,
    `reported ${reported(usage?.inputTokens)}, of those from the cache ${reported(usage?.cacheReadTokens)}`,
    `output ${reported(usage?.outputTokens)}`,
    ...(finishReason === undefined ? [] : [`ended by ${finishReason}`]),
  ].join(" · ");
}

/** The tokens at the start that equal the call before. A provider's cache can hold these. */
export function prefixTokens({ previous, meta, provenance }: Prefixed): number {
  if (previous === undefined || isWhollyNew(previous)) return 0;
  const tools = meta?.budget.tools ?? 0;
  return provenance.slice(0, previous.stablePrefix).reduce((sum, { tokens }) => sum + tokens, tools);
}

type Prefixed = Pick<CallDetail, "previous"> & Pick<Projection, "provenance"> & { readonly meta?: ProjectionMeta };

/** A change of tools or model leaves no common prefix: tools precede all messages, and each model has its own cache. */
function isWhollyNew({ firstChange }: NonNullable<CallDetail["previous"]>): boolean {
  return firstChange?.rule === "tools_changed" || firstChange?.rule === "model_changed";
}

/** How much of the call can come from a cache, and the rule that ends this prefix. */
export function prefixLine(detail: CallDetail): string {
  const { previous, messages } = detail;
  if (previous === undefined) return "the first call of its kind: nothing can come from a cache";
  const tokens = count(prefixTokens(detail), "token");
  const { firstChange, stablePrefix } = previous;
  const begins = `same prefix as the call before: ${stablePrefix} of ${count(messages.length, "message")}, ${tokens}`;
  if (firstChange === undefined) return `${begins}, the whole call before`;
  return `${begins} · moved at [${firstChange.index}] by ${firstChange.rule}: ${firstChange.why}`;
}
