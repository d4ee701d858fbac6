import type { ProjectionMeta, ProjectionView } from "../projection/projection.ts";
import type { JsonObject, JsonValue } from "../thread/json.ts";
import type { Author, Content, Part, ToolCall } from "../thread/message.ts";
import type { ToolDataPart } from "./definition/tool.ts";
import type { ModelFinishReason, Usage, UsageByModel } from "./model-call.ts";
import type { Failure, SteerKind } from "./signal.ts";

/** Why a request completed. */
export type TerminationReason = "final_answer" | "max_iterations" | "limit" | "loop_detected" | "stopped";

/** The data of each event kind. */
export interface EventData {
  readonly request_started: {
    readonly lane: string;
    /** The request that this one continues. */
    readonly continues?: string;
  };
  readonly llm_started: {
    readonly model?: string;
    readonly estimatedTokens: number;
    readonly messages: number;
    /** Facts about the context of the call. Absent where the event was made from the log. */
    readonly meta?: Pick<ProjectionMeta, "truncated" | "needsSummary" | "boundary" | "budget">;
  };
  /**
   * A piece of the answer. Of a call that the provider itself runs, `text` is the JSON text of its whole arguments, its result
   * or its error; a later result replaces an earlier one. Of a `part`, which is a source or a file, it is the JSON text of the part.
   */
  readonly llm_delta: {
    readonly type: "text" | "thinking" | "tool_input" | "provider_call" | "provider_result" | "provider_error" | "part";
    readonly id: string;
    readonly text: string;
  };
  /**
   * An attempt of the model call failed; the call is made again after `waitMs`. Discard the deltas of this call so far. `attempt`
   * is the number of attempts that failed, in all processes. `model`: the attempts of the model before are used up, and this one
   * is called from now on.
   */
  readonly llm_retried: {
    readonly failure: Failure;
    readonly attempt: number;
    readonly waitMs: number;
    readonly model?: string;
  };
  readonly llm_completed: {
    /** The entry of the answer, which `cutAnswer` and `branch` can name. */
    readonly entryId: string;
    readonly text: string;
    /** The parts of the answer in order. Absent: the text is all of it. */
    readonly content?: readonly Part[];
    readonly toolCalls: readonly ToolCall[];
    readonly usage: Usage;
    readonly finishReason: ModelFinishReason;
    /** The view of the thread that the call was made with. */
    readonly view: ProjectionView;
  };
  /** Has the arguments only with `redact: false`. The entry of the answer, and `llm_completed`, always have them. */
  readonly tool_started: { readonly arguments?: JsonValue };
  /** `partial` means that the tool was stopped and this is its last output. `details` is for people; no model is shown it. */
  readonly tool_completed: {
    readonly content: Content;
    readonly isError: boolean;
    readonly partial?: "cancelled" | "timed_out";
    readonly details?: JsonValue;
  };
  /**
   * The call was begun where it could not be ended, as in a process that was killed, and is not repeated: it may have run, or not.
   * One process emits this. The result that the model reads about it follows in `tool_completed`.
   */
  readonly tool_interrupted: Readonly<Record<never, never>>;
  /** `deadline`: until when the call waits, in milliseconds since 1970. */
  readonly approval_requested: { readonly arguments: JsonValue; readonly deadline?: number };
  /** `arguments`: the approval has edited them, and the call runs with these. `rule`: a permission rule has decided;
   * `expired`: the deadline has. */
  readonly approval_resolved: {
    readonly approved: boolean;
    readonly by?: string;
    readonly reason?: string;
    readonly author?: Author;
    readonly arguments?: JsonValue;
    readonly rule?: string;
    readonly expired?: true;
  };
  /**
   * A tool without `execute` was called: pass its result to `answer`. With a `question`, a tool has suspended its call: pass the
   * answer. `count` says how many questions the call has asked.
   */
  readonly answer_requested: {
    readonly arguments: JsonValue;
    readonly question?: { readonly value: JsonValue; readonly count: number };
  };
  /** `display`: what a page shows beside the content. */
  readonly input_injected: {
    readonly id: string;
    readonly steer: SteerKind;
    readonly content: Content;
    readonly author?: Author;
    readonly display?: JsonObject;
  };
  /** A value that a tool has yielded. The last one is its result, which follows in `tool_completed`. */
  readonly tool_output: { readonly output: JsonValue };
  /** A part that a tool has written for the page. */
  readonly tool_data: ToolDataPart;
  /** The thread has a tool whose code this process does not have, so the model is not shown it. Follows `request_started`. */
  readonly tool_unresolved: { readonly name: string; readonly reason: string };
  /** A tool is still running. */
  readonly keepalive: { readonly runningMs: number };
  readonly output_repaired: { readonly issues: readonly string[]; readonly attempt: number };
  readonly context_op_applied: { readonly opId: string; readonly lane: string };
  readonly summary_started: { readonly toSeq: number };
  /** The request waits for a summary of these entries: see `onNeedsSummary`. */
  readonly summary_requested: {
    readonly fromSeq: number;
    readonly toSeq: number;
    readonly reason?: ProjectionMeta["needsSummaryReason"];
  };
  /** `usage` is the usage of the summarizer's call. */
  readonly summary_completed: { readonly fromSeq: number; readonly toSeq: number; readonly usage?: Usage };
  /** The summary failed or was discarded. `usage` is the usage of the summarizer's call, which counts all the same. */
  readonly summary_failed: {
    readonly toSeq: number;
    readonly reason: string;
    readonly code: string;
    readonly usage?: Usage;
  };
  /** Every attempt to summarize these entries failed. A line in the summary says that they are missing. */
  readonly summary_skipped: { readonly fromSeq: number; readonly toSeq: number };
  /** These entries are cut from this model call without a summary, although automatic summaries are on. */
  readonly context_cut: { readonly fromSeq: number; readonly toSeq: number };
  readonly checkpoint: { readonly token: string; readonly reason: "after_llm" | "after_tools" | "terminal" };
  readonly request_completed: {
    readonly text: string;
    readonly terminationReason: TerminationReason;
    /** The finish reason of the last model call. */
    readonly finishReason?: ModelFinishReason;
    readonly usage: Usage;
    /** The usage per model. Summaries may use another model. */
    readonly usageByModel: UsageByModel;
    readonly object?: JsonValue;
  };
  readonly request_failed: { readonly failure: Failure } & Partial<RequestUsage>;
  readonly request_cancelled: { readonly reason: string } & Partial<RequestUsage>;
  /** The last event in this process. The request is still open, and is resumed here later or in another process. */
  readonly request_suspended: Suspension;
}

