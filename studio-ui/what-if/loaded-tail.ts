import { Thread } from "heddle";
import type { Source } from "../data/source.ts";

/** Entries loaded at first. This is enough for most windows, whatever the length of the thread. */
const FIRST = 200;
/** Entries loaded after the wanted one, because the next one is often near. */
const AHEAD = 100;
/** The most entries of one answer of the server. */
const MOST = 5000;

/** Whether a loaded tail covers an entry. */
export function covers(tail: Thread | undefined, seq: number): tail is Thread {
  return tail !== undefined && seq >= tail.firstSeq && seq <= tail.lastSeq;
}

/** Loads the part of a thread around an entry. */
export function tailAt(source: Source, threadId: string, seq: number, rev: number): Promise<Thread> {
  const atSeq = Math.min(rev - 1, seq + AHEAD);
  return source.tail(threadId, { atSeq, last: FIRST + atSeq - seq });
}

/** Extends the tail back to `fromSeq`. */
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
