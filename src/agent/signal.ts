import type { AnswerCut } from "../lanes/answer-cut.ts";
import type { ContextOperation } from "../lanes/context-operation.ts";
import type { ContextPolicyInput } from "../projection/policy/fields.ts";
import type { Refs } from "../thread/entry.ts";
import type { JsonObject, JsonValue } from "../thread/json.ts";
import type { AiSettingPayload, SummaryPayload, WrittenPart } from "../thread/kinds.ts";
import type { Author, Content, ToolCall } from "../thread/message.ts";
import type { CallRecord, ModelAnswer, Usage, UsageByModel } from "./model-call.ts";

/** An error as data, for signals, entries and events. The message contains no secrets and no arguments. */
export type Failure = {
  readonly code: string;
  readonly message: string;
  /** Whether a retry may work later. Default false. */
  readonly retryable?: boolean;
  /** How long the provider asks to wait before a retry. */
  readonly retryAfterMs?: number;
  /** For a prompt that was too long: its tokens, if the provider reports them. */
  readonly promptTokens?: number;
  /** For a prompt that was too long: the model's limit, if the provider reports it. */
  readonly maxPromptTokens?: number;
};

/** Limits of one request, as they are stored. */
export type RequestLimits = { readonly maxTokens?: number; readonly maxCostUsd?: number };

/** Options of a single request. They are stored with the ask, so that they survive a crash. */
export type StoredRequestOptions = {
  /** Fields that replace those of the agent's policy. Default: none. */
  readonly contextPolicy?: ContextPolicyInput;
  /** The only tools that the model may call. Default: all. */
  readonly allowedTools?: readonly string[];
  /** The most model calls. Default: the agent's `maxIterations`. */
  readonly maxIterations?: number;
  /** Settings of the model call, before those of the agent: temperature, toolChoice and others. Default: none. */
  readonly call?: JsonObject;
  /** When the request fails at the latest, in milliseconds since 1970. Default: never. */
  readonly deadline?: number;
  /** The system prompt that `prepareCall` has made. Default: the one that was set, or the agent's. */
  readonly systemPrompt?: string;
  /** The name of the mode; null for none. Default: the one that was set. */
  readonly mode?: string | null;
  /** The names of the models, in order. Default: those of the settings, or of the agent. */
  readonly model?: readonly string[];
  /** The JSON Schema of the answer, in place of the agent's `output`. Default: none. */
  readonly output?: JsonObject;
  /** The names of the headers that came with the ask. Headers are never stored. Default: none. */
  readonly askedHeaders?: readonly string[];
  /** Limits of tokens and cost, before those of the agent. Default: none. */
  readonly limits?: RequestLimits;
  /** The ask had a context. A context is never stored, so a caller that resumes the request must pass it again. Default: there was none. */
  readonly hasContext?: true;
  /** The names of the tools that came with the ask. Tools are never stored either. Default: none. */
  readonly askedTools?: readonly string[];
  /** The parts and metadata that a page shows beside the content. No model is shown it. Default: none. */
  readonly display?: JsonObject;
  /** The call that has asked, of an agent that another agent uses. Default: none. */
  readonly parent?: ParentCall;
  /** The trace of the request, as W3C `traceparent`: its span, or while the ask waits that of its caller. Default: none. */
  readonly traceparent?: string;
};

/** The call of another thread that has asked this request. Its answer goes there. `owner`: that of the other thread. */
export type ParentCall = {
  readonly threadId: string;
  readonly callId: string;
  readonly toolCallId: string;
  readonly owner?: string;
};

/** The result of checking an answer against the output schema: the object, or the issues. */
export type OutputCheck =
  | { readonly ok: true; readonly object: JsonValue }
  | { readonly ok: false; readonly issues: readonly string[] };

/**
 * `prepareStep` or `transformRequest` changed the request. `blob` is the hash of the blob with the differences. `model`: another
 * one than that of the request was called.
 */
export type SentMessages = { readonly blob: string; readonly fingerprint: string; readonly model?: string };

