import { StaleHolderError, StoreError, ThreadHeldError } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { RuntimePorts } from "../ports.ts";
import { patiently } from "./patiently.ts";
import { pause } from "./pause.ts";

export interface HolderOptions {
  /** Who claims: a name of its own for each process, or a lasting one, which takes over at once after a crash. */
  readonly holder: string;
  readonly ttlMs: number;
  /** How long to wait for a holder that may be dead. */
  readonly waitMs: number;
  /** Waits no longer. */
  readonly signal?: AbortSignal | undefined;
}

/** The claim of one thread: renewed as long as it is held. Of two processes only one has it. */
export class Holder {
  readonly epoch: number;
  readonly #store: ThreadStore;
  readonly #threadId: string;
  readonly #ports: RuntimePorts;
  readonly #ttlMs: number;
  readonly #lost: (error: unknown) => void;
  #cancel: () => void = () => undefined;
  #released = false;

  private constructor(store: ThreadStore, threadId: string, epoch: number, options: Kept) {
    this.#store = store;
    this.#threadId = threadId;
    this.epoch = epoch;
    this.#ports = options.ports;
    this.#ttlMs = options.ttlMs;
    this.#lost = options.lost;
    this.#schedule();
  }

  /** Claims the thread. A dead holder's time runs out while this waits; a living one renews, and is the error. */
  static async claim(store: ThreadStore, threadId: string, options: HolderOptions & Kept): Promise<Holder> {
    const { holder, ttlMs, waitMs, ports, signal } = options;
    const deadline = ports.clock() + waitMs;
    for (;;) {
      try {
        // Claimed twice by one name, because the acknowledgement was lost, it is held by the later claim.
        const { epoch } = await patiently(ports, () => store.claim(threadId, { holder, ttlMs }));
        return new Holder(store, threadId, epoch, options);
      } catch (error) {
        const left = deadline - ports.clock();
        if (!ThreadHeldError.isInstance(error) || left <= 0) throw error;
        await pause(ports, Math.min(left, Math.max(10, error.until - ports.clock() + 1)), signal);
        signal?.throwIfAborted();
      }
    }
  }

  /** Whether it is still ours: what was written before is seen by whoever takes it next. Throws where others have it. */
  async confirm(): Promise<void> {
    await patiently(this.#ports, () => this.#store.renew(this.#threadId, this.epoch));
  }

  /** Lets others have it. Safe to call twice, and when it was lost. */
  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    this.#cancel();
    try {
      await this.#store.release(this.#threadId, this.epoch);
    } catch (error) {
      // A closed store lets nobody release anything: the claim runs out.
      const isClosed = StoreError.isInstance(error) && error.code === "store_closed";
      if (!isClosed && !StaleHolderError.isInstance(error)) throw error;
    }
  }

  /** Renewed three times in its life, so that two renewals may fail. */
  #schedule(): void {
    this.#cancel = this.#ports.after(Math.ceil(this.#ttlMs / 3), () => void this.#renew());
  }

  async #renew(): Promise<void> {
    try {
      await this.#store.renew(this.#threadId, this.epoch);
    } catch (error) {
      if (StaleHolderError.isInstance(error) && !this.#released) this.#lost(error);
      // Anything else may pass before the claim runs out; appends carry the epoch, so nothing is written without it.
    }
    if (!this.#released) this.#schedule();
  }
}

interface Kept {
  readonly ports: RuntimePorts;
  readonly ttlMs: number;
  readonly lost: (error: unknown) => void;
}
