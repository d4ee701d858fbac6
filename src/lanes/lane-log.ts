import type { Entry } from "../thread/entry.ts";
import type { JsonObject, JsonValue } from "../thread/json.ts";
import { type LaneReader, type Replace, readBranch, readReplace, summaryReach } from "../thread/lane-operations.ts";
import type { Thread } from "../thread/thread.ts";
import { type LaneBase, laneBaseOf } from "../thread/thread-data.ts";
import { type AnswerCut, cutPayload, isAnswer, readCut } from "./answer-cut.ts";
import { measureOfEntry, measureOfJson } from "./measure.ts";

/** One item of a lane: an entry, or one message of a replaced context. */
export interface LaneItem {
  /** The entry, or the replace entry that holds the message. */
  readonly entry: Entry;
  /** A summary that reaches this seq covers the item. The entry's seq, or the baseSeq of the replace. */
  readonly open: number;
  /** The lane's running measure before it. */
  readonly position: number;
  /** For a message of a replaced context. */
  readonly snapshot?: { readonly index: number; readonly message: JsonValue };
  /** For a summary in effect: the last seq of the lane that it covers. */
  readonly reach?: number;
  /** For an answer that was cut: its payload as it is shown. */
  readonly cut?: JsonObject;
}

/** The beginning of a branch: items and measure of the lane it leaves. */
export interface BranchOrigin {
  readonly items: readonly LaneItem[];
  readonly measure: number;
  readonly complete: boolean;
  /** Summary and prompt of the lane that this one branched from are not known. */
  readonly lacksOrigin: boolean;
  readonly systemPrompt?: string | undefined;
}

/** Folds the lane that a branch leaves, as it was at a seq. */
export type FoldOrigin = (lane: string, atSeq: number) => BranchOrigin;

/**
 * One lane of a growing log, folded entry by entry. It begins with the latest replace. The lane's entries after the base of
 * the replace follow in the order of seq.
 */
export class LaneLog {
  lane: string;
  /** The lane's running measure after the last entry. */
  measure = 0;
  /** Grows whenever existing items are removed or replaced. */
  generation = 0;
  systemPrompt: string | undefined;
  /** The replace the lane begins with. */
  anchor: Entry | undefined;
  /** All entries of the lane. They are kept, because a later replace may have a lower base than an earlier one. */
  #own: LaneItem[] = [];
  /** The summaries in effect as indexes into `#own`, sorted by reach. A replace ends those with the lowest reach. */
  #reaching: SummaryReach[] = [];
  /** The beginning of the lane, then its own entries. Filled on read, so that a replace need not copy entries. */
  #items: LaneItem[] = [];
  #taken = 0;
  #baseSeq = NO_BASE;
  /** The lane began as a branch, and what it inherited is not known. */
  #lacksInherited = false;
  /** The lane has no entries yet, so it may still begin as a branch. */
  #isFresh = true;
  #isComplete = true;
  readonly #firstSeq: number;
  readonly #reader: LaneReader;
  readonly #foldOrigin: FoldOrigin;

  constructor(
    lane: string,
    { firstSeq, base }: Pick<Thread, "firstSeq" | "base">,
    reader: LaneReader,
    foldOrigin: FoldOrigin,
  ) {
    this.lane = lane;
    this.#firstSeq = firstSeq;
    this.#reader = reader;
    this.#foldOrigin = foldOrigin;
    const known = laneBaseOf(base, lane);
    if (known !== undefined) this.#goOnFrom(known);
  }

  /** Whether the items certainly include the first one of the lane. False when it may be before a loaded tail. */
  get complete(): boolean {
    return this.#isComplete && !this.#reader.isUncertain;
  }

  /** Whether an entry is a malformed operation, which has no effect. */
  isMalformed(entry: Entry): boolean {
    return this.#reader.isMalformed(entry);
  }

  get items(): LaneItem[] {
    for (; this.#taken < this.#own.length; this.#taken++) {
      const item = this.#own[this.#taken];
      if (item !== undefined) this.#items.push(item);
    }
    return this.#items;
  }

