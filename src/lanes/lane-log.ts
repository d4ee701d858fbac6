import type { LaneBase, ThreadBase } from "../thread/base.ts";
import type { Entry } from "../thread/entry.ts";
import type { JsonValue } from "../thread/json.ts";
import { measureOfJson } from "./measure.ts";
import { branchOf, namedLane, type Replace, replaceOf, summaryReach, switchTarget } from "./operation.ts";
import { DEFAULT_LANE } from "./track.ts";

/** One place of a lane: an entry, or one message of the context that a replace put in place of entries. */
export interface LaneItem {
  /** The entry, or the replace that the message stands in. */
  readonly entry: Entry;
  /** Where it stands among what summaries cover: the seq, or the baseSeq of the replace. */
  readonly open: number;
  /** The lane's running measure before it. */
  readonly position: number;
  /** For a message of a replaced context. */
  readonly snapshot?: { readonly index: number; readonly message: JsonValue };
  /** For a summary that counts: how far it covers its lane. */
  readonly reach?: number;
}

/** What a branch begins with: the items and the measure of the lane it leaves. */
export interface Inherited {
  readonly items: readonly LaneItem[];
  readonly measure: number;
  readonly complete: boolean;
  readonly systemPrompt?: string | undefined;
}

/** Folds the lane that a branch leaves, as it was at a seq. */
export type FoldOrigin = (lane: string, atSeq: number) => Inherited;

/**
 * One lane of a growing log, folded entry by entry: the latest replace is its beginning, and what belongs to it follows
 * in the order of seq.
 */
export class LaneLog {
  readonly lane: string;
  /** The lane active after the last entry. */
  active: string;
  /** The lane's running measure after the last entry. */
  measure = 0;
  items: LaneItem[] = [];
  /** Grows whenever items that were there are no longer. */
  generation = 0;
  /** Whether the lane's first item is certainly among the items: not when entries before a loaded tail belong to it. */
  complete = true;
  systemPrompt: string | undefined;
  /** The replace the lane begins with. */
  anchor: Entry | undefined;
  /** All entries of the lane: a replace may reach back behind an earlier one. */
  #own: LaneItem[] = [];
  #baseSeq = NO_BASE;
  #branched = false;
  readonly #firstSeq: number;
  readonly #foldOrigin: FoldOrigin;

  constructor(lane: string, firstSeq: number, base: ThreadBase | undefined, foldOrigin: FoldOrigin) {
    this.lane = lane;
    this.active = base?.activeLane ?? DEFAULT_LANE;
    this.#firstSeq = firstSeq;
    this.#foldOrigin = foldOrigin;
    const known = base !== undefined && Object.hasOwn(base.lanes, lane) ? base.lanes[lane] : undefined;
    if (known !== undefined) this.#goOnFrom(known);
  }

  /** Whether the entry belongs to the lane. */
  push(entry: Entry): boolean {
    const lane = namedLane(entry) ?? this.active;
    this.active = switchTarget(entry) ?? this.active;
    if (lane !== this.lane) return false;
    const item = this.#place(entry);
    const branch = this.#isFresh ? branchOf(entry) : undefined;
    if (branch !== undefined) this.#inherit(this.#foldOrigin(branch.from, branch.atSeq));
    this.measure += measureOfJson(entry.payload);
    this.#own.push(item);
    this.items.push(item);
    const replace = replaceOf(entry);
    if (replace !== undefined) this.#replace(entry, replace);
    return true;
  }

  /** Nothing was ever written to it, so it may still begin as a branch. */
  get #isFresh(): boolean {
    return this.#own.length === 0 && this.complete;
  }

  /** The lane began as a branch before the loaded tail: with a summary and a prompt that only its origin knows. */
  get lacksOrigin(): boolean {
    return this.#branched && this.anchor === undefined;
  }

  #goOnFrom({ measure, replace: anchor, summary, branched }: LaneBase): void {
    this.measure = measure;
    this.#branched = branched === true;
    this.complete = false;
    const replace = anchor && replaceOf(anchor);
    if (anchor !== undefined && replace !== undefined) this.#replace(anchor, replace);
    const reach = summary && summaryReach(summary);
    if (summary === undefined || reach === undefined) return;
    const item = { entry: summary, open: summary.seq, position: measure, reach };
    this.#own.push(item);
    this.items.push(item);
  }

  #place(entry: Entry): LaneItem {
    const reach = summaryReach(entry);
    const item = { entry, open: entry.seq, position: this.measure };
    return reach !== undefined && reach > Math.max(this.#baseSeq, NO_BASE) ? { ...item, reach } : item;
  }

  #replace(anchor: Entry, replace: Replace): void {
    const { baseSeq, systemPrompt } = replace;
    this.#own = this.#own.map((item) =>
      item.reach !== undefined && item.reach <= baseSeq ? withoutReach(item) : item,
    );
    const kept = this.#own.filter(({ entry }) => entry.seq > baseSeq);
    const hasAllAfter = this.#firstSeq === 0 || baseSeq >= this.#firstSeq - 1;
    const snapshot = hasAllAfter ? snapshotItems(anchor, replace, kept[0]?.position ?? this.measure) : [];
    this.anchor = anchor;
    this.systemPrompt = systemPrompt;
    this.complete = hasAllAfter;
    this.items = [...snapshot, ...kept];
    this.#baseSeq = baseSeq;
    this.generation++;
  }

  #inherit({ items, measure, complete, systemPrompt }: Inherited): void {
    this.items = items.map((item) => ({ ...item, position: item.position - measure }));
    this.complete = complete;
    this.systemPrompt = systemPrompt;
    this.generation++;
  }
}

/** Below every reach that counts: -1 covers nothing, and is a summary all the same. */
const NO_BASE = -2;

function snapshotItems(entry: Entry, { messages, baseSeq: open }: Replace, end: number): readonly LaneItem[] {
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
