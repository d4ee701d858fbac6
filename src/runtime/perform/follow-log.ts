import type { Scene } from "./scene.ts";

/** Calls `notice` for entries that the agent does not have, until the signal is aborted. */
export async function followLog(
  { store, threadId, agent }: Pick<Scene, "store" | "threadId" | "agent">,
  fromSeq: number,
  signal: AbortSignal,
  notice: () => Promise<unknown>,
): Promise<void> {
  for await (const { seq } of store.watch(threadId, { fromSeq, signal })) {
    if (signal.aborted) return;
    if (seq >= agent().thread.rev) await notice();
  }
}
