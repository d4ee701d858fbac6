import type { Message } from "../../thread/message.ts";
import { type Block, hasGap, isAssistant, messageCount } from "../history/block.ts";
import type { History } from "../history/history.ts";
import { type RenderedBlock, type RenderOptions, type RenderVariant, renderBlock } from "../render/render-block.ts";

/** The placeholder for a missing user message. */
export const PLACEHOLDER_MESSAGE: Message = Object.freeze({ role: "user", content: "(continued)" });

/** Computes the tokens and messages of a context window that starts at any block. */
export class WindowCosts {
  readonly placeholderTokens: number;
  readonly #history: History;
  readonly #options: RenderOptions;
  /** Whether the whole thread is loaded. If not, a block without a turn may belong to a turn that is not loaded. */
  readonly #isComplete: boolean;
  readonly #tokens = new RangeSums((index) => this.#tokensOf(index));
  readonly #counts = new RangeSums((index) => this.#countOf(index));
  readonly #renderedBlocks = new WeakMap<Block, Map<number, RenderedBlock>>();
  #clearedBefore = 0;
  #headLimit = Number.POSITIVE_INFINITY;

  constructor(history: History, options: RenderOptions, isComplete: boolean) {
    this.#history = history;
    this.#isComplete = isComplete;
    this.#options = options;
    this.placeholderTokens = options.tokensOf(PLACEHOLDER_MESSAGE);
  }

  get clearedBefore(): number {
    return this.#clearedBefore;
  }