  /** Adds the entry if it belongs to the lane, and says whether it does. */
  push(entry: Entry): boolean {
    if (this.#reader.read(entry) !== this.lane) return false;
    this.add(entry);
    return true;
  }

  /** Adds the next entry of the lane. The caller has checked that it belongs to the lane. */
  add(entry: Entry): void {
    const isMalformed = this.isMalformed(entry);
    const branch = this.#isFresh && !isMalformed ? readBranch(entry) : undefined;
    if (branch !== undefined) this.#inherit(this.#foldOrigin(branch.from, branch.atSeq));
    this.#isFresh = false;
    this.#addOwn(this.#place(entry));
    this.measure += measureOfEntry(entry);
    const replace = isMalformed ? undefined : readReplace(entry);
    if (replace !== undefined) this.#replace(entry, replace);
    const cut = this.#reader.cutsAnswers ? readCut(entry) : undefined;
    if (cut !== undefined) this.#cut(cut);
  }

  /** Cuts an answer of the lane, also one that it inherited. The items before a loaded tail are not shown, and stay. */
  #cut({ seq, characters }: AnswerCut): void {
    const cut = (item: LaneItem): LaneItem => {
      if (item.entry.seq !== seq || item.snapshot !== undefined || !isAnswer(item.entry)) return item;
      this.generation++;
      return { ...item, cut: cutPayload(item.entry.payload as JsonObject, characters) }; // every payload is a JSON object
    };
    const at = countUntil(this.#own, ({ entry }) => entry.seq >= seq);
    const own = this.#own[at];
    if (own !== undefined) this.#own[at] = cut(own);
    this.#items = this.#items.map(cut);
  }

  /**
   * Turns this log into a branch of its lane without a copy. Positions and measure continue, unlike those of a separate lane
   * log, which begin at 0.
   */
  continueAs(lane: string): void {
    this.#items = this.items;
    this.#lacksInherited = this.lacksOrigin;
    this.lane = lane;
    this.anchor = undefined;
    this.#own = [];
    this.#reaching = [];
    this.#taken = 0;
    this.#baseSeq = NO_BASE;
    this.#isFresh = false;
    this.generation++;
  }

  /**
   * True if the beginning of the lane is unknown. Either the lane began as a branch, and the summary and prompt that it
   * inherited are before the loaded tail. Or the base of the tail was computed with other rules.
   */
  get lacksOrigin(): boolean {
    return this.#reader.isUncertain || (this.#lacksInherited && this.anchor === undefined);
  }

  #goOnFrom({ measure, replace: anchor, summary, branched, origin }: LaneBase): void {
    this.measure = measure;
    this.#isFresh = false;
    if (branched) this.#inherit(this.#originIn(origin));
    this.#isComplete = false;
    const replace = anchor && readReplace(anchor);
    if (anchor !== undefined && replace !== undefined) this.#replace(anchor, replace);
    const reach = summary && summaryReach(summary);
    if (summary === undefined || reach === undefined) return;
    this.#addOwn({ entry: summary, open: summary.seq, position: measure, reach });
  }

  /** The summary and prompt that a branch inherited before the loaded tail. */
  #originIn(origin: LaneBase["origin"]): BranchOrigin {
    if (origin === undefined || (origin.followed && !this.#reader.followsOrigins)) return UNKNOWN_ORIGIN;
    const { replace, summary } = origin;
    const reach = summary && summaryReach(summary);
    const isSummary = summary !== undefined && reach !== undefined;
    const items = isSummary ? [{ entry: summary, open: summary.seq, position: 0, reach }] : [];
    const systemPrompt = replace && readReplace(replace)?.systemPrompt;
    return { items, measure: 0, complete: false, lacksOrigin: false, systemPrompt };
  }

  #addOwn(item: LaneItem): void {
    const { reach } = item;
    if (reach !== undefined) {
      const at = countUntil(this.#reaching, (other) => other.reach > reach);
      this.#reaching.splice(at, 0, { reach, at: this.#own.length });
    }
    this.#own.push(item);
  }

  #place(entry: Entry): LaneItem {
    const reach = summaryReach(entry);
    const item = { entry, open: entry.seq, position: this.measure };
    return reach !== undefined && reach > Math.max(this.#baseSeq, NO_BASE) ? { ...item, reach } : item;
  }

  #replace(anchor: Entry, replace: Replace): void {
    const { baseSeq, systemPrompt } = replace;
    this.#endReaches(baseSeq);
    const replaced = countUntil(this.#own, ({ entry }) => entry.seq > baseSeq);
    const hasAllAfter = this.#firstSeq === 0 || baseSeq >= this.#firstSeq - 1;
    const end = this.#own[replaced]?.position ?? this.measure;
    this.#items = hasAllAfter ? snapshotItems(anchor, replace, end) : [];
    this.#taken = replaced;
    this.anchor = anchor;
    this.systemPrompt = systemPrompt;
    this.#isComplete = hasAllAfter;
    this.#baseSeq = baseSeq;
    this.generation++;
  }

  /** Disables the summaries whose messages a replace has removed from the lane. */
  #endReaches(baseSeq: number): void {
    const ended = countUntil(this.#reaching, ({ reach }) => reach > baseSeq);
    for (const { at } of this.#reaching.splice(0, ended)) {
      const item = this.#own[at];
      if (item !== undefined) this.#own[at] = withoutReach(item);
    }
  }

  #inherit({ items, measure, complete, lacksOrigin, systemPrompt }: BranchOrigin): void {
    this.#items = items.map((item) => ({ ...item, position: item.position - measure }));
    this.#isComplete = complete;
    this.#lacksInherited = lacksOrigin;
    this.systemPrompt = systemPrompt;
    this.generation++;
  }
}

/** The origin of a branch that left its lane before the loaded entries. */
export const UNKNOWN_ORIGIN: BranchOrigin = { items: [], measure: 0, complete: false, lacksOrigin: true };

interface SummaryReach {
  readonly reach: number;
  readonly at: number;
}

/** Below every valid reach. -1 is valid: such a summary covers no entry, but it is shown. */
const NO_BASE = -2;

function snapshotItems(entry: Entry, { messages, baseSeq: open }: Replace, end: number): LaneItem[] {
  let position = end - messages.reduce<number>((sum, message) => sum + measureOfJson(message), 0);
  return messages.map((message, index): LaneItem => {
    const item = { entry, open, position, snapshot: { index, message } };
    position += measureOfJson(message);
    return item;
  });
}

function withoutReach({ reach: _reach, ...item }: LaneItem): LaneItem {
  return item;
}

/** Binary search: the number of items before the first for which `holds`. It must hold for all later ones too. */
function countUntil<T>(list: readonly T[], holds: (item: T) => boolean): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = list[middle];
    if (item === undefined || holds(item)) high = middle;
    else low = middle + 1;
  }
  return low;
}
