import { signal } from "@preact/signals";
import type { Entry } from "heddle";
import { type EntryWish, problemOf, type Source } from "../data/source.ts";

/** Entries asked for at once, and those that are worth looking on for by oneself. */
const PAGE = 200;
const ENOUGH = 60;

export type EntryFilter = Pick<EntryWish, "kinds" | "lane">;

/** The entries of some sorts, or of one lane, as far as somebody has looked: it grows at both ends, from the entry it began at. */
export class FilteredLog {
  readonly #source: Source;
  readonly #threadId: string;
  readonly #filter: EntryFilter;
  readonly entries = signal<readonly Entry[]>([]);
  /** How many of them were found before those that were there. */
  readonly lead = signal(0);
  /** What was looked at; nothing while `to` is smaller. */
  readonly from = signal(0);
  readonly to = signal(-1);
  readonly state = signal<"looking" | "resting" | "stopped">("resting");
  readonly problem = signal<{ readonly code: string; readonly message: string } | undefined>(undefined);
  #isClosed = false;

  /** Begins at an entry, which it is found with if it is one of them. */
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

  /** Looks further back, until enough is found, nothing is left, or somebody has seen enough. */
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

  /** Looks at what comes behind, which may have grown. */
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

  #read(place: Pick<EntryWish, "from" | "to">) {
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
