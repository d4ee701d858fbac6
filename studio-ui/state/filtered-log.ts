import { signal } from "@preact/signals";
import type { Entry } from "heddle";
import { type EntryRange, problemOf, type Source } from "../data/source.ts";

/** `PAGE` entries are requested per call. A search pauses after `ENOUGH` found entries until the user asks for more. */
const PAGE = 200;
const ENOUGH = 60;

export type EntryFilter = Pick<EntryRange, "kinds" | "lane">;

/**
 * The entries of some kinds or of one lane that were found so far. The search starts at one entry and grows in both
 * directions.
 */
export class FilteredLog {
  readonly #source: Source;
  readonly #threadId: string;
  readonly #filter: EntryFilter;
  readonly entries = signal<readonly Entry[]>([]);
  /**
   * How many found entries were added before the first one. The list scrolls by them, so that the visible rows do not
   * move.
   */
  readonly lead = signal(0);
  /** The last searched seq. Nothing was searched yet while `to` is less than `from`. */
  readonly from = signal(0);
  readonly to = signal(-1);
  readonly state = signal<"looking" | "resting" | "stopped">("resting");
  readonly problem = signal<{ readonly code: string; readonly message: string } | undefined>(undefined);
  #isClosed = false;

  /** Starts the search at the entry `at`, which is included if it matches. */
  constructor(source: Source, threadId: string, filter: EntryFilter, at: number, rev: number) {
    this.#source = source;
    this.#threadId = threadId;
    this.#filter = filter;
    this.from.value = at + 1;
    this.to.value = at;
    void this.older().then(() => this.newer(rev));
  }

  close(): void {
    this.#isClosed = true;
  }

  stop(): void {
    if (this.state.peek() === "looking") this.state.value = "stopped";
  }

  /** Searches older entries, until enough are found, the start is reached, or `stop` is called. */
  async older(): Promise<void> {
    let found = 0;
    await this.#look(async () => {
      if (found >= ENOUGH || this.from.peek() === 0) return false;
      const { entries, searched } = await this.#read({ to: this.from.peek() - 1 });
      this.lead.value += entries.length;
      this.entries.value = [...entries, ...this.entries.peek()];
      this.from.value = searched?.from ?? 0;
      found += entries.length;
      return true;
    });
  }

  /** Searches the entries that were appended since the last search. */
  async newer(rev: number): Promise<void> {
    let found = 0;
    await this.#look(async () => {
      if (found >= ENOUGH || this.to.peek() >= rev - 1) return false;
      const { entries, searched } = await this.#read({ from: this.to.peek() + 1 });
      this.entries.value = [...this.entries.peek(), ...entries];
      this.to.value = searched?.to ?? rev - 1;
      found += entries.length;
      return true;
    });
  }

  #read(place: Pick<EntryRange, "from" | "to">) {
    return this.#source.filtered(this.#threadId, { ...this.#filter, ...place, limit: PAGE });
  }

  async #look(step: () => Promise<boolean>): Promise<void> {
    if (this.state.peek() === "looking") return;
    this.state.value = "looking";
    this.problem.value = undefined;
    try {
      while (this.state.peek() === "looking" && !this.#isClosed && (await step()));
    } catch (error) {
      this.problem.value = problemOf(error);
      this.state.value = "stopped";
    }
    if (this.state.peek() === "looking") this.state.value = "resting";
  }
}
