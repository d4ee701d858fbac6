import type { FinishReason, Usage } from "../../agent/answer.ts";
import type { CallEnvironment, CallRecord } from "../../agent/call-record.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { ExplainedEntry, Projection, ProjectionMeta, Provenance, View } from "../../projection/projection.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";

/** A code and words for a person. */
export interface Trouble {
  readonly code: string;
  readonly message: string;
}

/** A model call in a list. */
export interface CallRow {
  readonly callId: string;
  readonly seq: number;
  readonly at: number;
  readonly requestId?: string | undefined;
  readonly iteration?: number | undefined;
  readonly model?: string | undefined;
  readonly lane: string;
  readonly estimatedTokens: number;
  readonly usage: Usage;
  readonly finishReason: FinishReason;
  readonly fingerprint: string;
  readonly basisLastSeq: number;
  readonly view: View;
  readonly error?: Trouble;
}

/** Newest first. */
export interface CallPage {
  readonly calls: readonly CallRow[];
  /** How far back it looked, when it did not look at all: ask again with `before` this. */
  readonly searchedTo?: number;
}

/** A past call as it was shown to the model, with everything that can be told of it; what cannot be is a problem. */
export interface ShownCall {
  readonly callId: string;
  readonly record: CallRecord;
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  readonly settings: JsonObject;
  /** One for each message; of a message that a transformer made, without entries. */
  readonly provenance: readonly Provenance[];
  readonly meta?: ProjectionMeta;
  readonly explained: readonly ExplainedEntry[];
  readonly policy?: ContextPolicyInput;
  readonly environment?: CallEnvironment;
  /** Whether the messages are what a transformer made of those of the projection. */
  readonly transformed: boolean;
  readonly proven: boolean;
  readonly problem?: Trouble;
}

export interface CallDetail extends ShownCall {
  readonly call: CallRow;
  /** The call before it, and with how many messages both begin. */
  readonly previous?: { readonly callId: string; readonly stablePrefix: number; readonly firstChange?: FirstChange };
}

/** Why a call was shown other messages than the one before it. */
export type CauseRule =
  | "model_changed"
  | "tools_changed"
  | "system_changed"
  | "transformed"
  | "lane_changed"
  | "context_replaced"
  | "policy_changed"
  | "summary_added"
  | "summary_replaced"
  | "summary_removed"
  | "window_moved"
  | "result_cleared"
  | "result_shortened"
  | "call_interrupted"
  | "thinking_dropped"
  | "history_changed"
  | "appended";

export interface Cause {
  readonly rule: CauseRule;
  readonly why: string;
}

export interface FirstChange extends Cause {
  /** Of the first message that is another; what stands before it can come from the provider's cache. */
  readonly index: number;
}

/** What became of one message: its index in `a`, in `b`, or in both. */
export interface Change {
  readonly index: number;
  readonly kind: "same" | "added" | "removed" | "changed";
  readonly a?: number;
  readonly b?: number;
}

export interface CallDiff {
  /** How many messages both begin with. */
  readonly same: number;
  readonly a: readonly Message[];
  readonly b: readonly Message[];
  readonly changes: readonly Change[];
  readonly causes: readonly Cause[];
  readonly problem?: Trouble;
}

/** The messages of a call in the format of a provider. */
export interface CallWire {
  readonly provider: string;
  readonly proven: boolean;
  readonly body: unknown;
}

/** What a model would be shown. */
export interface ThreadView extends Projection {
  readonly explained: readonly ExplainedEntry[];
  readonly policy: ContextPolicyInput;
}
