/**
 * Where cache breakpoints are set. `true` sets them at the last two system messages, or else at the last tool, and at about
 * every 15th of the newest blocks. `stablePrefix` (`meta.stablePrefix` of a projection) adds one at the end of the unchanged messages.
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

/** Anthropic allows four breakpoints. */
const MARKS = 4;

/** The last two system blocks get one: a summary is the last, and a new one must not throw away those before it. */
const SYSTEM_MARKS = 2;

/** The most blocks between two breakpoints. Anthropic searches only 20 blocks back for an earlier cache. */
const STRIDE = 15;

/** Whether a system block gets a breakpoint. Without system blocks the last tool gets it. */
export function isSystemMarked(index: number, count: number): boolean {
  return index >= count - SYSTEM_MARKS;
}

/** Returns the indices of the blocks of messages that get a cache breakpoint. `systems` is the number of system blocks. */
export function marksOf(blocks: readonly Block[], cache: CacheOption, systems: number): ReadonlySet<number> {
  const marks = new Set<number>();
  const add = (end: number): number => {
    const at = blocks.findLastIndex(({ markable }, index) => markable && index <= end);
    if (at >= 0) marks.add(at);
    return at;
  };
  const stable = cache === true ? 0 : (cache.stablePrefix ?? 0);
  add(blocks.findLastIndex(({ message }) => message < stable));
  let end = blocks.length - 1;
  const left = MARKS - Math.max(1, Math.min(systems, SYSTEM_MARKS));
  while (end >= 0 && marks.size < left) end = add(end) - STRIDE;
  return marks;
}

/** A cache breakpoint in Anthropic's format. */
export const EPHEMERAL = { type: "ephemeral" } as const;
