import type { Message } from "../../thread/message.ts";
import { type Block, hasGap, isAssistant, messageCount } from "../history/block.ts";
import type { History } from "../history/history.ts";
import { type Piece, type RenderOptions, renderBlock, type Variant } from "../render/piece.ts";
import { Sums } from "./sums.ts";

/** The placeholder for a missing user message. */
export const STAND_IN: Message = Object.freeze({ role: "user", content: "(continued)" });

/** The cost of any window over a history, in tokens and messages. */
export class Costs {
  readonly standIn: number;
  readonly #history: History;
  readonly #options: RenderOptions;
  /** If false, a block without a turn may belong to one that is not loaded. */
  readonly #isComplete: boolean;
  readonly #tokens = new Sums((index) => this.#tokensOf(index));
  readonly #counts = new Sums((index) => this.#countOf(index));
  readonly #pieces = new WeakMap<Block, Map<number, Piece>>();
  #clearedBefore = 0;

  constructor(history: History, options: RenderOptions, isComplete: boolean) {
    this.#history = history;
    this.#isComplete = isComplete;
    this.#options = options;
    this.standIn = options.tokensOf(STAND_IN);
  }

  get clearedBefore(): number {
    return this.#clearedBefore;
  }

  /** Sets the first block whose results are shown. */
  clearBefore(index: number): void {
    if (index === this.#clearedBefore) return;
    const [from, to] = [Math.min(index, this.#clearedBefore), Math.max(index, this.#clearedBefore)];
    this.#clearedBefore = index;
    this.#tokens.invalidate(from);
    // The cost of rewriting a repeated id is counted at the block that used the id first.
    for (const { earlierIds } of this.#history.blocks.slice(from, to)) {
      if (earlierIds >= 0) this.#tokens.invalidate(earlierIds);
    }
  }

  changed(from: number): void {
    this.#tokens.invalidate(from);
    this.#counts.invalidate(from);
  }

  /** The tokens of a window that starts at a block, with the head of the request it cuts. */
  tokensFrom(start: number): number {
    const { length } = this.#history.blocks;
    const own = this.#tokens.between(start, length) - (this.hasGapBefore(start) ? this.standIn : 0);
    const head = this.headOf(start).reduce((sum, index) => sum + this.piece(index, HEAD).tokens, 0);
    return own + head + (this.needsStandIn(start) ? this.standIn : 0);
  }

  /** The same in messages. */
  messagesFrom(start: number): number {
    const own = this.#counts.between(start, this.#history.blocks.length) - (this.hasGapBefore(start) ? 1 : 0);
    return own + this.headOf(start).length + (this.needsStandIn(start) ? 1 : 0);
  }

  /**
   * The user message of the request that `start` cuts, and its steers before `start`. A block that a summary covers is
   * included only if the turn has no answer since.
   */
  headOf(start: number): readonly number[] {
    const { blocks, turns, coverage } = this.#history;
    return turns.usersBefore(start).filter((index) => {
      const open = blocks[index]?.open ?? -1;
      return open > coverage.edge || turns.isOpenSince(start, coverage.newestWhenCovered(open));
    });
  }

  needsStandIn(start: number): boolean {
    const { blocks, turns, coverage } = this.#history;
    if (this.headOf(start).length > 0) return false;
    if (start >= blocks.length) return coverage.summary !== undefined;
    // An unreadable block renders to nothing, so the block after it decides.
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

  /** A rendered block, cached for each variant. */
  piece(index: number, variant: Variant): Piece {
    const block = this.#history.blocks[index];
    if (block === undefined) throw new RangeError(`no block ${index}`);
    if (variant.shrunk !== undefined) return renderBlock(block, variant, this.#options); // rare, so not cached
    const key =
      (variant.repeatsIds ? 1 : 0) +
      (variant.cleared ? 2 : 0) +
      (variant.withoutThinking ? 4 : 0) +
      (variant.head ? 8 : 0);
    const pieces = this.#pieces.get(block) ?? new Map<number, Piece>();
    if (pieces.size === 0) this.#pieces.set(block, pieces);
    let piece = pieces.get(key);
    if (piece === undefined) {
      piece = renderBlock(block, variant, this.#options);
      pieces.set(key, piece);
    }
    return piece;
  }

  /** The variant of a block in a window that starts at `start`. */
  variantFrom(start: number, index: number): Variant {
    const block = this.#history.blocks[index];
    const cleared = index < this.#clearedBefore;
    return (block?.earlierIds ?? -1) < start ? (cleared ? CLEARED : PLAIN) : { repeatsIds: true, cleared };
  }

  #tokensOf(index: number): number {
    if (this.#history.blocks[index]?.type === "unreadable") return 0;
    const cleared = index < this.#clearedBefore;
    let tokens = this.piece(index, { cleared }).tokens + (this.hasGapBefore(index) ? this.standIn : 0);
    // A later block that repeats an id of this one has another cost when both are shown.
    for (const repeat of this.#history.repeatsOf(index)) {
      const its = { cleared: repeat < this.#clearedBefore };
      tokens += this.piece(repeat, { ...its, repeatsIds: true }).tokens - this.piece(repeat, its).tokens;
    }
    return tokens;
  }

  #countOf(index: number): number {
    const block = this.#history.blocks[index];
    return block === undefined ? 0 : messageCount(block) + (this.hasGapBefore(index) ? 1 : 0);
  }
}

const HEAD: Variant = { head: true };
const PLAIN: Variant = {};
const CLEARED: Variant = { cleared: true };
