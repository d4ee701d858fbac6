import type { ContextPolicyInput } from "../projection/policy/fields.ts";
import type { JsonObject, JsonValue } from "../thread/json.ts";
import type { SummaryPayload } from "../thread/kinds.ts";
import type { Content } from "../thread/message.ts";
import type { Refs } from "../thread/refs.ts";
import type { ModelAnswer } from "./answer.ts";
import type { SteerKind } from "./event.ts";
import type { Failure } from "./failure.ts";
import type { ContextOperation } from "./operation.ts";

/** What a single request asks for; kept with the ask, so that it still holds after a crash. */
export type RequestOptions = {
  readonly contextPolicy?: ContextPolicyInput;
  readonly allowedTools?: readonly string[];
  readonly maxIterations?: number;
  /** It was asked with a context, which is never stored: whoever takes the request up has to give one again. */
  readonly hasContext?: true;
};

/** What became of an answer that should be of a shape: what it is, or what is wrong with it. */
export type OutputCheck =
  | { readonly ok: true; readonly object: JsonValue }
  | { readonly ok: false; readonly issues: readonly string[] };

/** What was sent is not what was projected: what differs lies in a blob. */
export type SentMessages = { readonly blob: string; readonly fingerprint: string };

export interface Steer {
  readonly id: string;
  readonly steer: SteerKind;
  readonly content: Content;
  /** Deliver it to this request only. */
  readonly requestId?: string;
  /** Who speaks, when it is not the user. */
  readonly source?: string;
}

/** What a tool gave. */
export interface ToolOutcome {
  readonly content: Content;
  readonly isError: boolean;
  /** The tool was stopped, and this is its last output. */
  readonly partial?: "cancelled" | "timed_out";
}

/** Which range a summary that failed was of, and why there is none. */
export type FailedSummary = {
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly code: string;
  /** What the messages take in a record for the summarizer. */
  readonly tokens: number;
};

/** Everything that can happen to a ReAct agent. What is not expected any more is ignored. */
export type Signal =
  | {
      readonly type: "ask";
      readonly content: Content;
      readonly requestId?: string;
      readonly options?: RequestOptions;
      readonly refs?: Refs;
      /** Of this request, where the agent's is a function of who asks. */
      readonly systemPrompt?: string;
    }
  /** A thread with an unfinished request was loaded: go on with it, or close it. */
  | {
      readonly type: "resume";
      readonly recover?: "resume" | "fail";
      readonly systemPrompt?: string;
      /** Nothing has happened since the last entry: calls without a result have not run. */
      readonly untouched?: boolean;
      /** The process is the same, and only its store was away: this is no other attempt. */
      readonly continued?: boolean;
      /** It cannot go on: close it with this failure, whatever it waits for. */
      readonly failure?: Failure;
    }
  /** Others have written into the thread, and the agent has been given what they wrote. */
  | { readonly type: "notice" }
  | {
      readonly type: "llm_result";
      readonly callId: string;
      readonly answer: ModelAnswer;
      readonly output?: OutputCheck;
      readonly sent?: SentMessages;
      /** The seq of the last event that was emitted before. */
      readonly eventSeq?: number;
      /** Milliseconds that the request was at work up to here, where it has a time limit. */
      readonly workedMs?: number;
    }
  | {
      readonly type: "llm_error";
      readonly callId: string;
      readonly failure: Failure;
      /** What had been said when it broke. */
      readonly partial?: Pick<ModelAnswer, "content" | "usage">;
      readonly sent?: SentMessages;
      readonly eventSeq?: number;
      readonly workedMs?: number;
    }
  | {
      readonly type: "tool_result";
      readonly callId: string;
      readonly toolCallId: string;
      readonly outcome: ToolOutcome;
      readonly workedMs?: number;
    }
  /** A call may only run when somebody approves. */
  | {
      readonly type: "approval_needed";
      readonly callId: string;
      readonly toolCallId: string;
      readonly workedMs?: number;
    }
  /** A call is for somebody outside to answer. */
  | { readonly type: "answer_needed"; readonly callId: string; readonly toolCallId: string }
  | {
      readonly type: "approve" | "deny";
      readonly toolCallId: string;
      readonly by?: string;
      readonly note?: string;
    }
  | { readonly type: "answer"; readonly toolCallId: string; readonly outcome: ToolOutcome }
  | ({ readonly type: "steer" } & Steer)
  | { readonly type: "cancel"; readonly requestId?: string; readonly reason?: string }
  /** Something around the run broke: a timeout of the whole, a limit of the caller. */
  | { readonly type: "fail"; readonly failure: Failure }
  /** The server stops: what is at work is left to the next one. `begun` are the calls that it has begun to run. */
  | { readonly type: "hand_over"; readonly begun: readonly string[]; readonly workedMs?: number }
  /** End the run with what there is. */
  | { readonly type: "finish"; readonly requestId?: string; readonly terminationReason: "limit" | "stopped" }
  | { readonly type: "context_op"; readonly operation: ContextOperation }
  | {
      readonly type: "summary_result";
      readonly lane: string;
      readonly payload: SummaryPayload;
      readonly call?: JsonObject;
    }
  /** There is no summary of the range, or it was discarded. */
  | {
      readonly type: "summary_failed";
      readonly lane: string;
      readonly failed: FailedSummary;
      readonly reason: string;
      /** The call that wrote what was discarded. */
      readonly call?: JsonObject;
    };
