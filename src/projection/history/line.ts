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

/** A call that stands in several lines, and may be answered in any of them. */
export interface Awaited {
  readonly call: Waiting;
  isAnswered: boolean;
}

/** Calls of one block, in their order. */
interface Group {
  readonly block: number;
  readonly calls: Awaited[];
  /** Those before it are answered. */
  next: number;
}

/** Calls that a result may answer: the first of the newest block comes first. */
export class Line {
  /** By block. What was answered in another line stays until it is its turn. */
  readonly #groups: Group[] = [];
  readonly #journal: Journal;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  add(awaited: Awaited): void {
    this.first(); // lets go of what is answered, so that a line stays as short as what waits in it
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