/** How a user message was added to a running request. */
export type SteerKind = "steer" | "inject" | "follow_up" | "repair";

/** A user message to a running request. */
export interface Steer {
  readonly id: string;
  readonly steer: SteerKind;
  readonly content: Content;
  /** Deliver it to this request only. */
  readonly requestId?: string;
  /** The program or person that sent the text. Default: the user. */
  readonly source?: string;
  readonly author?: Author;
  /** The parts and metadata that a page shows beside the content, as those of an ask. Default: none. */
  readonly display?: JsonObject;
  /** More refs of its entry. Default: those of the request. */
  readonly refs?: Refs;
  /** Skip the calls that have not begun: of the answer that is open, or of the one with this number. Default: none. */
  readonly skip?: true | number;
  /** Of an inject: it replaces the one with this key that waits. Default: none. */
  readonly key?: string;
  /** Of an inject: at rest it starts a request, as its ask. Default: it waits for the next ask, and comes before it. */
  readonly wake?: true;
}

/** A command that waits: words for the next step, an operation for the end of the run. */
export interface WaitingCommand {
  readonly id: string;
  readonly signal: Extract<Signal, { readonly type: "steer" | "context_op" }>;
}

/** A command that waits for the end of the run. */
export interface DeferredCommand extends WaitingCommand {
  readonly signal: Extract<Signal, { readonly type: "context_op" }>;
}

/** How a command ended that had to wait, or could have had to. */
export type CommandEnd =
  /** The words are the entry with this seq. */
  | { readonly status: "delivered"; readonly seq: number }
  | { readonly status: "applied" }
  /** The words came too late, or the run has ended without them. */
  | { readonly status: "dropped"; readonly reason: string }
  | { readonly status: "refused"; readonly code: string; readonly message: string };

/** The permission rule that a decision makes. */
export interface Remember {
  /** The id of the rule. */
  readonly opId: string;
  /** Default: the tool of the call. */
  readonly tool?: string | undefined;
  /** Globs by the path of an argument. Default: all calls of the tool. */
  readonly pattern?: { readonly [path: string]: string } | undefined;
  /** The range of the rule. Default "request". */
  readonly scope?: "request" | "lane" | "thread" | undefined;
}

/** The result of a tool call. */
export interface ToolOutcome {
  readonly content: Content;
  readonly isError: boolean;
  /** The tool was stopped, and this is its last output. */
  readonly partial?: "cancelled" | "timed_out";
  /** For people. No model is shown it. */
  readonly details?: JsonValue;
  /** The agent that has the thread after this exchange. */
  readonly handoff?: string;
}

/** The work of a call before its signal is made. */
export type CallWork = {
  /** Milliseconds of work of the request so far. Only present when there is a time limit. */
  readonly workedMs?: number;
  /** The parts that the tool wrote for the page since the last entry of the call. */
  readonly written?: readonly WrittenPart[];
};

/** The range of a failed summary, and the reason. */
export type FailedSummary = {
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly code: string;
  /** The tokens of the messages in the summarizer's prompt. */
  readonly tokens: number;
};

/** Whether a run ends after an exchange: at a limit, because of `stopWhen`, or because one of these functions failed. */
export type ExchangeVerdict = "continue" | "limit" | "stopped" | Failure;

/** The payload of the note that cuts an answer of a lane. */
type AnswerCutNote = { readonly opId: string; readonly contextRef: string; readonly cut: AnswerCut };

/** The result of a tool, or that it asks another agent. */
export type ResultSignal = Extract<Signal, { type: "tool_result" | "delegated" }>;

