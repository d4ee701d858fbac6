import { Thread } from "heddle";
import type { Source } from "../data/source.ts";

/** Entries read at first: enough for most windows, and the same for a thread of any length. */
const FIRST = 200;
/** Entries read beyond the moment that is asked for: the next moments are often near. */
const AHEAD = 100;
/** What one answer of the server carries. */
const MOST = 5000;

/** Whether a loaded tail says anything of a moment. */
export function covers(tail: Thread | undefined, seq: number): tail is Thread {
  return tail !== undefined && seq >= tail.firstSeq && seq <= tail.lastSeq;
}

/** The end of a thread around a moment. */
export function tailAt(source: Source, threadId: string, seq: number, rev: number): Promise<Thread> {
  const atSeq = Math.min(rev - 1, seq + AHEAD);
  return source.tail(threadId, { atSeq, last: FIRST + atSeq - seq });
}

/** The tail with the entries from `fromSeq` on before it. */
export async function extended(source: Source, tail: Thread, fromSeq: number): Promise<Thread> {
  let thread = tail;
  while (thread.firstSeq > fromSeq) {
    const atSeq = thread.firstSeq - 1;
    const older = await source.tail(thread.id, { atSeq, last: Math.min(MOST, thread.firstSeq - fromSeq) });
    const { id, createdAt, metadata } = tail;
    const entries = [...older.toArray(), ...thread.toArray()];
    thread = Thread.assemble({ id, createdAt, metadata, entries, firstSeq: older.firstSeq, base: older.base });
  }
  return thread;
}
