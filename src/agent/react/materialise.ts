import { type Context, foldLane } from "../../lanes/fold-lane.ts";
import type { ContextOperation } from "../operation.ts";
import type { ReactAgent } from "./agent.ts";

/** What a ReAct agent holds, put together for whoever wants to look at it. */
export interface Materialised {
  /** What the active lane holds. */
  readonly context: Context;
  /** What the lane of the request that is running holds. */
  readonly runContext: Context | undefined;
  readonly activeContextRef: string;
  /** The operation that waits for the run to end. */
  readonly pendingContextOp: ContextOperation | undefined;
  /** The operations applied last. */
  readonly appliedContextOps: readonly string[];
  /** What the last model call was shown: entries up to here; -1 when there was none. */
  readonly projectionCursorSeq: number;
}

/**
 * The agent's state as a view. Nothing in it is kept anywhere: it is folded from the thread each time, but for the operation
 * that waits.
 *
 * @example
 * materialise(restore(reactSettings(), thread)).context.entries; // the messages of the active lane
 */
export function materialise({ thread, state, flight }: ReactAgent): Materialised {
  const { run, activeContextRef, appliedContextOps, projectionCursorSeq } = state;
  return {
    context: foldLane(thread, activeContextRef),
    runContext: run && foldLane(thread, run.lane),
    activeContextRef,
    pendingContextOp: flight.contextOp,
    appliedContextOps,
    projectionCursorSeq,
  };
}
