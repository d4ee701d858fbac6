import type { View } from "../projection/projection.ts";
import type { JsonValue } from "../thread/json.ts";
import type { Content, ToolCall } from "../thread/message.ts";
import type { FinishReason, Usage, UsageByModel } from "./answer.ts";
import type { Failure } from "./failure.ts";

/** Why a request is completed. */
export type TerminationReason = "final_answer" | "max_iterations" | "limit" | "stopped";

/** How a user's words came into a request that was running. */
export type SteerKind = "steer" | "inject" | "follow_up" | "repair";

/** What each kind of event tells. */
export interface EventData {
  readonly request_started: { readonly lane: string };
  readonly llm_started: { readonly model?: string; readonly estimatedTokens: number; readonly messages: number };
  readonly llm_delta: { readonly type: "text" | "thinking" | "tool_input"; readonly id: string; readonly text: string };
  /** An attempt failed, and the same call is made again. */
  readonly llm_retried: { readonly failure: Failure; readonly attempt: number; readonly waitMs: number };
  readonly llm_completed: {
    readonly text: string;
    readonly toolCalls: readonly ToolCall[];
    readonly usage: Usage;
    readonly finishReason: FinishReason;
    /** What the call was shown. */
    readonly view: View;
  };
  readonly tool_started: { readonly arguments: JsonValue };
  /** `partial`: the tool was stopped, and this is its last output. */
  readonly tool_completed: {
    readonly content: Content;
    readonly isError: boolean;
    readonly partial?: "cancelled" | "timed_out";
  };
  readonly approval_requested: { readonly arguments: JsonValue };
  readonly approval_resolved: { readonly approved: boolean; readonly by?: string; readonly note?: string };
  /** A tool without `execute` was called: `answer` gives its result. */
  readonly answer_requested: { readonly arguments: JsonValue };
  readonly input_injected: { readonly id: string; readonly steer: SteerKind; readonly content: Content };
  /** A tool is still at work. */
  readonly keepalive: { readonly runningMs: number };
  readonly output_repaired: { readonly issues: readonly string[]; readonly attempt: number };
  readonly context_op_applied: { readonly opId: string; readonly lane: string };
  readonly summary_started: { readonly toSeq: number };
  /** `usage` is that of the call that wrote it. */
  readonly summary_completed: { readonly fromSeq: number; readonly toSeq: number; readonly usage?: Usage };
  /** There is no summary, or it was discarded. `usage` is that of the call that wrote it: it counts all the same. */
  readonly summary_failed: {
    readonly toSeq: number;
    readonly reason: string;
    readonly code: string;
    readonly usage?: Usage;
  };
  /** No attempt could summarize these entries, which are cut: the summary has a line in their place that says so. */
  readonly summary_skipped: { readonly fromSeq: number; readonly toSeq: number };
  /** Automatic summaries are on, and these entries are not shown to the model in this call, nor summarized. */
  readonly context_cut: { readonly fromSeq: number; readonly toSeq: number };
  readonly checkpoint: { readonly token: string; readonly reason: "after_llm" | "after_tools" | "terminal" };
  readonly request_completed: {
    readonly text: string;
    readonly terminationReason: TerminationReason;
    /** Of the last model call. */
    readonly finishReason?: FinishReason;
    readonly usage: Usage;
    /** The same for each model; summaries may be written by another one. */
    readonly usageByModel: UsageByModel;
    readonly object?: JsonValue;
  };
  readonly request_failed: { readonly failure: Failure };
  readonly request_cancelled: { readonly reason: string };
  /** The last event in this process, and no end: the request is open in the log, and goes on here later or in another process. */
  readonly request_suspended: Suspension;
}

/**
 * Why a process no longer carries a request that is open. `store`: it cannot reach the store. `lost`: another process has
 * claimed the thread, and `holder` names it. `stopped`: its server was stopped.
 */
export interface Suspension {
  readonly reason: "store" | "lost" | "stopped";
  readonly holder?: string;
}

export type EventKind = keyof EventData;

type OfModelCall = "llm_started" | "llm_delta" | "llm_retried" | "llm_completed";
type OfToolCall =
  | "tool_started"
  | "tool_completed"
  | "approval_requested"
  | "approval_resolved"
  | "answer_requested"
  | "keepalive";

/** Which calls an event is about: of a tool's call its id and its tool are always told, of a model's its id. */
type Calls<Kind extends EventKind> = (Kind extends OfModelCall
  ? { readonly callId: string }
  : { readonly callId?: string }) &
  (Kind extends OfToolCall
    ? { readonly toolCallId: string; readonly toolName: string }
    : { readonly toolCallId?: string; readonly toolName?: string });

/** What an event tells, before it has its place among the events of its request. */
export type EventDraft = {
  readonly [Kind in EventKind]: Calls<Kind> & { readonly kind: Kind; readonly data: EventData[Kind] };
}[EventKind];

/**
 * One thing that a request tells while it runs. Comparing `kind` narrows `data`. The last event of every request, and
 * no other, is request_completed, request_failed or request_cancelled. One process emits it; a process that no longer
 * carries the request emits request_suspended last.
 */
export type AgentEvent = EventDraft & {
  /** No two events ever have the same, whichever process emits them; one that is replayed has that of the first. */
  readonly id: string;
  /**
   * It was emitted before, by the process that had the request then: an approval or an answer is still waited for. Whoever has
   * acted on its `id` need not act again. Default: absent.
   */
  readonly replayed?: true;
  /** From 1, and rising. After a crash there may be gaps, and numbers that were told before. */
  readonly seq: number;
  readonly at: number;
  readonly runId: string;
  readonly requestId: string;
  readonly iteration: number;
};
