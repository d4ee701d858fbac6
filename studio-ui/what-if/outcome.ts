import { type Signal, useSignal } from "@preact/signals";
import type { ContextPolicyInput, Thread } from "heddle";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { CallDetail } from "../data/contract.ts";
import { problemOf } from "../data/source.ts";
import type { OpenThread } from "../state/open-thread.ts";
import { covers, extended, tailAt } from "./loaded-tail.ts";
import { type Outcome, whatIf } from "./what-if.ts";

type Settled = Exclude<Outcome, { state: "short" }>;

interface Shown {
  readonly outcome: Settled | undefined;
  /** Set if the entries could not be read. */
  readonly problem: { readonly code: string; readonly message: string } | undefined;
  /** Whether the outcome is stale: the entries for the selected one are still loading. */
  readonly isOld: boolean;
}

interface Wish {
  readonly seq: number;
  readonly policy: ContextPolicyInput;
  /** The real call to compare with. */
  readonly real: CallDetail | undefined;
}

/** Waits until the slider rests, so that dragging loads nothing. */
const REST = 80;

/** The context that the model would get, projected in the page. Loads as much of the thread's end as this needs. */
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
