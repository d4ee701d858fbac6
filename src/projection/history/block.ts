import type { ToolCall } from "../../thread/message.ts";
import type { Item } from "../transcript/item.ts";

type TypedItem<Type extends Item["type"]> = Item & { readonly type: Type };

export type AssistantItem = TypedItem<"assistant">;
export type ResultItem = TypedItem<"result">;

/** A tool call of a block, with its result if the log has one. */
export interface Call {
  readonly call: ToolCall;
  /** The entry that contains the call. */
  readonly by: AssistantItem;
  readonly result: ResultItem | undefined;
}

/**
 * The call with the arguments that it ran with. One that was edited refers no more to the answer that OpenAI has stored,
 * because that answer has the arguments of the model.
 */
export function callAsRun(call: ToolCall, { editedArguments }: ResultItem): ToolCall {
  if (editedArguments === undefined) return call;
  const { metadata, ...others } = call;
  const { openai: _openai, azure: _azure, ...kept } = metadata ?? {};
  return { ...others, arguments: editedArguments, ...(Object.keys(kept).length > 0 && { metadata: kept }) };
}

/** The smallest part of a history that is shown or cut: a message, or a model answer with its tool results. */
export type Block = BlockFields &
  (
    | { readonly type: "user"; readonly item: TypedItem<"user"> }
    /** A system message in the middle of the history. It is shown in the user role and does not start a turn. */
    | { readonly type: "label"; readonly item: TypedItem<"label"> }
    | { readonly type: "answer" | "exchange"; readonly items: readonly AssistantItem[] }
    | { readonly type: "unreadable"; readonly item: TypedItem<"unreadable"> }
  );

interface BlockFields {
  /** The block counts as covered when a summary covers the thread up to this seq. */
  readonly open: number;
  readonly position: number;
  readonly seq: number;
  readonly calls: readonly Call[];
  /** The seq of the newest entry in the block. */
  readonly lastSeq: number;
  /** The index of the latest earlier block that used one of the same call ids, or -1. */
  readonly earlierIds: number;
}

/** A block of a model answer: with tool calls (exchange) or without (answer). */
export type AssistantBlock = Block & { readonly type: "answer" | "exchange" };

export function isAssistant(block: Block | undefined): block is AssistantBlock {
  return block?.type === "answer" || block?.type === "exchange";
}

/** The first item of the block. */
export function firstItem(block: Block): Item | undefined {
  return isAssistant(block) ? block.items[0] : block.item;
}

/** Whether the block begins with a message of a `replace` operation. */
export function isOfContext(block: Block): boolean {
  return firstItem(block)?.index !== undefined;
}

/** The number of messages the block renders to. */
export function messageCount({ type, calls }: Block): number {
  return type === "unreadable" ? 0 : 1 + calls.length;
}

/**
 * Whether a placeholder user message is needed between an answer and calls. Gemini requires a user or tool message
 * before calls.
 */
export function hasGap(before: Block | undefined, block: Block): boolean {
  return before?.type === "answer" && block.type === "exchange";
}

type ExchangeFields = Omit<Block, "type" | "calls">;
type ExchangeChanges = Partial<Pick<ExchangeFields, "earlierIds" | "lastSeq">>;

interface ExchangeLists {
  readonly items: PersistentList<AssistantItem>;
  readonly calls: PersistentList<Call>;
}

/**
 * A block of a model answer, with tool calls (exchange) or without (answer). Immutable: a new entry makes a new object,
 * which shares data with the old one.
 */
export class Exchange {
  readonly type: AssistantBlock["type"];
  readonly open: number;
  readonly position: number;
  readonly seq: number;
  readonly lastSeq: number;
  readonly earlierIds: number;
  /** The item that started the block. */
  readonly first: AssistantItem;
  readonly #lists: ExchangeLists;

  private constructor(first: AssistantItem, common: ExchangeFields, lists: ExchangeLists) {
    this.type = lists.calls.length > 0 ? "exchange" : "answer";
    this.open = common.open;
    this.position = common.position;
    this.seq = common.seq;
    this.lastSeq = common.lastSeq;
    this.earlierIds = common.earlierIds;
    this.first = first;
    this.#lists = lists;
  }

  static of(first: AssistantItem, common: ExchangeFields): Exchange {
    return new Exchange(first, common, {
      items: new PersistentList([first]),
      calls: new PersistentList(callsOf(first)),
    });
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

  withItem(item: AssistantItem, changes: ExchangeChanges): Exchange {
    const { items, calls } = this.#lists;
    const lists = { items: items.with(items.length, [item]), calls: calls.with(calls.length, callsOf(item)) };
    return new Exchange(this.first, { ...this.#common, ...changes }, lists);
  }

  withResult(slot: number, call: Call, changes: ExchangeChanges): Exchange {
    const { items, calls } = this.#lists;
    return new Exchange(this.first, { ...this.#common, ...changes }, { items, calls: calls.with(slot, [call]) });
  }

  get #common(): ExchangeFields {
    const { open, position, seq, lastSeq, earlierIds } = this;
    return { open, position, seq, lastSeq, earlierIds };
  }
}

function callsOf(by: AssistantItem): readonly Call[] {
  return by.calls.map((call): Call => ({ call, by, result: undefined }));
}

/**
 * A list whose changes make new versions. A version stores only its difference from the previous one, so that n changes
 * do not copy the list n times.
 */
class PersistentList<T> {
  readonly length: number;
  #list: readonly T[] | undefined;
  #before: PersistentList<T> | undefined;
  #put: { readonly at: number; readonly items: readonly T[] } | undefined;
  /** How many versions exist since the last one that stores the full list. */
  #steps = 0;

  constructor(
    list: readonly T[] | { readonly before: PersistentList<T>; readonly at: number; readonly items: readonly T[] },
  ) {
    if (isList(list)) {
      this.length = list.length;
      this.#list = list;
      return;
    }
    const { before, at, items } = list;
    this.length = Math.max(before.length, at + items.length);
    this.#before = before;
    this.#put = { at, items };
    this.#steps = before.#steps + 1;
    // Copies the full list now and then. The copies cost no more than the changes did, and free the older versions.
    if (2 * this.#steps > this.length) this.#make();
  }

  get list(): readonly T[] {
    return this.#list ?? this.#make();
  }

  /** A version with `items` written at index `at`. */
  with(at: number, items: readonly T[]): PersistentList<T> {
    return items.length === 0 ? this : new PersistentList({ before: this, at, items });
  }

  #make(): readonly T[] {
    const puts: { readonly at: number; readonly items: readonly T[] }[] = [];
    let version: PersistentList<T> | undefined = this.#before;
    if (this.#put !== undefined) puts.push(this.#put);
    while (version !== undefined && version.#list === undefined) {
      if (version.#put !== undefined) puts.push(version.#put);
      version = version.#before;
    }
    const list = version === undefined ? [] : [...(version.#list ?? [])];
    for (const { at, items } of puts.reverse()) {
      for (const [index, item] of items.entries()) list[at + index] = item;
    }
    this.#list = list;
    this.#before = undefined;
    this.#put = undefined;
    this.#steps = 0;
    return list;
  }
}

function isList<T>(value: readonly T[] | object): value is readonly T[] {
  return Array.isArray(value); // Array.isArray alone does not narrow readonly arrays
}
