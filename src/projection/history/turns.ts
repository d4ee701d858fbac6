import type { Block } from "./block.ts";
import type { UndoLog } from "./undo-log.ts";

/** A turn: a user message that starts it, and all blocks before the next such message. */
interface Turn {
  /** The user blocks of the turn: the first message, then the messages sent while the request ran. */
  readonly users: number[];
  /** The answer blocks of the turn. A block with tool calls is not an answer. */
  readonly answers: number[];
}

const NO_USERS: readonly number[] = Object.freeze([]);

/** Maps each block to its turn. */
export class Turns {
  /** The index of the first block of each turn. */
  readonly openers: number[] = [];
  readonly #turns: Turn[] = [];
  readonly #turnOf: number[] = [];
  readonly #undoLog: UndoLog;
  #lastRequest: string | undefined;

  constructor(undoLog: UndoLog) {
    this.#undoLog = undoLog;
  }

  /** Adds a block. A user block starts a turn, unless it belongs to the same request as the user message before. */
  add(index: number, block: Block): void {
    if (block.type === "user") this.#addUser(index, block.item.requestId);
    this.#turnOf[index] = this.#turns.length - 1;
    this.#undoLog.record(() => this.#turnOf.pop());
    if (block.type === "answer") this.addAnswer(index);
  }

  addAnswer(index: number): void {
    const answers = this.#turns[this.#turnOf[index] ?? -1]?.answers;
    answers?.push(index);
    this.#undoLog.record(() => answers?.pop());
  }

  /** Removes an answer that has turned out to have tool calls. It is always the last answer of its turn. */
  takeAnswer(index: number): void {
    const answers = this.#turns[this.#turnOf[index] ?? -1]?.answers;
    answers?.pop();
    this.#undoLog.record(() => answers?.push(index));
  }

  /** Returns the first block of the turn that contains a block. Undefined before the first turn. */
  openerOf(index: number): number | undefined {
    const turn = this.#turnOf[index] ?? -1;
    return this.openers[turn];
  }

  /** Returns the user blocks of a block's turn that come before it. An index past the end means the last turn. */
  usersBefore(index: number): readonly number[] {
    const turn = this.#turns[this.#turnAt(index)];
    const [first = index] = turn?.users ?? NO_USERS;
    return turn === undefined || first >= index ? NO_USERS : turn.users.filter((user) => user < index);
  }

  /** Whether a block is in the last turn, and the turn has no answer from block `since` on. */
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
      this.#undoLog.record(() => current.users.pop());
    } else {
      turns.push({ users: [index], answers: [] });
      openers.push(index);
      this.#undoLog.record(() => {
        turns.pop();
        openers.pop();
      });
    }
    this.#lastRequest = request;
    this.#undoLog.record(() => {
      this.#lastRequest = before;
    });
  }
}
