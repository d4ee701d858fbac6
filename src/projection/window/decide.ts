import { isAssistant } from "../history/block.ts";
import type { History } from "../history/history.ts";
import type { ContextPolicy } from "../policy/fields.ts";
import { firstIndex } from "../search.ts";
import type { Costs } from "./costs.ts";
import { gridStart, gridUnit, wholeUnit } from "./grid.ts";

/** Which blocks are shown. */
export interface Window {
  /** The first block that no summary covers. */
  readonly first: number;
  /** The first block shown. */
  readonly start: number;
  /** The latest possible start. */
  readonly newest: number;
  /** The first block of the turns that only the budget may cut. */
  readonly floor: number;
  /** Whether the newest block and its head fit. */
  readonly fits: boolean;
  /** The earliest block that affected the decision. */
  readonly looked: number;
}

/** The tokens for a window, and the measure of the lane. */
export interface Space {
  readonly room: number;
  readonly measure: number;
  /** Whether a step above 0.5 applies in full (`ProjectionRules`). */
  readonly movesByWholeStep: boolean;
}

/** The window over a history. Equal blocks give the same window, whether they are pending or committed. */
export function decideWindow(history: History, costs: Costs, policy: ContextPolicy, space: Space): Window {
  const { room, measure } = space;
  const { blocks, coverage } = history;
  const first = coverage.firstUncovered;
  const floor = floorOf(history, policy, first);
  const fits = (start: number): boolean => costs.tokensFrom(start) <= room;
  if (first >= blocks.length) return { first, start: first, newest: first, floor, fits: fits(first), looked: first };
  const newest = Math.max(first, newestStart(history));
  const byBudget = earliest(first, newest, fits);
  if (byBudget > newest) return { first, start: newest, newest, floor, fits: false, looked: newest };
  const byCeiling = Math.min(ceilingStart(history, costs, policy, first, newest), floor);
  const lower = Math.max(byBudget, byCeiling);
  const fitting = measure - (blocks[lower]?.position ?? 0);
  const unit = space.movesByWholeStep ? wholeUnit(policy) : gridUnit(policy);
  const limit =
    byBudget > byCeiling
      ? latestStart(history, lower, newest, stays(policy, unit, fitting, space), measure)
      : Math.min(Math.max(lower, floor), halfway(lower, newest, costs));
  const keepsAll = lower === first || policy.window.mode === "sliding";
  const start = keepsAll ? lower : gridStart(blocks, lower, Math.min(limit, newest), unit);
  return { first, start: firstIndex(start, newest, fits), newest, floor, fits: true, looked: lower };
}

/**
 * The latest possible start, so that everything the model has not been shown yet is shown. That is the newest block. In a
 * running request, it is the last exchange with its results and the steers after it.
 */
function newestStart({ blocks, turns }: History): number {
  const newest = blocks.length - 1;
  const answered = blocks.findLastIndex(isAssistant);
  const isRunning = blocks[answered]?.type === "exchange" && (turns.lastOpener(1) ?? newest) <= answered;
  return isRunning ? answered : newest;
}

/**
 * The least measure that stays when the window moves, so that the grid does not leave a nearly empty window. A quarter of
 * what fits, or the remainder of a larger step.
 */
function stays({ window }: ContextPolicy, unit: number, fitting: number, { movesByWholeStep }: Space): number {
  const quarter = fitting / 4;
  return movesByWholeStep && window.step > 0.5 ? Math.min(quarter, fitting - unit) : quarter;
}

/** The latest start that leaves at least this much. */
function latestStart({ blocks }: History, lower: number, newest: number, least: number, measure: number): number {
  return firstIndex(lower, newest + 1, (start) => measure - (blocks[start]?.position ?? 0) < least) - 1;
}

/** The latest start that leaves half of the messages, so that a ceiling does not leave a nearly empty window. */
function halfway(lower: number, newest: number, costs: Costs): number {
  const most = costs.messagesFrom(lower);
  return firstIndex(lower, newest + 1, (start) => 2 * costs.messagesFrom(start) < most) - 1;
}

/** The start of the longest window that fits. A later start never costs more. */
function earliest(first: number, newest: number, fits: (start: number) => boolean): number {
  // Looks back in growing strides until a window does not fit, so that old blocks are not rendered.
  let near = newest + 1;
  for (let stride = 1; near > first; stride *= 2) {
    const far = Math.max(first, near - stride);
    if (!fits(far)) return firstIndex(far + 1, near, fits);
    near = far;
  }
  return first;
}

/** The earliest start within the ceilings on messages and turns. */
function ceilingStart(history: History, costs: Costs, policy: ContextPolicy, first: number, newest: number): number {
  const { maxMessages, maxTurns } = policy;
  const byMessages =
    maxMessages === 0 ? first : firstIndex(first, newest, (start) => costs.messagesFrom(start) <= maxMessages);
  return Math.max(byMessages, maxTurns === 0 ? first : turnStart(history, maxTurns, first));
}

function turnStart({ turns }: History, maxTurns: number, first: number): number {
  const { openers } = turns;
  const opened = firstIndex(0, openers.length, (turn) => (openers[turn] ?? 0) >= first);
  const opener = turns.openerOf(first);
  const shown = openers.length - opened + (opener !== undefined && opener < first ? 1 : 0); // part of a turn counts as a turn
  return shown <= maxTurns ? first : (openers[openers.length - maxTurns] ?? first);
}

function floorOf({ blocks, turns }: History, { keepLastTurns }: ContextPolicy, first: number): number {
  if (keepLastTurns === 0) return blocks.length;
  return Math.max(first, turns.lastOpener(keepLastTurns) ?? first);
}
