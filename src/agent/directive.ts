import type { SummaryRange } from "../projection/summarise/range.ts";
import type { JsonObject, JsonValue } from "../thread/json.ts";
import type { Message, ToolCall, ToolSpec } from "../thread/message.ts";
import type { CallBasis } from "./call-record.ts";
import type { EventDraft } from "./event.ts";
import type { Failure } from "./failure.ts";
import type { ContextOperation } from "./operation.ts";
import type { Signal } from "./signal.ts";

interface OfRequest {
  readonly requestId: string;
  readonly runId: string;
}

/** A model call, complete. */
export type LlmStream = OfRequest & {
  readonly type: "llm_stream";
  readonly callId: string;
  readonly iteration: number;
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  readonly settings: JsonObject;
  readonly basis: CallBasis;
  /** What the basis names by hash: the policy and the environment, to be stored before the call is recorded. */
  readonly blobs: readonly JsonValue[];
};

export type ToolExec = OfRequest & {
  readonly type: "tool_exec";
  readonly callId: string;
  readonly iteration: number;
  readonly call: ToolCall;
  /** Somebody has approved it: do not ask again. */
  readonly approved: boolean;
};

export type Summarize = {
  readonly type: "summarize";
  readonly requestId?: string;
  readonly lane: string;
  readonly range: SummaryRange;
  /** What the request may take: longer texts are shortened for it. */
  readonly maxTokens: number;
  readonly reason: "automatic" | "emergency";
  readonly model?: string;
};

/** What the runtime is to do, in this order, once the new entries are durable. */
export type Directive =
  | LlmStream
  | ToolExec
  | Summarize
  | (OfRequest & { readonly type: "emit"; readonly iteration: number; readonly event: EventDraft })
  /** A token can be made here. */
  | (OfRequest & {
      readonly type: "checkpoint";
      readonly iteration: number;
      readonly reason: "after_llm" | "after_tools" | "terminal";
    })
  | (OfRequest & { readonly type: "await_approval"; readonly callId: string; readonly call: ToolCall })
  | (OfRequest & { readonly type: "await_answer"; readonly callId: string; readonly call: ToolCall })
  /** Tell the agent so when the request has been at work for so long; while it waits for somebody outside, its time stands still. */
  | (OfRequest & {
      readonly type: "schedule";
      readonly afterMs: number;
      /** What it was at work before, in processes that have ended. */
      readonly workedMs: number;
      readonly signal: Extract<Signal, { type: "fail" }>;
    })
  /** Interrupt what is running for the request; what it was comes back as signals. */
  | (OfRequest & { readonly type: "abort"; readonly reason: string })
  /** The request has ended. */
  | (OfRequest & { readonly type: "stop"; readonly status: "completed" | "failed" | "cancelled" })
  /** The ask was not accepted, and the thread is as it was. */
  | { readonly type: "emit_request_error"; readonly requestId: string; readonly failure: Failure }
  /** What became of a steer. */
  | {
      readonly type: "receipt";
      readonly id: string;
      readonly delivered: boolean;
      readonly entryId?: string;
      readonly reason?: string;
    }
  /** Keep an operation that has to wait, or forget it; before whoever asked for it is answered. */
  | { readonly type: "keep_context_op"; readonly operation: ContextOperation | undefined; readonly superseded?: string }
  /** The run is over, and the operation that waited is in the log, unless the log did not take it with the end. */
  | { readonly type: "apply_context_op"; readonly operation: ContextOperation };
