import { LaneBook } from "../../lanes/lane-book.ts";
import type { LaneOrigin } from "../../lanes/track.ts";
import type { Sha256 } from "../../thread/encoding.ts";
import type { Entry } from "../../thread/entry.ts";
import {
  type EncodedDraft,
  firstChecked,
  isEarlier,
  NO_LANES_YET,
  nextRow,
  readLane,
  storeLane,
  type Tip,
} from "../row-format.ts";
import type { HeadLanes, HeadSums, StoredLane, StoredRow, ThreadHead } from "../stored-records.ts";
import { sumsAfter, sumsOf } from "../thread-sums.ts";

/** The origins of the branches of a batch, found before the transaction. */
export interface BranchOrigins {
  /** The hash of the last row when they were found. They are valid only while the thread ends with it. */
  readonly tipHash: string;
  /** By the index of the entry in the batch. */
  readonly byIndex: ReadonlyMap<number, LaneOrigin>;
}

/**
 * The rows that a batch adds to a thread. They depend only on the thread's head and lanes, so those of a large batch are
 * made in slices before the transaction.
 */
export class BatchRows {
  readonly rows: StoredRow[] = [];
  readonly entries: Entry[] = [];
  readonly #threadId: string;
  readonly #sha256: Sha256;
  readonly #before: ThreadHead | undefined;
  readonly #start: Pick<ThreadHead, "rev" | "lanes">;
  readonly #book: LaneBook;
  readonly #branches: BranchOrigins | undefined;
  tip: Tip;
  #sums: HeadSums | undefined;

  /** `before` is the checked head of the thread, `stored` its lanes that the batch names. */
  constructor(
    threadId: string,
    before: ThreadHead | undefined,
    stored: readonly StoredLane[],
    sha256: Sha256,
    branches?: BranchOrigins,
  ) {
    const start = before ?? { rev: 0, hash: "", lanes: NO_LANES_YET };
    this.#threadId = threadId;
    this.#sha256 = sha256;
    this.#before = before;
    this.#branches = branches;
    this.#start = start;
    this.#book = openBook(threadId, start, stored, sha256);
    this.tip = start;
    this.#sums = sumsOf(start);
  }

  push(prepared: EncodedDraft): void {
    const origin = this.#branches?.byIndex.get(this.rows.length);
    const { row, entry, tip } = nextRow(this.tip, this.#book, prepared, this.#sha256, origin);
    this.rows.push(row);
    this.entries.push(entry);
    this.tip = tip;
    this.#sums = this.#sums && sumsAfter(this.#sums, entry);
  }

  pushAll(batch: readonly EncodedDraft[]): this {
    for (const prepared of batch) this.push(prepared);
    return this;
  }

  /** Whether the thread is as it was when the rows were made. */
  fits(head: ThreadHead | undefined): boolean {
    return head?.seal === this.#before?.seal;
  }

  /** The lanes of the head after the rows. */
  get headLanes(): HeadLanes {
    return headLanes(this.#book, firstChecked(this.#start), this.#sums);
  }

  /** The lanes to store: those that changed, and the one that was active before. The active lane is in the head. */
  lanesToStore(): readonly StoredLane[] {
    const { lanes } = this.#start;
    const { active } = this.#book.state;
    const changed = Array.from(this.#book.changed).filter((lane) => lane !== active);
    const left = isEarlier(lanes) || lanes.active === active || changed.includes(lanes.active) ? [] : [lanes.active];
    return [...changed, ...left].flatMap((lane) => {
      const tip = this.#book.tip(lane);
      return tip === undefined ? [] : [storeLane(this.#threadId, lane, tip, this.#sha256)];
    });
  }
}

export function openBook(
  threadId: string,
  { rev, lanes }: Pick<ThreadHead, "rev" | "lanes">,
  stored: readonly StoredLane[],
  sha256: Sha256,
): LaneBook {
  if (isEarlier(lanes)) return LaneBook.fromTrack(lanes.track, rev - 1);
  const tips = stored.map((lane) => readLane(threadId, lane, sha256));
  const { active, tip } = lanes;
  return new LaneBook(lanes, tip === null ? tips : [...tips, [active, tip]]); // the stored one may be outdated
}

/** The part of a book that a head keeps. `since` is the seq of the first row of format 2. */
export function headLanes(book: LaneBook, since: number, sums: HeadSums | undefined): HeadLanes {
  return { ...book.state, since, tip: book.tip(book.state.active) ?? null, ...(sums && { sums }) };
}
