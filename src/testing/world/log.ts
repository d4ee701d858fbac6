import { evolve, INITIAL, type ReactState } from "../../agent/react/state.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Entry } from "../../thread/entry.ts";
import { Thread } from "../../thread/thread.ts";

/** The simulation's thread as stored, updated as it grows. */
export class WorldLog {
  readonly #store: ThreadStore;
  #thread: Thread;
  #state: ReactState = INITIAL;

  constructor(store: ThreadStore, threadId: string) {
    this.#store = store;
    this.#thread = Thread.create({ id: threadId, clock: () => 0 });
  }

  get thread(): Thread {
    return this.#thread;
  }

  /** The state folded from the entries. */
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
