import { evolve, INITIAL_STATE, type ReactState } from "../../agent/react/state.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Entry } from "../../thread/entry.ts";
import { Thread } from "../../thread/thread.ts";
import type { Journal } from "./journal.ts";

/** The stored thread of a simulation. `grow` updates it. */
export class SimulationLog {
  readonly #store: ThreadStore;
  #thread: Thread;
  #state: ReactState = INITIAL_STATE;

  constructor(store: ThreadStore, threadId: string) {
    this.#store = store;
    this.#thread = Thread.create({ id: threadId, clock: () => 0 });
  }

  get thread(): Thread {
    return this.#thread;
  }

  /** The agent state computed from all entries. */
  get state(): ReactState {
    return this.#state;
  }

  /** Reads and returns the new entries. */
  async grow(): Promise<readonly Entry[]> {
    const fresh: Entry[] = [];
    const { id, rev } = this.#thread;
    for await (const entry of this.#store.read(id, { fromSeq: rev })) fresh.push(entry);
    for (const entry of fresh) {
      const { seq: _place, ...input } = entry;
      this.#thread = this.#thread.append(input);
      this.#state = evolve(this.#state, entry);
    }
    return fresh;
  }
}

interface Acknowledgment {
  readonly what: string;
  readonly isKept: (log: SimulationLog) => boolean;
}

/** Writes that the store has acknowledged. Each must be in the log from then on. */
export class AcknowledgedWrites {
  readonly #journal: Journal;
  readonly #unchecked: Acknowledgment[] = [];

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Adds a write. It is checked once, before the next write; an append-only log keeps it afterwards. */
  add(what: string, isKept: (log: SimulationLog) => boolean): void {
    this.#unchecked.push({ what, isKept });
  }

  check(log: SimulationLog): void {
    for (const { what, isKept } of this.#unchecked.splice(0)) {
      if (!isKept(log)) this.#journal.reportViolation("what was acknowledged is in the log", what);
    }
  }
}

export function hasEntry(log: SimulationLog, is: (entry: Entry) => boolean): boolean {
  const { thread } = log;
  for (let seq = thread.lastSeq; seq >= 0; seq--) {
    const entry = thread.at(seq);
    if (entry !== undefined && is(entry)) return true;
  }
  return false;
}
