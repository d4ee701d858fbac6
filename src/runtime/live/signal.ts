import type { Check, LlmStream, Summarize, ToolExec } from "../../agent/directive.ts";
import type { EventDraft, Suspension } from "../../agent/event.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import type { EndedRun, Run } from "../../agent/react/state.ts";
import type { Failure, ResultSignal, Signal, StoredRequestOptions } from "../../agent/signal.ts";
import type {
  CommandInput,
  CommandOutcome,
  ConsumedCommand,
  Command as InboxRow,
  PostedCommand,
} from "../../stores/command.ts";
import type { AppendResult } from "../../stores/port.ts";
import type { Entry } from "../../thread/entry.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import type { Thread } from "../../thread/thread.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import type { ErrorOrigin } from "../callbacks.ts";
import type { CallerAnswer, Command, Live, Outcomes, QueuedAsk, RemoteCall, ToolFacts } from "./live.ts";
import type { ScheduleChange } from "./schedule.ts";

/** The result of a call that this process has run. */
export type WorkResult = Extract<Command, { type: "agent" }> & { readonly signal: ResultSignal; readonly from: string };

/** An event of a live thread: from outside, or the result of an effect. */
export type LiveSignal =
  | Command
  /** Results of work that waited together. */
  | { readonly type: "results"; readonly results: readonly WorkResult[] }
  /** Work has ended. Its result was a signal before, or is not needed. */
  | { readonly type: "worked"; readonly id: string; readonly error?: unknown }
  /** The thread was opened: resume its open request, and read the rows of its inbox. */
  | {
      readonly type: "opened";
      readonly reply: string;
      readonly rows: readonly InboxRow[];
      readonly first: Signal | undefined;
      readonly given: RequestValues | undefined;
    }
  /** The end of a request is stored: call `onRequestEnd`. */
  | { readonly type: "ended"; readonly requestId: string; readonly commandId: string | undefined }
  /** A tool call starts to run. Without an id: the model call was sent. */
  | { readonly type: "begun"; readonly toolCallId: string | undefined }
  | { readonly type: "ask"; readonly ask: QueuedAsk }
  /** Asks that are rows. */
  | { readonly type: "asks"; readonly asks: readonly QueuedAsk[] }
  /** Another process calls a method of the server of this thread. */
  | { readonly type: "call"; readonly commandId: string; readonly revision: number; readonly call: RemoteCall }
  /** A message that starts a request waits. */
  | { readonly type: "wake" }
  /** A row of the inbox cancels a request, because the call that asked for it was closed. */
  | { readonly type: "cancel_child"; readonly id: string; readonly requestId: string }
  /** Withdraws the queued ask with this id or request id; without both, all queued asks. */
  | {
      readonly type: "withdraw";
      readonly askId?: string;
      readonly requestId?: string;
      readonly error: unknown;
      readonly reply?: string;
    }
  /** Rows may have been posted, amended or withdrawn: read them again. */
  | { readonly type: "look"; readonly reply: string; readonly hasRead?: true }
  | Outcomes
  /** `given` is undefined where a request was open, which refuses the ask: no values were made. */
  | { readonly type: "prepared"; readonly askId: string; readonly given: RequestValues | undefined }
  /** The log was reloaded and has an open request. The ask waits for its end. */
  | { readonly type: "postponed"; readonly askId: string }
  /** Writes the schedule. Another process may have left one that holds no longer. */
  | { readonly type: "schedule"; readonly reply?: string }
  /** The ask was made before, or was refused. */
  | { readonly type: "unprepared"; readonly askId: string; readonly error?: unknown; readonly known?: Entry }
  /** Changes the values of the open request, at once and also in an append that is under way. */
  | { readonly type: "change"; readonly change: Change; readonly reply: string }
  /** Answers to the effect that other signals wait for. */
  | { readonly type: "appended"; readonly id: string; readonly result: AppendResult }
  | { readonly type: "failed"; readonly id: string; readonly error: unknown }
  | { readonly type: "caught_up"; readonly id: string; readonly agent: ReactAgent | undefined }
  /** `isAmple`: enough of the thread is loaded to answer every read. */
  | { readonly type: "loaded"; readonly id: string; readonly thread: Thread; readonly isAmple: boolean }
  | { readonly type: "minted"; readonly id: string }
  /** The command is stored as a row. If it was posted before, it has an outcome, or `row` is its current content. */
  | {
      readonly type: "posted";
      readonly id: string;
      readonly outcome?: CommandOutcome | undefined;
      readonly row?: InboxRow | undefined;
    }
  | { readonly type: "inbox_read"; readonly id: string; readonly rows: readonly InboxRow[] }
  | {
      readonly type: "restored";
      readonly id: string;
      readonly agent: ReactAgent;
      readonly rows: readonly InboxRow[];
    }
  | { readonly type: "shortened"; readonly id: string; readonly agent: ReactAgent }
  /** Another process has the thread, or the lease has ended. */
  | { readonly type: "lost"; readonly error: unknown }
  | { readonly type: "timer"; readonly name: TimerName }
  /** End the request with a failure, unless it has ended. */
  | { readonly type: "close_request"; readonly failure: Failure; readonly cause: unknown }
  /** Keep only the end of a long thread in memory. */
  | { readonly type: "shorten" }
  | { readonly type: "stop"; readonly graceMs: number; readonly why: unknown };

