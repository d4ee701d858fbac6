import type { Block } from "../history/block.ts";
import type { ContextPolicy } from "../policy/fields.ts";
import { firstIndex } from "../search.ts";

/** Computed from the policy only. If the unit depended on the free room, every line would move with it. */
export function gridUnit({ window, maxInputTokens, reserveOutputTokens }: ContextPolicy): number {
  return Math.max(1, Math.floor(window.step * (maxInputTokens - reserveOutputTokens)));
}

/** A window must hold two grid lines, and system prompt, tools and newest block take some of the room. */
const MAX_STEP = 0.875;

/** The unit of a step that applies in full. */
export function wholeUnit(policy: ContextPolicy): number {
  const { window } = policy;
  return window.step <= MAX_STEP ? gridUnit(policy) : gridUnit({ ...policy, window: { ...window, step: MAX_STEP } });
}

/**
 * The first block in [from, to] that begins at or after the first grid line behind the start of the block before `from`.
 * If there is none, the grid is halved until there is one. The last resort is `from`.
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
