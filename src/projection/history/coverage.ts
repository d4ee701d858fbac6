import type { Entry } from "../../thread/entry.ts";
import { firstIndex } from "../search.ts";
import type { Block } from "./block.ts";
import type { Journal } from "./journal.ts";

/** The blocks of a lane that summaries cover: all up to an edge, which only moves forward. */
export class Coverage {
  /** Blocks that open here or before are covered. */
  edge = Number.NEGATIVE_INFINITY;
  /** The summary that is shown: the one that reaches furthest. With equal reach, the newest. */
  summary: Entry | undefined;
  /** The last seq that the shown summary covers. */
  reach = -2;
  /** Each move of the edge, with the newest block at that time. */
  readonly #moves: { readonly edge: number; readonly newest: number }[] = [];
  readonly #blocks: readonly Block[];
  readonly #journal: Journal;

  constructor(blocks: readonly Block[], journal: Journal) {
    this.#blocks = blocks;
    this.#journal = journal;
  }

  /** The edge is set from the blocks known when the summary is written. Later entries do not move it. */
  add(summary: Entry, reach: number): void {
    const { edge, reach: reached, summary: shown } = this;
    this.#journal.record(() => {
      this.edge = edge;
      this.reach = reached;
      this.summary = shown;
    });
    if (reach > edge) this.#move(Math.max(edge, this.#edgeOf(reach)));
    if (reach < reached) return;
    this.summary = summary;
    this.reach = reach;
  }

  /** The newest block at the time when a block became covered. */
  newestWhenCovered(open: number): number {
    return this.#moves.find(({ edge }) => edge >= open)?.newest ?? -1;
  }

  /** The first block that no summary covers. */
  get firstUncovered(): number {
    return firstIndex(0, this.#blocks.length, (index) => (this.#blocks[index]?.open ?? 0) > this.edge);
  }

  #move(edge: number): void {
    if (edge === this.edge) return;
    this.edge = edge;
    this.#moves.push({ edge, newest: this.#blocks.length - 1 });
    this.#journal.record(() => this.#moves.pop());
  }

  /** An edge inside an exchange moves to before the exchange. */
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
