import type { FinishReason, Usage } from "../../agent/answer.ts";
import type { CallEnvironment, CallRecord } from "../../agent/call-record.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { ExplainedEntry, Projection, ProjectionMeta, Provenance, View } from "../../projection/projection.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";

/** A stable code, and a message for a human reader. */
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
  /** Set if the search stopped early. To continue, ask with this value as `before`. */
  readonly searchedTo?: number;
}

/** A past call as it was sent to the model. `problem` is set if it cannot be rebuilt or proven. */
export interface ShownCall {
  readonly callId: string;
  readonly record: CallRecord;
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  readonly settings: JsonObject;
  /** One for each message. It names no entries for a message that a transformer made. */
  readonly provenance: readonly Provenance[];
  readonly meta?: ProjectionMeta;
  readonly explained: readonly ExplainedEntry[];
  readonly policy?: ContextPolicyInput;
  readonly environment?: CallEnvironment;
  /** Whether a transformer changed the messages of the projection. */
  readonly transformed: boolean;
  readonly proven: boolean;
  readonly problem?: Trouble;
}

export interface CallDetail extends ShownCall {
  readonly call: CallRow;
  /** The call before it, and how many messages both share at the start. */
  readonly previous?: { readonly callId: string; readonly stablePrefix: number; readonly firstChange?: FirstChange };
}

/** Why the messages of a call differ from those of the call before. */
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
  /** The index of the first different message. The messages before it can come from the provider's cache. */
  readonly index: number;
}

/** The change of one message, with its index in `a`, in `b`, or in both. */
export interface Change {
  readonly index: number;
  readonly kind: "same" | "added" | "removed" | "changed";
  readonly a?: number;
  readonly b?: number;
}

export interface CallDiff {
  /** How many messages both share at the start. */
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

/** The context that a model would get. */
export interface ThreadView extends Projection {
  readonly explained: readonly ExplainedEntry[];
  readonly policy: ContextPolicyInput;
}