/** The usage of an ended request. Absent where its log could not be read or written. */
export interface RequestUsage {
  readonly usage: Usage;
  readonly usageByModel: UsageByModel;
}

/**
 * Why a process no longer runs an open request. `store`: it cannot reach the store. `lost`: another process, named by
 * `holder`, has claimed the thread. `stopped`: its server was stopped.
 */
export interface Suspension {
  readonly reason: "store" | "lost" | "stopped";
  readonly holder?: string;
}

/** The kind of an event, such as `llm_delta`. */
export type EventKind = keyof EventData;

type ModelCallEventKind = "llm_started" | "llm_delta" | "llm_retried" | "llm_completed";
type ToolCallEventKind =
  | "tool_started"
  | "tool_completed"
  | "tool_interrupted"
  | "approval_requested"
  | "approval_resolved"
  | "answer_requested"
  | "tool_output"
  | "tool_data"
  | "keepalive";

/** The calls an event is about. Tool events always have the tool call's id and the tool's name; model events the call id. */
type CallIds<Kind extends EventKind> = (Kind extends ModelCallEventKind
  ? { readonly callId: string }
  : { readonly callId?: string }) &
  (Kind extends ToolCallEventKind
    ? { readonly toolCallId: string; readonly toolName: string }
    : { readonly toolCallId?: string; readonly toolName?: string });

/** An event without the fields that are added when it is emitted, such as `id`, `seq` and `at`. */
export type EventDraft = {
  readonly [Kind in EventKind]: CallIds<Kind> & { readonly kind: Kind; readonly data: EventData[Kind] };
}[EventKind];

/**
 * An event of a request. Comparing `kind` narrows `data`. Only the last event of a request is request_completed,
 * request_failed or request_cancelled. One process emits it. A process that stops running an open request emits
 * request_suspended last.
 */
export type AgentEvent = EventDraft & {
  /** Unique across all processes. A replayed event has the id of the first one. */
  readonly id: string;
  /**
   * Another process emitted this event before, and the request still waits for the approval or the answer. Skip it if you
   * have already handled its `id`. Default: absent.
   */
  readonly replayed?: true;
  /** Increases from 1. After a crash there may be gaps and repeated numbers. */
  readonly seq: number;
  readonly at: number;
  readonly runId: string;
  readonly requestId: string;
  readonly iteration: number;
};
