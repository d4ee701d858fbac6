import { type Signal, useSignal } from "@preact/signals";
import { type ContextPolicyInput, Thread } from "heddle";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { CallDetail } from "../data/contract.ts";
import { problemOf, type Source } from "../data/source.ts";
import type { OpenThread } from "../state/open-thread.ts";
import { type Outcome, whatIf } from "./what-if.ts";

type Settled = Exclude<Outcome, { state: "short" }>;

interface Shown {
  readonly outcome: Settled | undefined;
  /** Set if the entries could not be read. */
  readonly problem: { readonly code: string; readonly message: string } | undefined;
  /** Whether the outcome belongs to an earlier selection, because the selected entry is still loading. */
  readonly isOld: boolean;
}

interface Wish {
  readonly seq: number;
  readonly policy: ContextPolicyInput;
  /** The recorded call to compare with. */
  readonly real: CallDetail | undefined;
}

/** Milliseconds without a slider movement before entries are loaded, so that dragging loads nothing. */
const REST = 80;

/** Projects the context that the model would get. Loads as much of the thread's end as the projection needs. */
export function useOutcome(thread: OpenThread, tail: Signal<Thread | undefined>, { seq, policy, real }: Wish): Shown {
  const problem = useSignal<Shown["problem"]>(undefined);
  const last = useRef<Settled | undefined>(undefined);
  const loaded = tail.value;
  const isThere = covers(loaded, seq);
  const outcome = useMemo(
    () => (covers(loaded, seq) ? whatIf(loaded, seq, policy, real) : undefined),
    [loaded, seq, policy, real],
  );
  const neededFromSeq = outcome?.state === "short" ? outcome.neededFromSeq : undefined;
  const settled = outcome?.state === "short" ? undefined : outcome;
  if (settled !== undefined) last.current = settled;

  const read = (load: () => Promise<Thread>, rest: number) => {
    let isWanted = true;
    const timer = setTimeout(async () => {
      try {
        const found = await load();
        if (!isWanted) return;
        problem.value = undefined;
        tail.value = found;
      } catch (error) {
        if (isWanted) problem.value = problemOf(error);
      }
    }, rest);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  };
  useEffect(() => {
    if (isThere) return;
    const rest = loaded === undefined ? 0 : REST;
    return read(() => tailAt(thread.source, thread.id, seq, thread.log.rev.peek()), rest);
  }, [isThere, seq]);
  useEffect(() => {
    if (loaded === undefined || neededFromSeq === undefined) return;
    return read(() => extended(thread.source, loaded, neededFromSeq), 0);
  }, [loaded, neededFromSeq]);
  return { outcome: settled ?? last.current, problem: problem.value, isOld: settled === undefined };
}

/** Entries loaded at first. This is enough for most contexts, however long the thread is. */
const FIRST = 200;
/** Entries loaded after the selected one, because users often select a later one next. */
const AHEAD = 100;
/** The largest number of entries in one answer of the server. */
const MOST = 5000;

/** Whether the loaded end of the thread contains an entry. */
function covers(tail: Thread | undefined, seq: number): tail is Thread {
  return tail !== undefined && seq >= tail.firstSeq && seq <= tail.lastSeq;
}

/** Loads the entries around one entry of a thread. */
function tailAt(source: Source, threadId: string, seq: number, rev: number): Promise<Thread> {
  const atSeq = Math.min(rev - 1, seq + AHEAD);
  return source.tail(threadId, { atSeq, last: FIRST + atSeq - seq });
}

/** Loads older entries, so that the loaded part starts at `fromSeq`. */
async function extended(source: Source, tail: Thread, fromSeq: number): Promise<Thread> {
  let thread = tail;
  while (thread.firstSeq > fromSeq) {
    const atSeq = thread.firstSeq - 1;
    const older = await source.tail(thread.id, { atSeq, last: Math.min(MOST, thread.firstSeq - fromSeq) });
    const { id, createdAt, metadata } = tail;
    const entries = [...older.toArray({ partial: true }), ...thread.toArray({ partial: true })];
    thread = Thread.assemble({ id, createdAt, metadata, entries, firstSeq: older.firstSeq, base: older.base });
  }
  return thread;
}
