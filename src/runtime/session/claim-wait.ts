import { ThreadHeldError } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { RuntimePorts } from "../ports.ts";
import { patiently } from "./patiently.ts";
import { onRelease } from "./releases.ts";

/** How often a waiting process looks whether another one has released the thread. */
const POLL_MS = 100;

export interface ClaimWaitOptions {
  /** How long to wait for a holder that may be dead, by timers: a clock that is set does not change it. */
  readonly waitMs: number;
  /** Aborted, it ends the wait. */
  readonly signal?: AbortSignal | undefined;
  readonly ports: RuntimePorts;
}

/** Claims the thread as soon as it is free: a release in this process wakes at once, one in another is polled for. */
export async function claimWhenFree<Claim>(
  store: ThreadStore,
  threadId: string,
  claim: () => Promise<Claim>,
  { waitMs, ports, signal }: ClaimWaitOptions,
): Promise<Claim> {
  let isOver = waitMs <= 0;
  let isWoken = false;
  let wake = (): void => undefined;
  const look = (): void => {
    isWoken = true;
    wake();
  };
  const cancelEnd = ports.after(Math.max(0, waitMs), () => {
    isOver = true;
    look();
  });
  const unsubscribe = onRelease(store, threadId, look);
  signal?.addEventListener("abort", look, { once: true });
  try {
    for (;;) {
      isWoken = false;
      const isLast = isOver;
      try {
        // Claimed twice by one name, because the acknowledgement was lost, it is held by the later claim.
        return await patiently(ports, claim);
      } catch (error) {
        if (!ThreadHeldError.isInstance(error) || isLast) throw error;
      }
      signal?.throwIfAborted();
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      if (isWoken) resolve();
      const cancelPoll = ports.after(POLL_MS, resolve);
      await promise;
      cancelPoll();
      signal?.throwIfAborted();
    }
  } finally {
    cancelEnd();
    unsubscribe();
    signal?.removeEventListener("abort", look);
  }
}
