import { firstIndex } from "../binary-search.ts";
import { type Block, isAssistant } from "../history/block.ts";
import type { History } from "../history/history.ts";
import type { ContextPolicy } from "../policy/policy.ts";
import type { WindowCosts } from "./window-costs.ts";

/** The blocks that are shown: from `start` to the end. */
export interface ContextWindow {
  /** The first block that no summary covers. */
  readonly first: number;
  /** The index of the first block that is shown. */
  readonly start: number;
  /** The latest block at which the window may start. */
  readonly newest: number;
  /** The first block of the newest turns that only the budget may cut. */
  readonly keptFrom: number;
  /** Whether the newest block fits, with the user messages of its request. */
  readonly fits: boolean;
  /** The earliest block that was read for the decision. Blocks before it could not change it. */
  readonly earliestRead: number;
}

/** The tokens available for the window, and the size of the lane in tokens. */
export interface WindowBudget {
  readonly freeTokens: number;
  readonly measure: number;
  /** Whether a step above 0.5 applies in full (`ProjectionRules`). */
  readonly movesByWholeStep: boolean;
  /** Whether older steered messages leave space for what is new (`ProjectionRules`). */
  readonly makesSpace: boolean;
}

/**
 * Decides where the context window starts. Pending and stored blocks give the same result. Steered messages before the
 * window are shown while they take at most half of it and all that is new fits beside them.
 */
export function decideWindow(
  history: History,
  costs: WindowCosts,
  policy: ContextPolicy,
  budget: WindowBudget,
): ContextWindow {
  const { freeTokens, makesSpace } = budget;
  costs.limitHead(makesSpace ? freeTokens / 2 : Number.POSITIVE_INFINITY);
  const window = windowBeside(history, costs, policy, budget);
  if (window.fits || !makesSpace) return window;
  costs.limitHead(0);
  return windowBeside(history, costs, policy, budget);
}

function windowBeside(
  history: History,
  costs: WindowCosts,
  policy: ContextPolicy,
  budget: WindowBudget,
): ContextWindow {
  const { freeTokens, measure } = budget;
  const { blocks, coverage } = history;
  const first = coverage.firstUncovered;
  const keptFrom = firstKeptBlock(history, policy, first);
  const fits = (start: number): boolean => costs.tokensFrom(start) <= freeTokens;
  const newest = Math.max(first, newestStart(history, budget));
  const byBudget = earliestFittingStart(first, newest, fits);
  if (byBudget > newest) return { first, start: newest, newest, keptFrom, fits: false, earliestRead: newest };
  const byCeiling = Math.min(ceilingStart(history, costs, policy, first, newest), keptFrom);
  const lower = Math.max(byBudget, byCeiling);
  const fitting = measure - (blocks[lower]?.position ?? 0);
  const unit = budget.movesByWholeStep ? fullStepMeasure(policy) : stepMeasure(policy);
  const limit =
    byBudget > byCeiling
      ? latestStart(history, lower, newest, leastMeasureKept(policy, unit, fitting, budget), measure)
      : Math.min(Math.max(lower, keptFrom), latestStartWithHalf(lower, newest, costs));
  const keepsAll = lower === first || policy.window.mode === "sliding";
  const start = keepsAll ? lower : startAtStep(blocks, lower, Math.min(limit, newest), unit);
  return { first, start: firstIndex(start, newest, fits), newest, keptFrom, fits: true, earliestRead: lower };
}

/**
 * Returns the latest block at which the window may start, so that the model is shown everything new: the messages of
 * the last turn that it has not answered. In a running request it is the last block with tool calls.
 */
function newestStart({ blocks, turns }: History, { makesSpace }: WindowBudget): number {
  const newest = blocks.length - 1;
  const answered = blocks.findLastIndex(isAssistant);
  const opener = turns.lastOpener(1) ?? newest;
  const isRunning = blocks[answered]?.type === "exchange" && opener <= answered;
  if (isRunning) return answered;
  return makesSpace ? Math.min(newest, Math.max(opener, answered + 1)) : newest;
}

/**
 * Returns how many tokens must stay when the window moves, so that it does not become nearly empty: a quarter of the tokens
 * that fit. If a single step removes more than three quarters, it is what remains after that step.
 */
function leastMeasureKept(
  { window }: ContextPolicy,
  unit: number,
  fitting: number,
  { movesByWholeStep }: WindowBudget,
): number {
  const quarter = fitting / 4;
  return movesByWholeStep && window.step > 0.5 ? Math.min(quarter, fitting - unit) : quarter;
}

/** Returns the latest start that leaves at least `least` tokens in the window. */
function latestStart({ blocks }: History, lower: number, newest: number, least: number, measure: number): number {
  return firstIndex(lower, newest + 1, (start) => measure - (blocks[start]?.position ?? 0) < least) - 1;
}

