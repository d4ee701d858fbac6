import type { Entry } from "../../thread/entry.ts";
import { firstIndex } from "../search.ts";
import type { Block } from "./block.ts";
import type { Journal } from "./journal.ts";

/** What summaries cover of a lane: its blocks up to an edge that only moves on. */
export class Coverage {
  /** Blocks that open here or before are covered. */
  edge = Number.NEGATIVE_INFINITY;
  /** The summary that is shown: the one that reaches furthest, of those the newest. */
  summary: Entry | undefined;
  /** How far it reaches. */
  reach = -2;
  /** Each move of the edge, and the last block there was then. */
  readonly #moves: { readonly edge: number; readonly newest: number }[] = [];
  readonly #blocks: readonly Block[];
  readonly #journal: Journal;

  constructor(blocks: readonly Block[], journal: Journal) {
    this.#blocks = blocks;
    this.#journal = journal;
  }

  /** A summary takes effect with what is known when it is written: nothing that comes later moves its edge. */
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

  /** The last block there was when a block came to be covered. */
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

  /** Never inside an exchange: the edge moves to before it. */
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