  /** Sets the first block whose tool results are shown. Results before it are cleared. */
  clearBefore(index: number): void {
    if (index === this.#clearedBefore) return;
    const [from, to] = [Math.min(index, this.#clearedBefore), Math.max(index, this.#clearedBefore)];
    this.#clearedBefore = index;
    this.#tokens.invalidate(from);
    // The block that first used a repeated id counts the cost of the rewritten id, so its tokens change too.
    for (const { earlierIds } of this.#history.blocks.slice(from, to)) {
      if (earlierIds >= 0) this.#tokens.invalidate(earlierIds);
    }
  }

  /** Sets the most tokens that a head may take. A longer one is only the ask. */
  limitHead(tokens: number): void {
    this.#headLimit = tokens;
  }

  changed(from: number): void {
    this.#tokens.invalidate(from);
    this.#counts.invalidate(from);
  }

  /** Returns the tokens of a window that starts at block `start`, with the user messages of the request it cuts. */
  tokensFrom(start: number): number {
    const { length } = this.#history.blocks;
    const own = this.#tokens.between(start, length) - (this.hasGapBefore(start) ? this.placeholderTokens : 0);
    const head = this.headOf(start);
    return own + this.#headTokens(head) + (this.needsPlaceholder(start, head) ? this.placeholderTokens : 0);
  }

  /** Like `tokensFrom`, but counts messages. */
  messagesFrom(start: number): number {
    const own = this.#counts.between(start, this.#history.blocks.length) - (this.hasGapBefore(start) ? 1 : 0);
    const head = this.headOf(start);
    return own + head.length + (this.needsPlaceholder(start, head) ? 1 : 0);
  }

  /**
   * Returns the user blocks of the request that `start` cuts: its ask, and those sent while it ran, unless they are
   * too long. A block that a summary covers is included only if the turn has no answer since.
   */
  headOf(start: number): readonly number[] {
    const { blocks, turns, coverage } = this.#history;
    const users = turns.usersBefore(start);
    if (users.length === 0) return users;
    const head = users.filter((index) => {
      const open = blocks[index]?.open ?? -1;
      return open > coverage.edge || turns.isOpenSince(start, coverage.newestWhenCovered(open));
    });
    if (this.#headTokens(head) <= this.#headLimit) return head;
    const ask = users.find((index) => {
      const block = blocks[index];
      return block?.type === "user" && !block.item.isSteered;
    });
    return head.filter((index) => index === ask);
  }

  #headTokens(head: readonly number[]): number {
    return head.reduce((sum, index) => sum + this.renderedBlock(index, HEAD_VARIANT).tokens, 0);
  }

  needsPlaceholder(start: number, head = this.headOf(start)): boolean {
    const { blocks, turns, coverage } = this.#history;
    if (head.length > 0) return false;
    if (start >= blocks.length) return coverage.summary !== undefined;
    // Unreadable blocks render to nothing, so the next block decides.
    let first = start;
    while (blocks[first]?.type === "unreadable") first++;
    if (!isAssistant(blocks[first])) return false;
    return this.#isComplete || turns.openerOf(start) !== undefined;
  }

  hasGapBefore(index: number): boolean {
    const { blocks } = this.#history;
    const block = blocks[index];
    return block !== undefined && hasGap(blocks[index - 1], block);
  }

  /** Renders a block, and caches each variant. */
  renderedBlock(index: number, variant: RenderVariant): RenderedBlock {
    const block = this.#history.blocks[index];
    if (block === undefined) throw new RangeError(`no block ${index}`);
    if (variant.shrunk !== undefined) return renderBlock(block, variant, this.#options); // not cached, because shortened results are rare
    const key =
      (variant.repeatsIds ? 1 : 0) +
      (variant.cleared ? 2 : 0) +
      (variant.withoutThinking ? 4 : 0) +
      (variant.head ? 8 : 0);
    const known = this.#renderedBlocks.get(block) ?? new Map<number, RenderedBlock>();
    if (known.size === 0) this.#renderedBlocks.set(block, known);
    let rendered = known.get(key);
    if (rendered === undefined) {
      rendered = renderBlock(block, variant, this.#options);
      known.set(key, rendered);
    }
    return rendered;
  }

  /** Returns how a block is rendered in a window that starts at `start`. */
  variantFrom(start: number, index: number): RenderVariant {
    const block = this.#history.blocks[index];
    const cleared = index < this.#clearedBefore;
    return (block?.earlierIds ?? -1) < start
      ? cleared
        ? CLEARED_VARIANT
        : PLAIN_VARIANT
      : { repeatsIds: true, cleared };
  }

  #tokensOf(index: number): number {
    if (this.#history.blocks[index]?.type === "unreadable") return 0;
    const cleared = index < this.#clearedBefore;
    let tokens =
      this.renderedBlock(index, { cleared }).tokens + (this.hasGapBefore(index) ? this.placeholderTokens : 0);
    // A later block with a repeated id gets a new id if both blocks are shown. This adds the difference in tokens.
    for (const repeat of this.#history.repeatsOf(index)) {
      const its = { cleared: repeat < this.#clearedBefore };
      tokens +=
        this.renderedBlock(repeat, { ...its, repeatsIds: true }).tokens - this.renderedBlock(repeat, its).tokens;
    }
    return tokens;
  }

  #countOf(index: number): number {
    const block = this.#history.blocks[index];
    return block === undefined ? 0 : messageCount(block) + (this.hasGapBefore(index) ? 1 : 0);
  }
}

const HEAD_VARIANT: RenderVariant = { head: true };
const PLAIN_VARIANT: RenderVariant = {};
const CLEARED_VARIANT: RenderVariant = { cleared: true };

/**
 * Sums ranges of a growing list whose terms are expensive. Computes only the terms of requested ranges. A change keeps
 * the sums of earlier terms.
 */
class RangeSums {
  readonly #term: (index: number) => number;
  /** `#up` has the sums from the origin forward, `#down` those before the origin. */
  #origin: number | undefined;
  #up: number[] = [];
  #down: number[] = [];

  constructor(term: (index: number) => number) {
    this.#term = term;
  }

  /** Marks the terms from `index` on as changed. */
  invalidate(index: number): void {
    if (this.#origin === undefined) return;
    if (index < this.#origin) this.#origin = undefined;
    else this.#up.length = Math.min(this.#up.length, index - this.#origin + 1);
  }

  /** Returns the sum of the terms in [from, end). */
  between(from: number, end: number): number {
    if (this.#origin === undefined) {
      this.#origin = end;
      this.#up = [0];
      this.#down = [];
    }
    return this.#at(end, this.#origin) - this.#at(from, this.#origin);
  }

  #at(index: number, origin: number): number {
    if (index >= origin) return extended(this.#up, index - origin, (step) => this.#term(origin + step - 1));
    return extended(this.#down, origin - 1 - index, (step) => -this.#term(origin - 1 - step), 0);
  }
}

/** Extends the running sums to a length. `term(n)` is the nth term. */
function extended(sums: number[], upTo: number, term: (step: number) => number, before?: number): number {
  for (let step = sums.length; step <= upTo; step++) sums.push((sums[step - 1] ?? before ?? 0) + term(step));
  return sums[upTo] ?? 0;
}
