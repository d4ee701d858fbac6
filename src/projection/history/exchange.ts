import type { AssistantBlock, AssistantItem, Block, Call } from "./block.ts";
import { Versioned } from "./versioned.ts";

type Common = Omit<Block, "type" | "calls">;
type Changes = Partial<Pick<Common, "earlierIds" | "lastSeq">>;

interface Lists {
  readonly items: Versioned<AssistantItem>;
  readonly calls: Versioned<Call>;
}

/** An exchange or an answer. Immutable: adding an entry gives a new one that shares data with the old one. */
export class Exchange {
  readonly type: AssistantBlock["type"];
  readonly open: number;
  readonly position: number;
  readonly seq: number;
  readonly lastSeq: number;
  readonly earlierIds: number;
  /** The item that opened it. */
  readonly first: AssistantItem;
  readonly #lists: Lists;

  private constructor(first: AssistantItem, common: Common, lists: Lists) {
    this.type = lists.calls.length > 0 ? "exchange" : "answer";
    this.open = common.open;
    this.position = common.position;
    this.seq = common.seq;
    this.lastSeq = common.lastSeq;
    this.earlierIds = common.earlierIds;
    this.first = first;
    this.#lists = lists;
  }

  static of(first: AssistantItem, common: Common): Exchange {
    return new Exchange(first, common, { items: new Versioned([first]), calls: new Versioned(callsOf(first)) });
  }

  get items(): readonly AssistantItem[] {
    return this.#lists.items.list;
  }

  get calls(): readonly Call[] {
    return this.#lists.calls.list;
  }

  /** The number of calls. Does not build the list of calls. */
  get callCount(): number {
    return this.#lists.calls.length;
  }

  withItem(item: AssistantItem, changes: Changes): Exchange {
    const { items, calls } = this.#lists;
    const lists = { items: items.with(items.length, [item]), calls: calls.with(calls.length, callsOf(item)) };
    return new Exchange(this.first, { ...this.#common, ...changes }, lists);
  }

  withResult(slot: number, call: Call, changes: Changes): Exchange {
    const { items, calls } = this.#lists;
    return new Exchange(this.first, { ...this.#common, ...changes }, { items, calls: calls.with(slot, [call]) });
  }

  get #common(): Common {
    const { open, position, seq, lastSeq, earlierIds } = this;
    return { open, position, seq, lastSeq, earlierIds };
  }
}

function callsOf(by: AssistantItem): readonly Call[] {
  return by.calls.map((call): Call => ({ call, by, result: undefined }));
}
