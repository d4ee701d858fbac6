/**
 * Where a provider shall keep its prompt cache. `true` marks the end of tools and system, and the newest blocks about
 * every 15; with `stablePrefix` (`meta.stablePrefix` of a projection) also the end of the messages that did not change.
 */
export type CacheOption = true | { readonly stablePrefix?: number | undefined };

/** A block of a prompt: thinking cannot carry a mark. */
export interface Block {
  /** The index of its message in the neutral list. */
  readonly message: number;
  readonly markable: boolean;
}

/** Anthropic takes four; one of them belongs to tools and system. */
const MARKS = 3;

/** Anthropic looks back 20 blocks for an earlier cache, so marks this far apart always find each other. */
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

/** The mark itself, as Anthropic spells it. */
export const EPHEMERAL = { type: "ephemeral" } as const;
