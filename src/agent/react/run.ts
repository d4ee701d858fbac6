import type { JsonObject } from "../../thread/json.ts";
import type { ToolCall } from "../../thread/message.ts";
import type { FinishReason, Usage, UsageByModel } from "../answer.ts";
import type { RequestOptions } from "../signal.ts";

/** Where a call of the model stands, as far as the log tells. */
export type CallStatus =
  | "open"
  /** Somebody has been asked to approve it. */
  | "approval_requested"
  /** Approved, and not begun. */
  | "approved"
  | "denied"
  /** Approved and begun. */
  | "started"
  | "done";

export interface OpenCall {
  readonly call: ToolCall;
  readonly status: CallStatus;
}

/** A request under way: everything of it that the log tells, and nothing else. */
export interface Run {
  readonly requestId: string;
  readonly runId: string;
  readonly lane: string;
  readonly askSeq: number;
  readonly options: RequestOptions;
  /** What its entries refer to besides the run itself. */
  readonly refs: JsonObject;
  /** The model calls made so far. */
  readonly iteration: number;
  /** The last call that was answered. */
  readonly callId?: string;
  /** What the last answer called, in its order. */
  readonly calls: readonly OpenCall[];
  readonly usage: Usage;
  readonly usageByModel: UsageByModel;
  /** How the last call ended. */
  readonly finishReason?: FinishReason;
  /** The last text of the model. */
  readonly text: string;
  /** Whether the last thing said was an answer without calls, and whether it was whole. */
  readonly spoken: "whole" | "partial" | undefined;
  /** Answers of the wrong shape that were sent back. */
  readonly repairs: number;
  /** Calls that were refused as too long. */
  readonly compactions: number;
  /** What the last of them was estimated at. */
  readonly refusedTokens: number;
  /** What a prompt may be estimated at since then, where that is known. */
  readonly correctedRoom: number | undefined;
  /** Which attempt this is, from 1: each crash while it was at work begins another. */
  readonly attempt: number;
  /** Milliseconds at work that the log tells of; counted where there is a time limit. */
  readonly workedMs: number;
  /** A server has stopped and left the rest to the next one: the calls that had begun by then. */
  readonly handedOver: readonly string[] | undefined;
  /** The newest entry is an answer that another process wrote: nothing tells that the holder has begun anything since. */
  readonly isAnsweredElsewhere: boolean;
}

/** The calls of the last answer that have no result yet. */
export function openCalls(run: Run): readonly OpenCall[] {
  return run.calls.filter(({ status }) => status !== "done");
}
