import { freezeJson } from "../../thread/json.ts";
import type { Message } from "../../thread/message.ts";
import { firstIndex } from "../binary-search.ts";
import type { Engine } from "../engine/engine.ts";
import { firstCertain, missingTurnsOf, type RenderPass } from "../engine/render-pass.ts";
import { tailTooShort } from "../error.ts";
import { type Block, firstItem } from "../history/block.ts";
import type { Settings } from "../input/input.ts";
import type { Budget, Projection, ProjectionMeta, ProjectionView, Provenance } from "../projection.ts";

/** Makes the projection from the result of a render pass. */
export function projectionOf(pass: RenderPass): Projection {
  const { chain, provenance } = pass.assembly;
  const messages: readonly Message[] = chain.messages;
  return Object.freeze({ messages, toolSpec: pass.settings.tools, provenance, meta: metaOf(pass) });
}

function metaOf(pass: RenderPass): ProjectionMeta {
  const { engine, settings, thread, pending, window, assembly, leading } = pass;
  const { messages, fingerprint } = assembly.chain;
  const start = engine.history.blocks[window.start];
  const truncated = window.start > window.first;
  const open = isOpen(pass);
  const budget = budgetOf(pass);
  const total = thread.rev + pending.length;
  const { first } = window;
  const question = { truncated, open, first, start: window.start, total, measure: pass.measure };
  if (!boundaryIsLoaded(engine, settings, question))
    throw tailTooShort(thread, { missingTurns: missingTurnsOf(engine, settings.policy, window.start) });
  return Object.freeze({
    basisRev: thread.rev,
    basisLastSeq: thread.lastSeq,
    pendingCount: pending.length,
    lane: engine.lane,
    truncated,
    ...(truncated && start && { cutSeq: start.seq }),
    estimatedTokens: budget.system + budget.tools + budget.summary + budget.history + budget.pending,
    summaryUsed: leading.summary !== undefined,
    entriesIncluded: assembly.entries,
    messagesIncluded: messages.length,
    entriesTotal: thread.rev,
    open,
    ...summaryNeed(engine, settings, question),
    budget,
    floorViolated: truncated && window.start > window.keptFrom,
    repaired: Object.freeze({ calls: Object.freeze(assembly.repaired), standIns: assembly.placeholders }),
    dropped: Object.freeze(droppedSince(pass, start)),
    cleared: Object.freeze(assembly.cleared),
    thinkingDropped: Object.freeze(assembly.thinkingDropped),
    policyHash: settings.policyHash,
    projector: settings.rules,
    fingerprint,
    view: viewOf(pass, start),
  });
}

function viewOf({ engine, assembly, shrunk, leading }: RenderPass, start: Block | undefined): ProjectionView {
  const summary = leading.summary && engine.history.coverage.summary;
  const first = start && firstItem(start);
  return Object.freeze({
    ...(first && { startSeq: first.seq }),
    ...(first?.index !== undefined && { startItem: first.index }),
    headSeqs: Object.freeze(assembly.headSeqs),
    ...(summary && { summarySeq: summary.seq }),
    cleared: Object.freeze(assembly.cleared),
    thinkingDropped: Object.freeze(assembly.thinkingDropped),
    ...(assembly.thinkingStale.length > 0 && { thinkingStale: Object.freeze(assembly.thinkingStale) }),
    ...(shrunk && { shrunk: freezeJson(shrunk.results) }),
  });
}

/** Whether the model should answer, because the last message is not the assistant's. */
function isOpen({ engine, window, assembly }: RenderPass): boolean {
  const hasHistory = window.start < engine.history.blocks.length || assembly.headSeqs.length > 0;
  return hasHistory && assembly.chain.messages.at(-1)?.role !== "assistant";
}

function budgetOf({ settings, assembly, leading, freeTokens }: RenderPass): Budget {
  const { maxInputTokens, reserveOutputTokens } = settings.policy;
  const pending = tokensIn(assembly.provenance, "pending");
  return Object.freeze({
    maxInputTokens,
    reserveOutputTokens,
    system: leading.system?.tokens ?? 0,
    tools: settings.toolTokens,
    summary: leading.summary?.tokens ?? 0,
    pending,
    available: freeTokens - pending,
    history: tokensIn(assembly.provenance, "history"),
  });
}

function tokensIn(provenance: readonly Provenance[], segment: Provenance["segment"]): number {
  let sum = 0;
  for (const each of provenance) if (each.segment === segment) sum += each.tokens;
  return sum;
}

