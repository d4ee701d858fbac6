import type { ThreadStore } from "../../stores/port.ts";
import type { Session } from "../session/session.ts";

/** Watches the log while a request waits: another process may decide by writing into it. */
export class Follower {
  readonly #store: ThreadStore;
  readonly #session: Session;
  readonly #broken: (error: unknown) => void;
  #abort: AbortController | undefined;

  constructor(store: ThreadStore, session: Session, broken: (error: unknown) => void) {
    this.#store = store;
    this.#session = session;
    this.#broken = broken;
  }

  follow(isWanted: boolean): void {
    if (isWanted === (this.#abort !== undefined)) return;
    this.#abort?.abort();
    this.#abort = isWanted ? new AbortController() : undefined;
    const signal = this.#abort?.signal;
    if (signal === undefined) return;
    this.#watch(signal).catch((error: unknown) => {
      if (!signal.aborted) this.#broken(error);
    });
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { id, rev } = this.#session.agent.thread;
    for await (const { seq } of this.#store.watch(id, { fromSeq: rev, signal })) {
      if (signal.aborted) return;
      if (seq < this.#session.agent.thread.rev) continue;
      await this.#session.submit({ type: "notice" });
    }
  }
}
