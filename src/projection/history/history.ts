import type { LaneItem } from "../../lanes/lane-log.ts";
import type { Entry } from "../../thread/entry.ts";
import type { ToolCall } from "../../thread/message.ts";
import { firstIndex } from "../binary-search.ts";
import type { Item } from "../transcript/item.ts";
import { type AssistantItem, type Block, type Call, callAsRun, Exchange, type ResultItem } from "./block.ts";
import { Turns, UnansweredCalls, UndoLog } from "./history-indexes.ts";

/** An entry of the lane that is in no block, and the reason. */
export interface DroppedEntry {
  readonly seq: number;
  readonly rule: "blank" | "result_without_call";
  readonly result?: ResultItem;
}

export interface LateEntry {
  readonly seq: number;
  readonly block: number;
}

/**
 * The blocks of one lane, built item by item. They do not depend on the budget or the context window. So a new entry
 * never requires rebuilding old blocks.
 */
export class History {
  readonly blocks: Block[] = [];
  readonly dropped: DroppedEntry[] = [];
  /** Tool results that arrived after their block was covered by a summary, or after a newer block began. */
  readonly late: LateEntry[] = [];
  readonly undoLog = new UndoLog();
  readonly turns = new Turns(this.undoLog);
  /** The blocks that summaries cover, also while no summary is shown. */
  readonly summaries = new Coverage(this.blocks, this.undoLog);
  /** The blocks that the shown summary stands for. */
  coverage = this.summaries;
  readonly #unanswered = new UnansweredCalls(this.undoLog);
  /** For each call id, the last block that used it. */
  readonly #lastUse = new Map<string, number>();
  /** For each block, the later blocks that repeat one of its call ids. */
  readonly #repeats = new Map<number, Set<number>>();
  /** The block that more entries of the same model call join. Undefined if there is none. */
  #current: number | undefined;
  /** Whether entries without a callId join the current block. They join only if no other entry is in between. */
  #isAdjacent = false;
  readonly #changed: (from: number) => void;

  /** `changed` gets the index of the first block whose cost may have changed. */
  constructor(changed: (from: number) => void) {
    this.#changed = changed;
  }

  /** Returns the later blocks that repeat a call id of this block, if no block in between used the id. */
  repeatsOf(index: number): Iterable<number> {
    return this.#repeats.get(index) ?? [];
  }

  /** Whether the summary is left out, because it does not fit. Nothing counts as covered then. */
  get isSummaryHidden(): boolean {
    return this.coverage !== this.summaries;
  }

  hideSummary(isHidden: boolean): void {
    this.coverage = isHidden ? new Coverage(this.blocks, this.undoLog) : this.summaries;
  }

  /** Adds a summary or a `replace` operation. Later entries cannot join a block before it. */
  addBoundary(place: LaneItem): void {
    this.#setCurrent(undefined, false);
    if (place.reach !== undefined) this.summaries.add(place.entry, place.reach);
  }

  add(item: Item): void {
    if (item.type === "assistant") this.#addAssistant(item);
    else if (item.type === "blank") this.#drop(item, "blank");
    else {
      if (item.type === "result") this.#addResult(item);
      else this.#push(blockOf(item));
      this.#setCurrent(this.#current, false);
    }
  }

  #addAssistant(item: AssistantItem): void {
    const current = this.#current === undefined ? undefined : this.blocks[this.#current];
    const joins = current instanceof Exchange && this.#joins(current, item);
    if (joins && this.#current !== undefined) this.#extend(this.#current, current, item);
    else this.#open(item);
    const index = joins ? this.#current : this.blocks.length - 1;
    this.#setCurrent(index, item.callId === undefined && (item.bareCall || item.calls.length === 0));
  }