/** Returns the entries inside the context window that are not shown. */
function droppedSince({ engine, window, thread }: RenderPass, start: Block | undefined): number[] {
  const { dropped, late, coverage } = engine.history;
  const open = start?.open ?? coverage.edge + 1;
  const seqs: number[] = [];
  for (let index = dropped.length - 1; index >= 0 && (dropped[index]?.seq ?? -1) >= open; index--) {
    seqs.push(dropped[index]?.seq ?? -1);
  }
  for (let index = late.length - 1; index >= 0 && (late[index]?.seq ?? -1) >= open; index--) {
    if ((late[index]?.block ?? window.start) < window.start) seqs.push(late[index]?.seq ?? -1);
  }
  return seqs.filter((seq) => seq < thread.rev).sort((a, b) => a - b);
}

/** The facts that decide whether a new summary is needed. */
interface SummaryFacts {
  readonly truncated: boolean;
  readonly open: boolean;
  /** The index of the first block that is shown. */
  readonly start: number;
  /** The index of the first block that no summary covers. */
  readonly first: number;
  /** How many entries and pending items the lane has. */
  readonly total: number;
  /** The size of the lane in tokens (see `measureOfEntry`), pending items included. */
  readonly measure: number;
}

type SummaryNeed = Pick<ProjectionMeta, "needsSummary" | "needsSummaryReason" | "boundary">;

/** Whether the policy requires a new summary, why, and the last entry it should cover. */
function summaryNeed(engine: Engine, settings: Settings, question: SummaryFacts): SummaryNeed {
  const boundary = boundaryOf(engine, settings, question);
  const needsSummaryReason = reasonOf(engine, settings, question, boundary !== undefined);
  if (needsSummaryReason === undefined) return { needsSummary: false };
  return { needsSummary: true, needsSummaryReason, ...(boundary !== undefined && { boundary }) };
}

function reasonOf(
  { history }: Engine,
  { policy }: Settings,
  { truncated, first, total, measure }: SummaryFacts,
  hasBoundary: boolean,
): ProjectionMeta["needsSummaryReason"] {
  const { summarization, summarizeThreshold, maxThreadTokens } = policy;
  if (truncated && summarization !== "none") return history.isSummaryHidden ? "summary_too_long" : "truncated";
  if (summarization === "request_new" && hasBoundary) return "requested";
  const since = total - 1 - (history.coverage.summary?.seq ?? -1);
  if (summarizeThreshold > 0 && since > summarizeThreshold) return "entries";
  const live = measure - (history.blocks[first]?.position ?? measure);
  if (maxThreadTokens > 0 && live > maxThreadTokens) return "tokens";
  return undefined;
}

/**
 * Returns the last entry that a new summary should cover: the one before the turns to keep. If one turn exceeds the
 * window, it is the entry before the window, because only a summary can still show that part. Where all of it is covered by a
 * summary that does not fit, it is the end of that summary.
 */
function boundaryOf(engine: Engine, settings: Settings, question: SummaryFacts): number | undefined {
  const { blocks } = engine.history;
  const atTurns = beforeTurns(engine, settings, question.open);
  const start = question.truncated ? blocks[question.start] : undefined;
  const { isSummaryHidden, summaries } = engine.history;
  return atTurns ?? (start && lastBefore(engine, start.open)) ?? (isSummaryHidden ? summaries.reach : undefined);
}

function beforeTurns(engine: Engine, { policy }: Settings, open: boolean): number | undefined {
  const { turns, blocks } = engine.history;
  const opener = boundaryOpener(policy.keepLastTurns, open);
  const kept = opener === 0 ? undefined : turns.lastOpener(opener);
  if (opener > 0 && kept === undefined) return undefined;
  return lastBefore(engine, kept === undefined ? Number.POSITIVE_INFINITY : (blocks[kept]?.open ?? 0));
}

/** Returns the last entry before the seq `open`. Undefined if a summary covers it already. */
function lastBefore({ history, log: { items } }: Engine, open: number): number | undefined {
  const before = items[firstIndex(0, items.length, (index) => (items[index]?.open ?? 0) >= open) - 1];
  if (before === undefined || before.snapshot !== undefined) return undefined;
  return before.entry.seq > history.summaries.edge ? before.entry.seq : undefined;
}

/** How many newest turns a summary leaves out. A turn without an answer is never summarized. */
function boundaryOpener(keepLastTurns: number, open: boolean): number {
  return Math.max(keepLastTurns, open ? 1 : 0);
}

/** Whether enough entries are loaded to decide what a summary should cover. */
function boundaryIsLoaded(engine: Engine, settings: Settings, question: SummaryFacts): boolean {
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