/** Returns the latest start that leaves half of the messages, so that a limit does not leave a nearly empty window. */
function latestStartWithHalf(lower: number, newest: number, costs: WindowCosts): number {
  const most = costs.messagesFrom(lower);
  return firstIndex(lower, newest + 1, (start) => 2 * costs.messagesFrom(start) < most) - 1;
}

/** Returns the start of the longest window that fits. A later start never costs more. */
function earliestFittingStart(first: number, newest: number, fits: (start: number) => boolean): number {
  // Searches backward in growing strides until a window does not fit, so that older blocks are not rendered.
  let near = newest + 1;
  for (let stride = 1; near > first; stride *= 2) {
    const far = Math.max(first, near - stride);
    if (!fits(far)) return firstIndex(far + 1, near, fits);
    near = far;
  }
  return first;
}

/** Returns the earliest start within the limits on messages and turns. */
function ceilingStart(
  history: History,
  costs: WindowCosts,
  policy: ContextPolicy,
  first: number,
  newest: number,
): number {
  const { maxMessages, maxTurns } = policy;
  const byMessages =
    maxMessages === 0 ? first : firstIndex(first, newest, (start) => costs.messagesFrom(start) <= maxMessages);
  return Math.max(byMessages, maxTurns === 0 ? first : turnStart(history, maxTurns, first));
}

function turnStart({ turns }: History, maxTurns: number, first: number): number {
  const { openers } = turns;
  const opened = firstIndex(0, openers.length, (turn) => (openers[turn] ?? 0) >= first);
  const opener = turns.openerOf(first);
  const shown = openers.length - opened + (opener !== undefined && opener < first ? 1 : 0); // a turn that is shown in part counts as a turn
  return shown <= maxTurns ? first : (openers[openers.length - maxTurns] ?? first);
}

function firstKeptBlock({ blocks, turns }: History, { keepLastTurns }: ContextPolicy, first: number): number {
  if (keepLastTurns === 0) return blocks.length;
  return Math.max(first, turns.lastOpener(keepLastTurns) ?? first);
}

/**
 * Returns how far a stable window moves at once, in tokens. It depends only on the policy: free tokens change often,
 * and each change would move the window.
 */
function stepMeasure({ window, maxInputTokens, reserveOutputTokens }: ContextPolicy): number {
  return Math.max(1, Math.floor(window.step * (maxInputTokens - reserveOutputTokens)));
}

/** The largest step, as a fraction. System prompt, tools and the newest block need the rest of the window. */
const MAX_STEP = 0.875;

/** Returns how far the start of a stable window moves at once, in tokens. A policy's step counts at most as `MAX_STEP`. */
function fullStepMeasure(policy: ContextPolicy): number {
  const { window } = policy;
  return window.step <= MAX_STEP
    ? stepMeasure(policy)
    : stepMeasure({ ...policy, window: { ...window, step: MAX_STEP } });
}

/**
 * Returns the first block in [from, to] that begins at or after the next multiple of the step. If there is none, the
 * step is halved repeatedly. The fallback is `from`.
 */
function startAtStep(blocks: readonly Block[], from: number, to: number, first: number): number {
  const before = blocks[from - 1];
  if (before === undefined) return from;
  for (let unit = first; unit >= 1; unit = Math.floor(unit / 2)) {
    const next = (Math.floor(before.position / unit) + 1) * unit;
    const start = firstIndex(from, to + 1, (index) => (blocks[index]?.position ?? next) >= next);
    if (start <= to) return start;
  }
  return from;
}

/**
 * Returns the first block whose results are shown; results before it are cleared. In a stable window it moves only when
 * the lane has grown by a whole step. Rendered bytes stay equal in between.
 */
export function clearedBefore({ blocks, turns }: History, policy: ContextPolicy, measure: number): number {
  const { keepLast } = policy.toolResults;
  if (keepLast === 0) return 0;
  const end = policy.window.mode === "stable" ? lastStep(measure, stepMeasure(policy)) : Number.POSITIVE_INFINITY;
  const known = firstIndex(0, blocks.length, (index) => (blocks[index]?.position ?? 0) >= end);
  let kept = 0;
  let exchange = known;
  while (exchange > 0 && kept < keepLast) {
    exchange--;
    if (blocks[exchange]?.type === "exchange") kept++;
  }
  if (kept < keepLast) return 0;
  return Math.min(exchange, firstKeptBlockBefore(turns.openers, known, policy.keepLastTurns));
}

/** Returns the first block of the last `keepLastTurns` turns before a block. */
function firstKeptBlockBefore(openers: readonly number[], end: number, keepLastTurns: number): number {
  if (keepLastTurns === 0) return end;
  const known = firstIndex(0, openers.length, (turn) => (openers[turn] ?? 0) >= end);
  return openers[known - keepLastTurns] ?? 0;
}

function lastStep(measure: number, unit: number): number {
  return Math.floor(measure / unit) * unit;
}