  #joins(block: Exchange, item: AssistantItem): boolean {
    const { first, type } = block;
    const isNewest = this.#current === this.blocks.length - 1;
    if (first.isPaused && type === "answer" && isNewest && block.items.at(-1)?.isPaused) return true;
    if (first.callId !== undefined) return first.callId === item.callId;
    return item.callId === undefined && item.bareCall && this.#isAdjacent;
  }

  #open(item: AssistantItem): void {
    const index = this.blocks.length;
    this.#push(Exchange.of(item, { ...common(item), earlierIds: this.#useIds(index, item.calls) }));
    this.#await(index, item, 0);
  }

  #extend(index: number, block: Exchange, item: AssistantItem): void {
    const earlierIds = Math.max(block.earlierIds, this.#useIds(index, item.calls));
    const lastSeq = Math.max(block.lastSeq, lastSeqOf(item));
    const longer = block.withItem(item, { earlierIds, lastSeq });
    if (longer.type !== block.type) this.turns.takeAnswer(index);
    this.#put(index, longer, item);
    this.#await(index, item, block.callCount);
  }

  #addResult(result: ResultItem): void {
    const waiting = this.#unanswered.take(result);
    const block = waiting && this.blocks[waiting.block];
    if (waiting === undefined || !(block instanceof Exchange)) {
      this.#drop(result, "result_without_call");
      return;
    }
    const lastSeq = Math.max(block.lastSeq, lastSeqOf(result));
    const { slot, by } = waiting;
    const call = callAsRun(waiting.call, result);
    this.#put(waiting.block, block.withResult(slot, { call, by, result }, { lastSeq }), result);
  }

  #await(block: number, by: AssistantItem, firstSlot: number): void {
    for (const [at, call] of by.calls.entries()) this.#unanswered.add({ block, slot: firstSlot + at, call, by });
  }

  /** Returns the latest other block that used one of these call ids, or -1. Records this block as their last user. */
  #useIds(index: number, calls: readonly ToolCall[]): number {
    let earlier = -1;
    for (const { id } of calls) {
      const before = this.#lastUse.get(id);
      if (id === "" || before === index) continue;
      this.#lastUse.set(id, index);
      this.undoLog.record(() => {
        if (before === undefined) this.#lastUse.delete(id);
        else this.#lastUse.set(id, before);
      });
      if (before !== undefined) earlier = Math.max(earlier, before);
    }
    return earlier;
  }

  #push(block: Block): void {
    const index = this.blocks.length;
    this.blocks.push(block);
    this.undoLog.record(() => {
      this.blocks.pop();
      this.#changed(index);
    });
    this.turns.add(index, block);
    this.#noteRepeat(index, -1, block.earlierIds);
    this.#changed(index);
  }

  #put(index: number, block: Block, item: Item): void {
    const before = this.blocks[index];
    if (before === undefined) return;
    const isLate = index < this.blocks.length - 1 || block.open <= this.summaries.edge;
    if (isLate && item.index === undefined) {
      this.late.push({ seq: item.seq, block: index });
      this.undoLog.record(() => this.late.pop());
    }
    // Costs change from the block that first used a repeated id, because that block counts the cost of the rewritten
    // id.
    const from = block.earlierIds < 0 ? index : block.earlierIds;
    this.blocks[index] = block;
    this.undoLog.record(() => {
      this.blocks[index] = before;
      this.#changed(from);
    });
    this.#noteRepeat(index, before.earlierIds, block.earlierIds);
    this.#changed(from);
  }

  #noteRepeat(index: number, from: number, to: number): void {
    if (from === to) return;
    this.#setRepeat(from, index, false);
    this.#setRepeat(to, index, true);
  }

  #setRepeat(earlier: number, index: number, repeats: boolean): void {
    if (earlier < 0) return;
    const known = this.#repeats.get(earlier) ?? new Set();
    this.#repeats.set(earlier, known);
    if (repeats) known.add(index);
    else known.delete(index);
    this.#changed(earlier);
    this.undoLog.record(() => {
      if (repeats) known.delete(index);
      else known.add(index);
      this.#changed(earlier);
    });
  }

  #drop(item: Item, rule: DroppedEntry["rule"]): void {
    const { seq, index } = item;
    if (index !== undefined) return; // other messages of the same `replace` entry may be shown, so the entry is not dropped
    this.dropped.push({ seq, rule, ...(item.type === "result" && { result: item }) });
    this.undoLog.record(() => this.dropped.pop());
  }

  #setCurrent(current: number | undefined, isAdjacent: boolean): void {
    const before = [this.#current, this.#isAdjacent] as const;
    this.#current = current;
    this.#isAdjacent = isAdjacent;
    this.undoLog.record(() => {
      [this.#current, this.#isAdjacent] = before;
    });
  }
}

type Single = Exclude<Item, { readonly type: "assistant" | "result" | "blank" }>;

function blockOf(item: Single): Block {
  switch (item.type) {
    case "user":
      return { ...common(item), type: item.type, item };
    case "label":
      return { ...common(item), type: item.type, item };
    case "unreadable":
      return { ...common(item), type: item.type, item };
    default:
      return item satisfies never;
  }
}

function common(item: Item): Pick<Block, "open" | "position" | "seq" | "calls" | "lastSeq" | "earlierIds"> {
  const { open, position, seq } = item;
  return { open, position, seq, calls: NO_CALLS, lastSeq: lastSeqOf(item), earlierIds: -1 };
}

const NO_CALLS: readonly Call[] = [];

/** Returns the newest seq of an item. A message of a `replace` operation has the age of the entries it replaces. */
function lastSeqOf({ seq, open, index }: Item): number {
  return index === undefined ? seq : open;
}

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