/** A change of the values of a request: of the live value, then of each agent in it. */
export interface Change {
  readonly live?: (live: Live) => Live;
  readonly agent?: (agent: ReactAgent, live: Live) => ReactAgent;
}

/** The values of an ask that are not in the log, because they are functions or made by functions. */
export interface RequestValues {
  readonly systemPrompt?: string | undefined;
  /** The tools of the agent as they were set, and the seqs of the settings that were read. */
  readonly held?:
    | { readonly facts: ToolFacts; readonly seqs: readonly number[]; readonly unresolved: Live["unresolved"] }
    | undefined;
  readonly tools?: ToolFacts | undefined;
  /** The names of the models, and those that are stored with the ask. */
  readonly models?: { readonly names: readonly string[]; readonly stored?: readonly string[] } | undefined;
  readonly exactCounter?: TokenCounter | undefined;
  /** The trace of the request, which is stored with the ask. */
  readonly traceparent?: string | undefined;
  readonly context?: unknown;
  /** The options of the ask with the changes of `prepareCall`. Default: those of the ask. */
  readonly options?: StoredRequestOptions | undefined;
  /** A function of the caller failed, so that the request cannot be resumed. */
  readonly failed?: { readonly error: unknown; readonly code: string; readonly message: string } | undefined;
}

/**
 * `limit`: the working time of a request is over. `deadline`: check its deadline. `ask`: check the times and deadlines of
 * the queued asks. `approval`: check the deadline of an approval, or the time of a sleep. `note`: record its working time.
 * `retry`: make the model call that waits. `reload`: reload the log.
 */
export type TimerName = "limit" | "deadline" | "ask" | "approval" | "note" | "retry" | "reload" | "grace" | "give_up";

/** Calls `onRequestEnd`. The row of the command waits until the call was made; absent without a store. */
export interface EndReport {
  readonly type: "report_end";
  readonly requestId: string;
  readonly commandId: string | undefined;
}

/** Work that other signals do not wait for. Its result is one signal. */
export type Work = LlmStream | ToolExec | Summarize | Check | EndReport;

