import type { History } from "../history/history.ts";
import type { ContextPolicy } from "../policy/fields.ts";
import { firstIndex } from "../search.ts";
import { gridUnit } from "./grid.ts";

/**
 * The first block whose results are shown. Results before it are cleared. In a stable window it moves only when the lane's
 * measure crosses a grid line, so that the rendered bytes stay the same in between.
 */
export function clearedBefore({ blocks, turns }: History, policy: ContextPolicy, measure: number): number {
  const { keepLast } = policy.toolResults;
  if (keepLast === 0) return 0;
  const end = policy.window.mode === "stable" ? lastLine(measure, gridUnit(policy)) : Number.POSITIVE_INFINITY;
  const known = firstIndex(0, blocks.length, (index) => (blocks[index]?.position ?? 0) >= end);
  let kept = 0;
  let exchange = known;
  while (exchange > 0 && kept < keepLast) {
    exchange--;
    if (blocks[exchange]?.type === "exchange") kept++;
  }
  if (kept < keepLast) return 0;
  return Math.min(exchange, floorAt(turns.openers, known, policy.keepLastTurns));
}

/** The first block of the last `keepLastTurns` turns before a block. */
function floorAt(openers: readonly number[], end: number, keepLastTurns: number): number {
  if (keepLastTurns === 0) return end;
  const known = firstIndex(0, openers.length, (turn) => (openers[turn] ?? 0) >= end);
  return openers[known - keepLastTurns] ?? 0;
}

function lastLine(measure: number, unit: number): number {
  return Math.floor(measure / unit) * unit;
}
