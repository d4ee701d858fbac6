import { StoreError } from "../../stores/errors.ts";
import type { ThreadInfo, ThreadStore } from "../../stores/port.ts";

export async function infoOf(store: Pick<ThreadStore, "list">, threadId: string): Promise<ThreadInfo | undefined> {
  const { threads } = await store.list({ prefix: threadId, order: "id", limit: 1 });
  return threads.find(({ id }) => id === threadId);
}

/** For what is no append, which would check it. Any owner fits a thread without one. */
export async function checkOwner(
  store: Pick<ThreadStore, "list">,
  threadId: string,
  owner: string | undefined,
): Promise<void> {
  const actual = owner === undefined ? undefined : (await infoOf(store, threadId))?.owner;
  if (actual !== undefined && actual !== owner) throw ownerMismatch(threadId);
}

export function ownerMismatch(threadId: string): StoreError {
  return new StoreError({ code: "owner_mismatch", threadId, message: "This chat belongs to another owner." });
}
