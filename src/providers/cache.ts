/**
 * The places for cache breakpoints. `true` marks the end of tools and system, and about every 15th of the newest blocks. With
 * `stablePrefix` (`meta.stablePrefix` of a projection), the end of the unchanged messages is marked too.
 */
export type CacheOption = true | { readonly stablePrefix?: number | undefined };

/** A block of a prompt. Thinking blocks are not markable. */
export interface Block {
  /** The index of its message in the neutral list. */
  readonly message: number;
  readonly markable: boolean;
}

/** Anthropic allows four marks. One of them is for tools and system. */
const MARKS = 3;

/** Anthropic looks back 20 blocks for an earlier cache, so marks must not be farther apart. */
const STRIDE = 15;

/** The indices of the blocks to mark. */
export function marksOf(blocks: readonly Block[], cache: CacheOption): ReadonlySet<number> {
  const marks = new Set<number>();
  const add = (end: number): number => {
    const at = blocks.findLastIndex(({ markable }, index) => markable && index <= end);
    if (at >= 0) marks.add(at);
    return at;
  };
  const stable = cache === true ? 0 : (cache.stablePrefix ?? 0);
  add(blocks.findLastIndex(({ message }) => message < stable));
  let end = blocks.length - 1;
  while (end >= 0 && marks.size < MARKS) end = add(end) - STRIDE;
  return marks;
}

/** The mark in the form of Anthropic. */
export const EPHEMERAL = { type: "ephemeral" } as const;
