import type { ThreadStore } from "../../stores/port.ts";
import { isPlainObject } from "../../thread/json.ts";
import type { Thread } from "../../thread/thread.ts";

/**
 * A run that is left at a checkpoint says so beside the log: the calls that are open there were not begun. Without this
 * nobody could tell them from calls that were at work when their process died.
 */
export async function leaveAtRest(store: ThreadStore, { id, rev }: Thread): Promise<void> {
  await store.putCheckpoint(keyOf(id), { rev });
}

/** Whether nothing was begun behind this revision. Asked once: from here on things begin. */
export async function takeFromRest(store: ThreadStore, threadId: string): Promise<(thread: Thread) => boolean> {
  const left = await store.getCheckpoint(keyOf(threadId));
  if (left === undefined) return () => false;
  await store.deleteCheckpoint(keyOf(threadId));
  return ({ rev }) => isPlainObject(left) && left["rev"] === rev;
}

function keyOf(threadId: string): string {
  return `at_rest:${threadId}`;
}
