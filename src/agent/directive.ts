import type { ProjectionMeta } from "../projection/projection.ts";
import type { SummaryRange } from "../projection/summary/summary-range.ts";
import type { JsonObject, JsonValue } from "../thread/json.ts";
import type { Message, ToolCall, ToolSpec } from "../thread/message.ts";
import type { EventDraft } from "./event.ts";
import type { CallBasis } from "./model-call.ts";
import type { CommandEnd, Failure, Signal, WaitingCommand } from "./signal.ts";

interface RequestIds {
  readonly requestId: string;
  readonly runId: string;
}

/** Call the model with these messages, tools and settings. */
export type LlmStream = RequestIds & {
  readonly type: "llm_stream";
  readonly callId: string;
  readonly iteration: number;
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  readonly settings: JsonObject;
  readonly basis: CallBasis;
  /** The blobs that the basis names by hash: policy and environment. Store them before the call is recorded. */
  readonly blobs: readonly JsonValue[];
  /** Which model of the request to call. Absent: the first. */
  readonly modelIndex?: number;
  /** The wait before the call, which failed before. Absent: no wait. */
  readonly afterMs?: number;
  /** It was decided again with new values. */
  readonly isRenewed?: true;
};

/** Run a tool call. */
export type ToolExec = RequestIds & {
  readonly type: "tool_exec";
  readonly callId: string;
  readonly iteration: number;
  readonly call: ToolCall;
  /** The call was approved: do not ask again. */
  readonly approved: boolean;
  /** The approval has edited its arguments: no guard has seen them. */
  readonly edited?: true;
  /** The call may have begun in an earlier process. */
  readonly again?: true;
  /** The tool has asked a question, and runs again with the answer. */
  readonly answered?: { readonly question: JsonValue; readonly answer: JsonValue };
};

/** Write a summary of a range of entries. */
export type Summarize = {
  readonly type: "summarize";
  readonly requestId?: string;
  readonly lane: string;
  readonly range: SummaryRange;
  /** The token limit of the request to the summarizer. Longer texts are shortened. */
  readonly maxTokens: number;
  /** "requested": ask the hook of the caller, and wait for its answer or for a summary of another writer. */
  readonly reason: "automatic" | "emergency" | "requested";
  /** Of a requested one: the facts about the context that needs it. */
  readonly meta?: ProjectionMeta;
  readonly model?: string;
};

/**
 * Say with `checked` whether the run ends after this exchange: call `stopWhen`, and price what it has used. A run that was handed
 * over gets the settings of its next agent.
 */
export type Check = RequestIds & { readonly type: "check" };

/** An effect for the runtime. Perform directives in order, after the new entries are durable. */
export type Directive =
  | LlmStream
  | ToolExec
  | Summarize
  | Check
  | (RequestIds & { readonly type: "emit"; readonly iteration: number; readonly event: EventDraft })
  /** A resume token can be minted at this point. */
  | (RequestIds & {
      readonly type: "checkpoint";
      readonly iteration: number;
      readonly reason: "after_llm" | "after_tools" | "terminal";
    })
  | (RequestIds & { readonly type: "await_approval"; readonly callId: string; readonly call: ToolCall })
  | (RequestIds & {
      readonly type: "await_answer";
      readonly callId: string;
      readonly call: ToolCall;
      /** The question of the tool, and how many it has asked. */
      readonly question?: { readonly value: JsonValue; readonly count: number };
    })
  /** Send `signal` after `afterMs` of work. Time spent waiting for an approval or an outside answer does not count. */
  | (RequestIds & {
      readonly type: "schedule";
      readonly afterMs: number;
      /** Milliseconds of work in earlier processes. */
      readonly workedMs: number;
      /** Send `worked` when the log is this far behind the work time. */
      readonly noteEveryMs: number;
      readonly signal: Extract<Signal, { type: "fail" }>;
    })
  /** Send `deadline` after `afterMs`. Waiting counts, also for an approval. */
  | (RequestIds & { readonly type: "deadline"; readonly afterMs: number })
  /** Abort running calls of the request. Their results still come back as signals. */
  | (RequestIds & { readonly type: "abort"; readonly reason: string })
  /**
   * Post the command to the inbox of another thread, in the append of this step, and start the thread. Without a command it was
   * posted before. `agent`: the agent of the thread.
   */
  | {
      readonly type: "send";
      readonly threadId: string;
      readonly agent?: string;
      readonly command?: JsonObject & { readonly id: string; readonly type: string };
    }
  /** The request has ended. */
  | (RequestIds & { readonly type: "stop"; readonly status: "completed" | "failed" | "cancelled" })
  /** The ask was refused. The thread is unchanged. */
  | { readonly type: "emit_request_error"; readonly requestId: string; readonly failure: Failure }
  /** The command waits for its time. Make it durable before its caller gets an answer, and send it again after a crash. `replaces`: the command that is dropped with that. */
  | ({ readonly type: "defer"; readonly replaces?: string } & WaitingCommand)
  /** The end of a command with an id. If the command has waited, store the end with the entries of this step. */
  | { readonly type: "settle"; readonly id: string; readonly end: CommandEnd };
