import type { Entry } from "../../thread/entry.ts";
import { firstIndex } from "../binary-search.ts";
import type { Block } from "./block.ts";
import type { UndoLog } from "./undo-log.ts";

/** The blocks that summaries cover: all blocks up to `edge`, which only increases. */
export class Coverage {
  /** Blocks whose `open` seq is at most this are covered. */
  edge = Number.NEGATIVE_INFINITY;
  /** The summary that is shown: the one that covers up to the latest seq. Of equal ones, the newest. */
  summary: Entry | undefined;
  /** The last seq that the shown summary covers. */
  reach = -2;
  /** Each increase of `edge`, with the newest block at that time. */
  readonly #moves: { readonly edge: number; readonly newest: number }[] = [];
  readonly #blocks: readonly Block[];
  readonly #undoLog: UndoLog;

  constructor(blocks: readonly Block[], undoLog: UndoLog) {
    this.#blocks = blocks;
    this.#undoLog = undoLog;
  }

  /** Computes the new edge from the blocks that exist when the summary is written. Later entries do not change it. */
  add(summary: Entry, reach: number): void {
    const { edge, reach: reached, summary: shown } = this;
    this.#undoLog.record(() => {
      this.edge = edge;
      this.reach = reached;
      this.summary = shown;
    });
    if (reach > edge) this.#move(Math.max(edge, this.#edgeOf(reach)));
    if (reach < reached) return;
    this.summary = summary;
    this.reach = reach;
  }

  /** Returns the newest block at the time when a block became covered. */
  newestWhenCovered(open: number): number {
    return this.#moves.find(({ edge }) => edge >= open)?.newest ?? -1;
  }

  /** The index of the first block that no summary covers. */
  get firstUncovered(): number {
    return firstIndex(0, this.#blocks.length, (index) => (this.#blocks[index]?.open ?? 0) > this.edge);
  }

  #move(edge: number): void {
    if (edge === this.edge) return;
    this.edge = edge;
    this.#moves.push({ edge, newest: this.#blocks.length - 1 });
    this.#undoLog.record(() => this.#moves.pop());
  }

  /** Returns the edge for a summary up to `reach`. An edge inside a block moves to before the block. */
  #edgeOf(reach: number): number {
    let edge = reach;
    for (let index = this.firstUncovered; index < this.#blocks.length; index++) {
      const block = this.#blocks[index];
      if (block === undefined || block.open > reach) break;
      if (block.type === "exchange" && block.lastSeq > reach) edge = Math.min(edge, block.open - 1);
    }
    return edge;
  }
}
