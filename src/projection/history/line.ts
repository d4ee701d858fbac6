import type { ToolCall } from "../../thread/message.ts";
import { firstIndex } from "../search.ts";
import type { AssistantItem } from "./block.ts";
import type { Journal } from "./journal.ts";

/** A call that waits for its result. */
export interface Waiting {
  readonly block: number;
  readonly slot: number;
  readonly call: ToolCall;
  readonly by: AssistantItem;
}

/** A call that is queued in several lines. A result found through any of them answers it. */
export interface Awaited {
  readonly call: Waiting;
  isAnswered: boolean;
}

/** The calls of one block, in order. */
interface Group {
  readonly block: number;
  readonly calls: Awaited[];
  /** Calls before this index are answered. */
  next: number;
}

/** Calls that a result may answer, newest block first. Inside a block, the oldest call is first. */
export class Line {
  /** Sorted by block. A call answered through another line stays until it is first in line. */
  readonly #groups: Group[] = [];
  readonly #journal: Journal;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  add(awaited: Awaited): void {
    this.first(); // removes answered calls, so that the line does not grow
    const { block } = awaited.call;
    const groups = this.#groups;
    const at = firstIndex(0, groups.length, (index) => (groups[index]?.block ?? block) >= block);
    const group = groups[at];
    if (group?.block === block) {
      group.calls.push(awaited);
      this.#journal.record(() => group.calls.pop());
    } else {
      groups.splice(at, 0, { block, calls: [awaited], next: 0 });
      this.#journal.record(() => groups.splice(at, 1));
    }
  }

  first(): Awaited | undefined {
    for (let group = this.#groups.at(-1); group !== undefined; group = this.#groups.at(-1)) {
      const awaited = this.#firstOf(group);
      if (awaited !== undefined) return awaited;
      this.#pop(group);
    }
    return undefined;
  }

  #firstOf(group: Group): Awaited | undefined {
    const before = group.next;
    while (group.calls[group.next]?.isAnswered) group.next++;
    if (group.next !== before) {
      this.#journal.record(() => {
        group.next = before;
      });
    }
    return group.calls[group.next];
  }

  #pop(group: Group): void {
    this.#groups.pop();
    this.#journal.record(() => this.#groups.push(group));
  }
}
