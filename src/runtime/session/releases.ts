import type { ThreadStore } from "../../stores/port.ts";

type Wakes = Map<string, Set<() => void>>;

/** Claims that wait in this process, by store and thread. */
const waiting = new WeakMap<ThreadStore, Wakes>();

/** Calls `wake` whenever this process releases the thread. The answer unsubscribes. */
export function onRelease(store: ThreadStore, threadId: string, wake: () => void): () => void {
  const threads: Wakes = waiting.get(store) ?? new Map();
  waiting.set(store, threads);
  const wakes = threads.get(threadId) ?? new Set();
  threads.set(threadId, wakes.add(wake));
  return () => {
    wakes.delete(wake);
    if (wakes.size === 0 && threads.get(threadId) === wakes) threads.delete(threadId);
  };
}

/** Wakes the claims of this process that wait for the thread. */
export function announceRelease(store: ThreadStore, threadId: string): void {
  for (const wake of [...(waiting.get(store)?.get(threadId) ?? [])]) wake();
}