/** An input of a ReAct agent. The agent ignores a signal that it does not expect. */
export type Signal =
  | {
      readonly type: "ask";
      readonly content: Content;
      /** Continue the request with this id, the last one of the thread, instead of a new ask. The content is not read. */
      readonly continues?: string;
      /** Switches the lane in the append of the ask, or begins a branch. Default: the request is on the active lane. */
      readonly operation?: ContextOperation;
      readonly requestId?: string;
      readonly options?: StoredRequestOptions;
      readonly refs?: Refs;
      readonly author?: Author;
      /** The sender of an ask that was injected. Default: the user. */
      readonly source?: string;
      /** The system prompt of this request, when the agent's prompt is a function of the context. */
      readonly systemPrompt?: string;
      /** The ask was a command of the inbox, with its request id as id. Its entry takes its id from that. Default false. */
      readonly hasWaited?: boolean;
    }
  /** Resume the unfinished request of a loaded thread, or close it. */
  | {
      readonly type: "resume";
      readonly recover?: "resume" | "fail";
      readonly systemPrompt?: string;
      /** True when nothing has run since the last entry, so calls without a result have not run. Default false. */
      readonly untouched?: boolean;
      /** True when the same process resumes after a store failure. It does not count as another attempt. Default false. */
      readonly continued?: boolean;
      /** Close the request with this failure, even when it waits for an approval or an answer. */
      readonly failure?: Failure;
    }
  /** Other writers have appended entries, and the agent's thread already has them. */
  | { readonly type: "notice" }
  | {
      readonly type: "llm_result";
      readonly callId: string;
      readonly answer: ModelAnswer;
      /** The calls of the answer that were repaired, as the model wrote them. */
      readonly repaired?: readonly ToolCall[];
      readonly output?: OutputCheck;
      /** The wait before the call is made again, if the answer was interrupted. Absent: it is not made again. */
      readonly retryMs?: number;
      /** The request has reached its cost limit. Default false. */
      readonly isSpent?: boolean;
      readonly sent?: SentMessages;
      /** The seq of the last event that was emitted before. */
      readonly eventSeq?: number;
      /** Milliseconds of work of the request so far. Only present when there is a time limit. */
      readonly workedMs?: number;
    }
  | {
      readonly type: "llm_error";
      readonly callId: string;
      readonly failure: Failure;
      /** The part of the answer that had arrived before the error. */
      readonly partial?: Pick<ModelAnswer, "content" | "usage">;
      /** The wait before the call is made again. Absent: it is not made again. */
      readonly retryMs?: number;
      /** It was not made, because the agent got values since that change its context: decide it again. */
      readonly isStale?: true;
      readonly isSpent?: boolean;
      readonly sent?: SentMessages;
      readonly eventSeq?: number;
      readonly workedMs?: number;
    }
  | ({
      readonly type: "tool_result";
      readonly callId: string;
      readonly toolCallId: string;
      readonly outcome: ToolOutcome;
      /** The call has begun in an earlier process, and this one has no such tool. Default false. */
      readonly isGone?: boolean;
    } & CallWork)
  /** Results of calls that are committed together, in their order. */
  | { readonly type: "results"; readonly results: readonly ResultSignal[] }
  /** The call needs approval before it runs. */
  | {
      readonly type: "approval_needed";
      readonly callId: string;
      readonly toolCallId: string;
      /** The guard asks, so no rule allows the call. */
      readonly guard?: true;
      readonly workedMs?: number;
    }
  /** The tool has suspended its call with a question. */
  | ({
      readonly type: "question_asked";
      readonly callId: string;
      readonly toolCallId: string;
      readonly question: JsonValue;
    } & CallWork)
  /** The call sleeps until this time. Then `outcome` is its result. */
  | ({
      readonly type: "sleep_started";
      readonly callId: string;
      readonly toolCallId: string;
      readonly until: number;
      readonly outcome: ToolOutcome;
    } & CallWork)
  /** The call asks another agent: `ask` is the command for the thread of the child, without its id, type and agent. */
  | {
      readonly type: "delegated";
      readonly callId: string;
      readonly toolCallId: string;
      readonly child: {
        readonly threadId: string;
        readonly requestId: string;
        readonly agent: string;
        readonly ask: JsonObject;
      };
      readonly workedMs?: number;
    }
  /** The request of a child has ended: the command `id` of the inbox, with the result of the call. */
  | {
      readonly type: "child_ended";
      readonly id: string;
      readonly callId: string;
      readonly toolCallId: string;
      readonly outcome: ToolOutcome;
      readonly usage: Usage;
      readonly usageByModel: UsageByModel;
    }
  /** The answer to the question of a tool, which resumes the call. */
  | {
      readonly type: "answer_question";
      readonly toolCallId: string;
      readonly requestId?: string;
      readonly answer: JsonValue;
      readonly by?: string;
      readonly refs?: Refs;
    }
  /** The call has no `execute`, so its result must come from outside the process. */
  | { readonly type: "answer_needed"; readonly callId: string; readonly toolCallId: string }
  | {
      readonly type: "approve" | "deny";
      readonly toolCallId: string;
      /** The request that it is for. The calls of two requests may have one id. Default: the open one. */
      readonly requestId?: string;
      readonly by?: string;
      readonly reason?: string;
      readonly author?: Author;
      readonly remember?: Remember;
      /** Of an approval: what the call runs with instead of its own arguments. They fit the schema of the tool. */
      readonly editedArguments?: JsonValue;
      readonly refs?: Refs;
    }
  /** The deadline of an approval, or the time of a sleep, may have passed. */
  | { readonly type: "expire" }
  | {
      readonly type: "answer";
      readonly toolCallId: string;
      readonly requestId?: string;
      readonly outcome: ToolOutcome;
      readonly by?: string;
      readonly refs?: Refs;
    }
  | ({ readonly type: "steer" } & Steer)
  /** A steer that skips calls is durable. Closes them, except those with ids in `begun`. Default: all that run have begun. */
  | { readonly type: "skip"; readonly begun?: readonly string[] }
  /** `spoken`: the beginning of the last answer that was spoken. The answer is cut to it at the end. */
  | {
      readonly type: "cancel";
      readonly requestId?: string;
      readonly reason?: string;
      readonly spoken?: string;
      readonly refs?: Refs;
    }
  /** End the run with this failure, for example because of the total timeout. */
  | { readonly type: "fail"; readonly failure: Failure }
  /** The deadline of the run may be over. */
  | { readonly type: "deadline" }
  /**
   * The server stops; another process resumes the request. `begun` lists the calls that have started. `isCut`: a model call
   * runs. `call`: what it has used.
   */
  | {
      readonly type: "hand_over";
      readonly begun: readonly string[];
      readonly isCut?: boolean;
      readonly call?: Pick<CallRecord, "model" | "usage"> | undefined;
      readonly workedMs?: number;
    }
  /** The work time so far, for a request with a time limit. Recorded, so that a killed process loses little of it. */
  | { readonly type: "worked"; readonly workedMs: number }
  /** Complete the run with the answer so far. */
  /** `callWaits`: the model call waits for the time of its retry, and is not made. */
  | {
      readonly type: "finish";
      readonly requestId?: string;
      readonly terminationReason: "limit" | "stopped";
      readonly callWaits?: boolean;
    }
  /** The answer to the directive `check`. */
  | { readonly type: "checked"; readonly verdict: ExchangeVerdict }
  /** The command of an ended request was performed. */
  | { readonly type: "end_reported"; readonly id: string }
  | { readonly type: "context_op"; readonly operation: ContextOperation }
  /** Cut an answer to what was spoken or read. */
  | { readonly type: "cut"; readonly cut: AnswerCutNote; readonly refs?: Refs }
  | { readonly type: "set"; readonly setting: AiSettingPayload; readonly refs?: Refs }
  | {
      readonly type: "summary_result";
      readonly lane: string;
      readonly payload: SummaryPayload;
      readonly call?: JsonObject;
      readonly isSpent?: boolean;
    }
  /** The summary failed or was discarded. */
  | {
      readonly type: "summary_failed";
      readonly lane: string;
      readonly failed: FailedSummary;
      readonly reason: string;
      /** The record of the summarizer's call. */
      readonly call?: JsonObject;
      readonly isSpent?: boolean;
    };
