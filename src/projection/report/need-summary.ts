import type { Settings } from "../input/settings.ts";
import type { ProjectionMeta } from "../projection.ts";
import type { Engine } from "../run/engine.ts";
import { firstCertain } from "../run/tail.ts";
import { firstIndex } from "../search.ts";

/** The facts that decide whether a new summary is needed. */
export interface SummaryQuestion {
  readonly truncated: boolean;
  readonly open: boolean;
  /** The first block that is shown. */
  readonly start: number;
  /** The first block that no summary covers. */
  readonly first: number;
  /** The number of entries and pending items. */
  readonly total: number;
  /** The lane's measure, pending items included. */
  readonly measure: number;
}

export type SummaryNeed = Pick<ProjectionMeta, "needsSummary" | "needsSummaryReason" | "boundary">;

/** Whether the policy wants a new summary, the reason, and the last entry it should cover. */
export function summaryNeed(engine: Engine, settings: Settings, question: SummaryQuestion): SummaryNeed {
  const boundary = boundaryOf(engine, settings, question);
  const needsSummaryReason = reasonOf(engine, settings, question, boundary !== undefined);
  if (needsSummaryReason === undefined) return { needsSummary: false };
  return { needsSummary: true, needsSummaryReason, ...(boundary !== undefined && { boundary }) };
}

function reasonOf(
  { history }: Engine,
  { policy }: Settings,
  { truncated, first, total, measure }: SummaryQuestion,
  hasBoundary: boolean,
): ProjectionMeta["needsSummaryReason"] {
  const { summarization, summarizeThreshold, maxThreadTokens } = policy;
  if (truncated && summarization !== "none") return "truncated";
  if (summarization === "request_new" && hasBoundary) return "requested";
  const since = total - 1 - (history.coverage.summary?.seq ?? -1);
  if (summarizeThreshold > 0 && since > summarizeThreshold) return "entries";
  const live = measure - (history.blocks[first]?.position ?? measure);
  if (maxThreadTokens > 0 && live > maxThreadTokens) return "tokens";
  return undefined;
}

/**
 * The last entry before the turns that are kept. If a single turn is larger than the window, the last entry before the
 * window, because only a summary can still show what was cut.
 */
function boundaryOf(engine: Engine, settings: Settings, question: SummaryQuestion): number | undefined {
  const { blocks } = engine.history;
  const atTurns = beforeTurns(engine, settings, question.open);
  const start = question.truncated ? blocks[question.start] : undefined;
  return atTurns ?? (start && lastBefore(engine, start.open));
}

function beforeTurns(engine: Engine, { policy }: Settings, open: boolean): number | undefined {
  const { turns, blocks } = engine.history;
  const opener = boundaryOpener(policy.keepLastTurns, open);
  const kept = opener === 0 ? undefined : turns.lastOpener(opener);
  if (opener > 0 && kept === undefined) return undefined;
  return lastBefore(engine, kept === undefined ? Number.POSITIVE_INFINITY : (blocks[kept]?.open ?? 0));
}

/** The last entry before `open`, if no summary covers it yet. */
function lastBefore({ history, log: { items } }: Engine, open: number): number | undefined {
  const before = items[firstIndex(0, items.length, (index) => (items[index]?.open ?? 0) >= open) - 1];
  if (before === undefined || before.snapshot !== undefined) return undefined;
  return before.entry.seq > history.coverage.edge ? before.entry.seq : undefined;
}

/** A turn without an answer is never summarized. */
function boundaryOpener(keepLastTurns: number, open: boolean): number {
  return Math.max(keepLastTurns, open ? 1 : 0);
}

/** Whether enough of a tail is loaded to answer the question. */
export function boundaryIsLoaded(engine: Engine, settings: Settings, question: SummaryQuestion): boolean {
  const { history, log } = engine;
  if (log.complete) return true;
  const certain = firstCertain(engine);
  const turns = boundaryOpener(settings.policy.keepLastTurns, question.open);
  const hasTurns = turns === 0 || (history.turns.lastOpener(turns) ?? -1) >= certain || question.first >= certain;
  const reason = reasonOf(engine, settings, question, true);
  const isLongEnough = question.first >= certain || settings.policy.maxThreadTokens === 0 || reason !== undefined;
  const hasCut = !question.truncated || question.start > certain;
  return isLongEnough && ((hasTurns && hasCut) || reason === undefined);
}
