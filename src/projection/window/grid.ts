import type { Block } from "../history/block.ts";
import type { ContextPolicy } from "../policy/fields.ts";
import { firstIndex } from "../search.ts";

/** From the policy alone: a unit that followed the room that is left would move every line with it. */
export function gridUnit({ window, maxInputTokens, reserveOutputTokens }: ContextPolicy): number {
  return Math.max(1, Math.floor(window.step * (maxInputTokens - reserveOutputTokens)));
}

/**
 * The first block in [from, to] that begins at or after a grid line which the block before it does not reach. When none
 * does, the grid is halved until one does; `from` itself is the last resort.
 */
export function gridStart(blocks: readonly Block[], from: number, to: number, policy: ContextPolicy): number {
  const before = blocks[from - 1];
  if (before === undefined) return from;
  for (let unit = gridUnit(policy); unit >= 1; unit = Math.floor(unit / 2)) {
    const line = (Math.floor(before.position / unit) + 1) * unit;
    const start = firstIndex(from, to + 1, (index) => (blocks[index]?.position ?? line) >= line);
    if (start <= to) return start;
  }
  return from;
}
