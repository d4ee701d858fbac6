import type { ThreadStore } from "../../stores/port.ts";
import { isPlainObject } from "../../thread/json.ts";
import type { Thread } from "../../thread/thread.ts";
import { threadKey } from "../thread-key.ts";

const AT_REST = "at_rest";

/**
 * A run that is left at a checkpoint says so beside the log: the calls that are open there were not begun. Without this
 * nobody could tell them from calls that were at work when their process died.
 */
export async function leaveAtRest(store: ThreadStore, { id, rev }: Thread): Promise<void> {
  await store.putCheckpoint(threadKey(AT_REST, id), { rev });
}

/** Whether nothing was begun behind this revision. Asked once: from here on things begin. */
export async function takeFromRest(store: ThreadStore, threadId: string): Promise<(thread: Thread) => boolean> {
  const left = await store.getCheckpoint(threadKey(AT_REST, threadId));
  if (left === undefined) return () => false;
  await store.deleteCheckpoint(threadKey(AT_REST, threadId));
  return ({ rev }) => isPlainObject(left) && left["rev"] === rev;
}
