/**
 * Where cache breakpoints are set. `true` sets them at the end of tools and system, and at about every 15th of the
 * newest blocks. `stablePrefix` (`meta.stablePrefix` of a projection) adds one at the end of the unchanged messages.
 */
export type CacheOption =
  | true
  | {
      /** The number of unchanged messages at the start. Default: none. */
      readonly stablePrefix?: number | undefined;
    };

/** A block of a prompt. A thinking block cannot have a cache breakpoint. */
export interface Block {
  /** The index of the block's message in the neutral list. */
  readonly message: number;
  readonly markable: boolean;
}

/** How many breakpoints the messages get. Anthropic allows four; one is for tools and system. */
const MARKS = 3;

/** The most blocks between two breakpoints. Anthropic searches only 20 blocks back for an earlier cache. */
const STRIDE = 15;

/** Returns the indices of the blocks that get a cache breakpoint. */
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

/** A cache breakpoint in Anthropic's format. */
export const EPHEMERAL = { type: "ephemeral" } as const;
