import type { Budget, ExplainedEntry, Projection, ProjectionMeta, Provenance } from "../projection/projection.ts";
import type { CallDetail } from "../studio/contract.ts";
import { escapeHidden } from "../thread/hidden-characters.ts";
import type { Message, ToolSpec } from "../thread/message.ts";
import { contentText, count, indented, type Output, type Paint, printTable } from "./output.ts";

const HUE = { system: "magenta", user: "cyan", assistant: "green", tool: "yellow" } as const;

/** Prints messages for a human reader. */
export async function printMessages(
  out: Output,
  messages: readonly Message[],
  provenance: readonly Provenance[] = [],
  /** The index of the first message that the call before did not have. Default: none. */
  newFrom = Number.POSITIVE_INFINITY,
): Promise<void> {
  for (const [index, message] of messages.entries()) {
    const facts = [factsOf(provenance[index]), index >= newFrom ? "new" : ""].filter(Boolean).join(" · ");
    await out.data(`${title(out.paint, index, message)}${facts === "" ? "" : out.paint("dim", ` · ${facts}`)}`);
    await out.data(indented(textOf(message)));
  }
}

export async function printTools(out: Output, tools: readonly ToolSpec[]): Promise<void> {
  if (tools.length > 0) await out.data(out.paint("dim", `tools: ${tools.map(({ name }) => name).join(", ")}`));
}

function title(paint: Paint, index: number, { role }: Message): string {
  return `${paint("dim", `[${index}]`)} ${paint(HUE[role], role)}`;
}

function factsOf(from: Provenance | undefined): string {
  if (from === undefined) return "";
  const { segment, seqs, tokens, rule } = from;
  const entries = seqs.length === 0 ? segment : `${seqs.length === 1 ? "entry" : "entries"} ${seqs.join(", ")}`;
  return [entries, count(tokens, "token"), ...(rule === undefined ? [] : [rule])].join(" · ");
}

/** Returns a message as text, with its tool calls and results. */
export function textOf(message: Message): string {
  const text = contentText(message.content);
  const calls =
    message.role === "assistant"
      ? (message.toolCalls ?? []).map(
          ({ id, name, arguments: given }) => `→ ${name} ${escapeHidden(JSON.stringify(given))} (${id})`,
        )
      : [];
  const result =
    message.role === "tool" ? [`← ${message.name} (${message.toolCallId})${message.isError ? " failed" : ""}`] : [];
  return [...result, text, ...calls].filter(Boolean).join("\n");
}

const EXPLAINED_COLUMNS = ["seq", "kind", "status", "rule", "tokens", "message"];

/** Prints one line for each entry: its status, the rule, its tokens, and the message that contains it. */
export async function printExplained(out: Output, explained: readonly ExplainedEntry[]): Promise<void> {
  const rows = explained.map(({ seq, toSeq, kind, status, rule, tokens, message }) => [
    toSeq === undefined ? String(seq) : `${seq}-${toSeq}`,
    kind,
    status,
    rule,
    String(tokens),
    message === undefined ? "" : `[${message}]`,
  ]);
  await printTable(out, EXPLAINED_COLUMNS, rows, (row) => explained[row]?.status !== "shown");
}

// One-line descriptions of a projection and of a model call.

const formatNumber = (value: number): string => value.toLocaleString("en-US");

/** Describes the tokens of each part of a budget, and the free tokens. */
export function budgetLine({ estimatedTokens, budget }: Pick<ProjectionMeta, "estimatedTokens" | "budget">): string {
  const { maxInputTokens, reserveOutputTokens, available, history } = budget;
  const parts = PARTS.map((part) => `${part} ${formatNumber(budget[part])}`).join(", ");
  return [
    `${formatNumber(estimatedTokens)} of ${formatNumber(maxInputTokens - reserveOutputTokens)} tokens`,
    parts,
    `free ${formatNumber(available - history)}, reserved ${formatNumber(reserveOutputTokens)}`,
  ].join(" · ");
}

export const PARTS = ["system", "tools", "summary", "history", "pending"] as const satisfies readonly (keyof Budget)[];

/** Describes how the context differs from the log: cut, cleared, shortened, summarized. */
export function viewLine(meta: ProjectionMeta): string {
  const { truncated, cutSeq, entriesIncluded, entriesTotal, needsSummary, needsSummaryReason, boundary } = meta;
  const { cleared, repaired, dropped, thinkingDropped, floorViolated, view } = meta;
  const results = view.shrunk?.map(({ seq }) => seq) ?? [];
  return [
    `${formatNumber(entriesIncluded)} of ${count(entriesTotal, "entry", "entries")} shown`,
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

/** Describes the estimated tokens, and the tokens that the provider reported. */
export function usageLine({ call: { estimatedTokens, usage, finishReason } }: Pick<CallDetail, "call">): string {
  const reported = (value: number | undefined): string => (value === undefined ? "unknown" : formatNumber(value));
  return [
    `estimated ${formatNumber(estimatedTokens)}`,
    `reported ${reported(usage?.inputTokens)}, of those from the cache ${reported(usage?.cacheReadTokens)}`,
    `output ${reported(usage?.outputTokens)}`,
    ...(finishReason === undefined ? [] : [`ended by ${finishReason}`]),
  ].join(" · ");
}

/** Returns the tokens of the messages that equal the start of the call before. A provider may cache these. */
export function prefixTokens({ previous, meta, provenance }: PrefixSource): number {
  if (previous === undefined || isWhollyNew(previous)) return 0;
  const tools = meta?.budget.tools ?? 0;
  return provenance.slice(0, previous.stablePrefix).reduce((sum, { tokens }) => sum + tokens, tools);
}

type PrefixSource = Pick<CallDetail, "previous"> & Pick<Projection, "provenance"> & { readonly meta?: ProjectionMeta };

/**
 * Whether a changed tool list or model leaves no common prefix. Tools precede all messages, and each model has its own
 * cache.
 */
function isWhollyNew({ firstChange }: NonNullable<CallDetail["previous"]>): boolean {
  return firstChange?.rule === "tools_changed" || firstChange?.rule === "model_changed";
}

/** Describes how much of the call a provider may read from its cache, and the rule that ended this prefix. */
export function prefixLine(detail: CallDetail): string {
  const { previous, messages } = detail;
  if (previous === undefined) return "the first call of its kind: nothing can come from a cache";
  const tokens = count(prefixTokens(detail), "token");
  const { firstChange, stablePrefix } = previous;
  const begins = `same prefix as the call before: ${stablePrefix} of ${count(messages.length, "message")}, ${tokens}`;
  if (firstChange === undefined) return `${begins}, the whole call before`;
  return `${begins} · moved at [${firstChange.index}] by ${firstChange.rule}: ${firstChange.why}`;
}
