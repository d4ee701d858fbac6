import type { JsonObject } from "../../thread/json.ts";
import type { ToolCall } from "../../thread/message.ts";
import type { FinishReason, Usage, UsageByModel } from "../answer.ts";
import type { RequestOptions } from "../signal.ts";

/** The status of a tool call, according to the log. */
export type CallStatus =
  | "open"
  /** Waits for approval. */
  | "approval_requested"
  /** Approved but not started. */
  | "approved"
  | "denied"
  /** It may have run. */
  | "started"
  | "done";

export interface OpenCall {
  readonly call: ToolCall;
  readonly status: CallStatus;
}

/** An open request. Contains only facts from the log. */
export interface Run {
  readonly requestId: string;
  readonly runId: string;
  readonly lane: string;
  readonly askSeq: number;
  readonly options: RequestOptions;
  /** The caller's refs, which all entries of the run carry. */
  readonly refs: JsonObject;
  /** The number of answered model calls so far. */
  readonly iteration: number;
  /** The id of the last answered model call. */
  readonly callId?: string;
  /** The tool calls of the last answer, in order. */
  readonly calls: readonly OpenCall[];
  readonly usage: Usage;
  readonly usageByModel: UsageByModel;
  /** The finish reason of the last model call. */
  readonly finishReason?: FinishReason;
  /** The last text of the model. */
  readonly text: string;
  /** Set when the last message is an answer without calls: complete or partial. */
  readonly spoken: "whole" | "partial" | undefined;
  /** How many answers were sent back because they did not match the output schema. */
  readonly repairs: number;
  /** How many model calls were refused as too long. */
  readonly compactions: number;
  /** The estimated tokens of the last refused call. */
  readonly refusedTokens: number;
  /** The largest estimate for a prompt after the last refusal, if known. */
  readonly correctedRoom: number | undefined;
  /** The number of the attempt, from 1. Each crash during work starts another attempt. */
  readonly attempt: number;
  /** Milliseconds of work according to the log. Counted only when there is a time limit. */
  readonly workedMs: number;
  /** Set when a server stopped during the request: the calls that had started by then. */
  readonly handedOver: readonly string[] | undefined;
  /** The newest entry is an answer that another process wrote. The log does not show that the holder has started anything since. */
  readonly isAnsweredElsewhere: boolean;
}

/** The calls of the last answer that have no result yet. */
export function openCalls(run: Run): readonly OpenCall[] {
  return run.calls.filter(({ status }) => status !== "done");
}