/** An effect: what the loop does for a live thread. Effects are performed in order. */
export type Effect =
  | {
      readonly type: "append";
      readonly id: string;
      readonly before: ReactAgent;
      readonly after: ReactAgent;
      readonly metadata: JsonObject;
      /** That of the ask which is appended. */
      readonly owner?: string | undefined;
      readonly consumes: readonly ConsumedCommand[];
      readonly posts: readonly CommandInput[];
      /** Commands for other threads. */
      readonly sends: readonly PostedCommand[];
      readonly schedule?: ScheduleChange;
    }
  | { readonly type: "catch_up"; readonly id: string; readonly agent: ReactAgent }
  | { readonly type: "load"; readonly id: string; readonly thread: Thread; readonly error: unknown }
  | {
      readonly type: "mint";
      readonly id: string;
      readonly agent: ReactAgent;
      readonly run: Run;
      readonly phase: "after_llm" | "after_tools" | "terminal";
    }
  /** `replaces`: a waiting command that is dropped in the same transaction. */
  | {
      readonly type: "post";
      readonly id: string;
      readonly command: CommandInput;
      /** Written with the row of an ask with a time. */
      readonly schedule?: ScheduleChange;
      readonly replaces?: string;
    }
  | { readonly type: "read_inbox"; readonly id: string }
  /** `isGone`: the thread was deleted. */
  | { readonly type: "restore"; readonly id: string; readonly confirm: boolean; readonly isGone: boolean }
  | { readonly type: "shorten"; readonly id: string; readonly agent: ReactAgent }
  | { readonly type: "start"; readonly id: string; readonly directive: Work }
  | { readonly type: "prepare"; readonly ask: QueuedAsk }
  /** Calls the method. Its outcome is one signal. */
  | { readonly type: "perform_call"; readonly commandId: string; readonly revision: number; readonly call: RemoteCall }
  /** No signal waits for it, and it may fail. */
  | { readonly type: "withdraw_row"; readonly commandId: string }
  | {
      readonly type: "open_request";
      readonly requestId: string;
      readonly runId: string;
      readonly firstEventSeq: number;
    }
  | { readonly type: "emit"; readonly iteration: number; readonly event: EventDraft; readonly isReplayed?: boolean }
  | { readonly type: "rest"; readonly waits: boolean }
  | {
      readonly type: "complete";
      readonly thread: Thread;
      readonly ended: EndedRun;
      readonly object: JsonValue | undefined;
    }
  | { readonly type: "reject"; readonly error: unknown }
  | { readonly type: "suspend"; readonly suspension: Suspension; readonly iteration: number; readonly error: unknown }
  | { readonly type: "interrupt"; readonly reason: unknown }
  /** Another thread got a command, or may have to be started for its own. */
  | { readonly type: "sent"; readonly threadId: string; readonly agent: string | undefined }
  /** The functions of a request are not needed any more. */
  | { readonly type: "forget"; readonly requestId: string }
  | CallerAnswer
  /** The thread is released. Commands that are rows wait for the next process. */
  | { readonly type: "settle_all"; readonly reason: "closed" | "suspended"; readonly error: unknown }
  /** `at`: a time by the clock, instead of `ms` from now. */
  | { readonly type: "timer"; readonly name: TimerName; readonly ms: number | undefined; readonly at?: number }
  | { readonly type: "follow"; readonly fromSeq: number | undefined }
  /** Nothing more is decided: release the thread. */
  | { readonly type: "close"; readonly gaveUp: boolean }
  /** A signal to decide before the waiting ones. */
  | { readonly type: "next"; readonly signal: LiveSignal }
  | { readonly type: "report"; readonly error: unknown; readonly origin: ErrorOrigin }
  | { readonly type: "warn"; readonly message: string }
  /** The prompt, the tools or the settings changed between two calls. */
  | { readonly type: "warn_of_change" }
  | { readonly type: "lost"; readonly error: unknown };

/** The facts that the loop passes with each signal. */
export interface Moment {
  /** The monotonic clock. */
  readonly now: number;
  /** The clock, in milliseconds since 1970. */
  readonly clock: number;
  /** The number of the last event of the request. */
  readonly eventSeq: number;
  readonly threadId: string;
  /** The number of signals that wait to be decided. */
  readonly waiting: number;
  /** The usage so far of the newest model call. Absent: unknown. */
  readonly used?: () => Extract<Signal, { type: "hand_over" }>["call"];
}

export interface Decision {
  readonly live: Live;
  readonly effects: readonly Effect[];
}
