import type { Block } from "./block.ts";
import type { Journal } from "./journal.ts";

/** A user message and all blocks up to the next one that opens a turn. */
interface Turn {
  /** The user blocks: the one that opened the turn, then the steers. */
  readonly users: number[];
  /** The answers of the turn. A block with calls is not an answer. */
  readonly answers: number[];
}

/** Maps each block to its turn. */
export class Turns {
  /** The first block of each turn. */
  readonly openers: number[] = [];
  readonly #turns: Turn[] = [];
  readonly #turnOf: number[] = [];
  readonly #journal: Journal;
  #lastRequest: string | undefined;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** A user block opens a turn unless it is a steer: the previous user message names the same request. */
  add(index: number, block: Block): void {
    if (block.type === "user") this.#addUser(index, block.item.requestId);
    this.#turnOf[index] = this.#turns.length - 1;
    this.#journal.record(() => this.#turnOf.pop());
    if (block.type === "answer") this.addAnswer(index);
  }

  addAnswer(index: number): void {
    const answers = this.#turns[this.#turnOf[index] ?? -1]?.answers;
    answers?.push(index);
    this.#journal.record(() => answers?.pop());
  }

  /** Removes an answer that turned out to have calls. It is always the last answer of its turn. */
  takeAnswer(index: number): void {
    const answers = this.#turns[this.#turnOf[index] ?? -1]?.answers;
    answers?.pop();
    this.#journal.record(() => answers?.push(index));
  }

  /** The first block of a block's turn; undefined before the first turn. */
  openerOf(index: number): number | undefined {
    const turn = this.#turnOf[index] ?? -1;
    return this.openers[turn];
  }

  /** The user blocks before a block in its turn. An index past the end means the last turn. */
  usersBefore(index: number): readonly number[] {
    const turn = this.#turns[this.#turnAt(index)];
    return turn === undefined ? [] : turn.users.filter((user) => user < index);
  }

  /** Whether the block belongs to the last turn, and that turn has no answer at or after block `since`. */
  isOpenSince(index: number, since: number): boolean {
    const turn = this.#turnAt(index);
    const last = this.#turns[turn]?.answers.at(-1) ?? -1;
    return turn === this.#turns.length - 1 && last < since;
  }

  /** The first block of the nth turn from the end. */
  lastOpener(nth: number): number | undefined {
    return this.openers[this.openers.length - nth];
  }

  #turnAt(index: number): number {
    return this.#turnOf[Math.min(index, this.#turnOf.length - 1)] ?? -1;
  }

  #addUser(index: number, request: string | undefined): void {
    const { openers } = this;
    const turns = this.#turns;
    const before = this.#lastRequest;
    const current = turns.at(-1);
    if (current !== undefined && request !== undefined && request === this.#lastRequest) {
      current.users.push(index);
      this.#journal.record(() => current.users.pop());
    } else {
      turns.push({ users: [index], answers: [] });
      openers.push(index);
      this.#journal.record(() => {
        turns.pop();
        openers.pop();
      });
    }
    this.#lastRequest = request;
    this.#journal.record(() => {
      this.#lastRequest = before;
    });
  }
}
