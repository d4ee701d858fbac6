import type { Block } from "../history/block.ts";
import type { ContextPolicy } from "../policy/fields.ts";
import { firstIndex } from "../search.ts";

/** From the policy alone: a unit that followed the room that is left would move every line with it. */
export function gridUnit({ window, maxInputTokens, reserveOutputTokens }: ContextPolicy): number {
  return Math.max(1, Math.floor(window.step * (maxInputTokens - reserveOutputTokens)));
}

/** System prompt, tools and newest block take room too: no window holds two lines that are further apart than this. */
const MAX_STEP = 0.875;

/** The unit of a step that is made as a whole. */
export function wholeUnit(policy: ContextPolicy): number {
  const { window } = policy;
  return window.step <= MAX_STEP ? gridUnit(policy) : gridUnit({ ...policy, window: { ...window, step: MAX_STEP } });
}

/**
 * The first block in [from, to] that begins at or after a grid line which the block before it does not reach. When none
 * does, the grid is halved until one does; `from` itself is the last resort.
 */
export function gridStart(blocks: readonly Block[], from: number, to: number, first: number): number {
  const before = blocks[from - 1];
  if (before === undefined) return from;
  for (let unit = first; unit >= 1; unit = Math.floor(unit / 2)) {
    const line = (Math.floor(before.position / unit) + 1) * unit;
    const start = firstIndex(from, to + 1, (index) => (blocks[index]?.position ?? line) >= line);
    if (start <= to) return start;
  }
  return from;
}
