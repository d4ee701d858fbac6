import { type Context, foldLane } from "../../lanes/fold-lane.ts";
import type { ContextOperation } from "../operation.ts";
import type { ReactAgent } from "./agent.ts";

/** A view of a ReAct agent's state, for inspection. */
export interface Materialised {
  /** The content of the active lane. */
  readonly context: Context;
  /** The content of the running request's lane; undefined when no request is open. */
  readonly runContext: Context | undefined;
  readonly activeContextRef: string;
  /** The operation that waits for the end of the run. */
  readonly pendingContextOp: ContextOperation | undefined;
  /** The ids of the operations applied last. */
  readonly appliedContextOps: readonly string[];
  /** The last entry that the last model call could see; -1 when there was no call. */
  readonly projectionCursorSeq: number;
}

/**
 * The agent's state as a view. It is computed from the thread on each call, except for the deferred operation.
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
