import type { Block } from "./block.ts";
import type { Journal } from "./journal.ts";

/** A user message and what follows up to the next that opens a turn. */
interface Turn {
  /** The blocks of the user: the ask, then what was steered into it. */
  readonly users: number[];
  /** Its final answers: one that turned out to have calls is none. */
  answers: number;
}

/** Which turn each block belongs to. */
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

  /** Whether the block opens a turn. A steer, which names the request of the user's message before it, does not. */
  add(index: number, block: Block): void {
    if (block.type === "user") this.#addUser(index, block.item.requestId);
    this.#turnOf[index] = this.#turns.length - 1;
    this.#journal.record(() => this.#turnOf.pop());
    if (block.type === "answer") this.countAnswer(index, 1);
  }

  /** One answer more in the block's turn, or one less. */
  countAnswer(index: number, change: 1 | -1): void {
    const turn = this.#turns[this.#turnOf[index] ?? -1];
    if (turn === undefined) return;
    turn.answers += change;
    this.#journal.record(() => {
      turn.answers -= change;
    });
  }

  /** The first block of a block's turn; undefined before the first turn. */
  openerOf(index: number): number | undefined {
    const turn = this.#turnOf[index] ?? -1;
    return this.openers[turn];
  }

  /** The user's blocks of the block's turn that stand before it; behind the last block, of the last turn. */
  usersBefore(index: number): readonly number[] {
    const turn = this.#turns[this.#turnAt(index)];
    return turn === undefined ? [] : turn.users.filter((user) => user < index);
  }

  /** Whether the block belongs to the last turn, and nobody has answered that yet. */
  isUnanswered(index: number): boolean {
    const turn = this.#turnAt(index);
    return turn === this.#turns.length - 1 && this.#turns[turn]?.answers === 0;
  }

  /** The first block of the nth last turn. */
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
      turns.push({ users: [index], answers: 0 });
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
