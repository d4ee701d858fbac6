import { HeddleError } from "../../thread/errors.ts";
import { isSuspended } from "../request/request-error.ts";

const ABORTED = "The signal of the request was aborted.";

interface SignalTarget {
  cancel(threadId: string, requestId: string, reason: string): Promise<unknown>;
  readonly isStopped: () => boolean;
  readonly warn: (message: string) => void;
}

/** The abort signals of asks. They outlive servers: an abort cancels the request also where its thread was released since. */
export class AskSignals {
  readonly #target: SignalTarget;
  /** For each request id, removes the listener on the signal. */
  readonly #listening = new Map<string, () => void>();

  constructor(target: SignalTarget) {
    this.#target = target;
  }

  /** Cancels the request when the signal is aborted. An ask that is repeated replaces its signal. */
  follow(signal: AbortSignal, threadId: string, requestId: string): void {
    this.forget(requestId);
    const abort = (): void => {
      this.forget(requestId);
      if (!isSuspended(signal)) void this.#cancel(threadId, requestId);
    };
    this.#listening.set(requestId, () => signal.removeEventListener("abort", abort));
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
  }

  forget(requestId: string): void {
    this.#listening.get(requestId)?.();
    this.#listening.delete(requestId);
  }

  forgetAll(): void {
    for (const requestId of [...this.#listening.keys()]) this.forget(requestId);
  }

  async #cancel(threadId: string, requestId: string): Promise<void> {
    try {
      await this.#target.cancel(threadId, requestId, ABORTED);
    } catch (error) {
      if (this.#target.isStopped()) return;
      const why = HeddleError.isInstance(error) ? error.message : "unexpected error.";
      this.#target.warn(
        `Thread ${threadId}: the signal of request ${requestId} was aborted, but it is not cancelled: ${why}`,
      );
    }
  }
}
