import type { ThreadStore } from "../../stores/port.ts";
import { extendTail } from "../../stores/project-from-store.ts";
import type { Thread } from "../../thread/thread.ts";

/** A thread with all its entries: where a run has no store of its caller's, nobody could load the rest later. */
export async function wholeThread(store: ThreadStore, thread: Thread): Promise<Thread> {
  return thread.firstSeq === 0 ? thread : extendTail(store, thread, 0);
}
