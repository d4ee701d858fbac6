import type { History } from "../history/history.ts";
import type { ContextPolicy } from "../policy/fields.ts";
import { firstIndex } from "../search.ts";
import type { Costs } from "./costs.ts";
import { gridStart } from "./grid.ts";

/** Which blocks are shown. */
export interface Window {
  /** The first block that no summary covers. */
  readonly first: number;
  /** The first block shown. */
  readonly start: number;
  /** Where the turns begin that only the budget may cut. */
  readonly floor: number;
  /** Whether the newest block and its head fit. */
  readonly fits: boolean;
  /** The earliest start that anything was decided from: no block before it has made a difference. */
  readonly looked: number;
}

/** The window over a history for what room there is; the same for equal blocks, whatever is pending of them. */
export function decideWindow(history: History, costs: Costs, policy: ContextPolicy, room: number): Window {
  const { blocks, coverage } = history;
  const first = coverage.firstUncovered;
  const newest = blocks.length - 1;
  const floor = floorOf(history, policy, first);
  if (first > newest) return { first, start: first, floor, fits: costs.tokensFrom(first) <= room, looked: first };
  const byBudget = earliest(first, newest, costs, room);
  if (byBudget > newest) return { first, start: newest, floor, fits: false, looked: newest };
  const byCeiling = Math.min(ceilingStart(history, costs, policy, first), floor);
  const lower = Math.max(byBudget, byCeiling);
  const limit = byBudget > byCeiling ? newest : Math.min(newest, Math.max(lower, floor), halfway(lower, newest, costs));
  const keepsAll = lower === first || policy.window.mode === "sliding";
  const start = keepsAll ? lower : gridStart(blocks, lower, limit, policy);
  return { first, start, floor, fits: true, looked: lower };
}

/** The latest start that leaves half of the messages: a ceiling is no reason to show next to nothing. */
function halfway(lower: number, newest: number, costs: Costs): number {
  const most = costs.messagesFrom(lower);
  return firstIndex(lower, newest + 1, (start) => 2 * costs.messagesFrom(start) < most) - 1;
}

/** The longest window that fits; costs never grow when it starts later. */
function earliest(first: number, newest: number, costs: Costs, room: number): number {
  const fits = (start: number): boolean => costs.tokensFrom(start) <= room;
  // Old blocks are not even rendered: look back in growing strides until one is too far.
  let near = newest + 1;
  for (let stride = 1; near > first; stride *= 2) {
    const far = Math.max(first, near - stride);
    if (!fits(far)) return firstIndex(far + 1, near, fits);
    near = far;
  }
  return first;
}

/** The earliest start that keeps the ceilings on messages and turns. */
function ceilingStart(history: History, costs: Costs, policy: ContextPolicy, first: number): number {
  const { maxMessages, maxTurns } = policy;
  const newest = history.blocks.length - 1;
  const byMessages =
    maxMessages === 0 ? first : firstIndex(first, newest, (start) => costs.messagesFrom(start) <= maxMessages);
  return Math.max(byMessages, maxTurns === 0 ? first : turnStart(history, maxTurns, first));
}

function turnStart({ turns }: History, maxTurns: number, first: number): number {
  const { openers } = turns;
  const opened = firstIndex(0, openers.length, (turn) => (openers[turn] ?? 0) >= first);
  const opener = turns.openerOf(first);
  const shown = openers.length - opened + (opener !== undefined && opener < first ? 1 : 0); // a part of a turn is one too
  return shown <= maxTurns ? first : (openers[openers.length - maxTurns] ?? first);
}

function floorOf({ blocks, turns }: History, { keepLastTurns }: ContextPolicy, first: number): number {
  if (keepLastTurns === 0) return blocks.length;
  return Math.max(first, turns.lastOpener(keepLastTurns) ?? first);
}
