import { Thread } from "../thread/thread.ts";
import { threadNotFound } from "./errors.ts";
import type { ThreadStore } from "./port.ts";

/** Extends a loaded tail backwards to `fromSeq`. Reads only the missing entries: the log is append-only. */
export async function extended(store: Pick<ThreadStore, "load">, tail: Thread, fromSeq: number): Promise<Thread> {
  const { id, createdAt, metadata, firstSeq } = tail;
  const older = await store.load(id, { last: firstSeq - fromSeq, upToSeq: firstSeq - 1 });
  if (older === undefined) throw threadNotFound(id);
  const entries = [...older.toArray(), ...tail.toArray()];
  return Thread.assemble({ id, createdAt, metadata, entries, firstSeq: older.firstSeq, base: older.base });
}
