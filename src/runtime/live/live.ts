import type { Directive, LlmStream } from "../../agent/directive.ts";
import type { Suspension } from "../../agent/event.ts";
import type { ReactAgent, Step } from "../../agent/react/agent.ts";
import type { ReactSettings } from "../../agent/react/settings.ts";
import type { CommandEnd, DeferredCommand, Failure, Signal, StoredRequestOptions } from "../../agent/signal.ts";
import type { ContextOperation } from "../../lanes/context-operation.ts";
import type { ConsumedCommand, PostedCommand } from "../../stores/command.ts";
import type { Entry, Refs } from "../../thread/entry.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import type { Author, Content } from "../../thread/message.ts";

/** The specifications of a set of tools, for the model, and how their calls are handled. */
export type ToolFacts = Pick<ReactSettings, "tools" | "traits">;

/** The last request of the thread, as this process knows it. */
export interface RequestState {
  readonly id: string;
  readonly runId: string;
  /** `suspended`: open in the log, but not run by this process. `over`: ended here. */
  readonly phase: "running" | "waiting" | "suspended" | "over";
  /** It waits, and a call waits for another agent. */
  readonly delegates?: boolean;
  /** Its terminal event was emitted. */
  readonly hasEmittedEnd: boolean;
  /** The checked object of the newest answer, if the agent has an output schema. */
  readonly object?: JsonValue | undefined;
  /** The error behind the newest failure. */
  readonly thrown?: { readonly error: unknown; readonly code: string } | undefined;
  readonly time?: WorkTime | undefined;
  /** Its newest model call, as `work` names it. */
  readonly call?: string | undefined;
  /** A timer for its deadline is set. */
  readonly hasDeadline?: boolean;
  /** For which deadline of an approval a timer is set. */
  readonly approvalDeadline?: number | undefined;
}

/** The time limit of a request. It is paused while the request waits. */
export interface WorkTime {
  readonly limitMs: number;
  readonly noteEveryMs: number;
  /** Working time until `since`, in milliseconds. */
  readonly workedMs: number;
  /** When the work was resumed, by the monotonic clock; undefined while the request waits. */
  readonly since: number | undefined;
  /** Sent when the limit is reached. */
  readonly over: Extract<Signal, { type: "fail" }>;
}

/** An ask that the agent has not decided. Its signal, tools and context are in the loop, by `id`. */
export interface QueuedAsk {
  readonly id: string;
  readonly requestId: string;
  readonly content: Content;
  readonly author?: Author | undefined;
  /** The sender, if it was injected. */
  readonly source?: string | undefined;
  /** The request that it continues. */
  readonly continues?: string | undefined;
  /** The lane that it switches to, or begins as a branch. */
  readonly operation?: ContextOperation | undefined;
  readonly options: StoredRequestOptions;
  /** It is not taken before this time, in milliseconds since 1970. */
  readonly at?: number | undefined;
  readonly refs?: Refs | undefined;
  /** The owner that the thread gets or must have. */
  readonly owner?: string | undefined;
  /** It waits for the end of an open request, whatever the agent's `busy` says. */
  readonly queues?: boolean | undefined;
  /** Refs that identify a repeated ask. */
  readonly keys: readonly (readonly [ref: string, value: string])[];
  /** `waits`: it is a row of the inbox, under its request id. `answered`: it was posted before, and the log has it. */
  readonly row?: "waits" | "answered" | undefined;
}

/** The steps of one signal of the agent: decide, append, perform, then decide what comes next. */
export interface Turn {
  readonly signal: Signal;
  /** The caller that waits for the outcome. */
  readonly reply: string | undefined;
  /** The signal is the result of work. If it is lost, no caller gets an error. */
  readonly isFromWork: boolean;
  readonly before: ReactAgent;
  /** `durable`: the entries are decided. `next`: the work after them. `mark`: the checkpoint of a run that waits now. */
  readonly stage: "durable" | "next" | "mark";
  readonly performed: readonly Directive[];
  readonly todo: readonly Directive[];
  /** Commands that could not be appended with the end of the run. Each is appended separately. */
  readonly alone: readonly DeferredCommand[];
  /** The parent has another end of this child already, so none is sent. */
  readonly sendsNothing?: true;
}

/** The result of a signal of the agent. */
export interface Outcome {
  readonly before: ReactAgent;
  readonly after: ReactAgent;
  readonly directives: readonly Directive[];
}

/** The end of a command. `error`: this process cannot know the end. */
export interface CommandSettled {
  readonly end: CommandEnd;
  readonly error?: unknown;
}

/** A request of a caller or an effect to the agent. It can wait until the log is reloaded. */
export type Command =
  /** A signal of the agent: a command with a `reply`, or the result of the work `from`. */
  | {
      readonly type: "agent";
      readonly signal: Signal;
      readonly reply?: string;
      readonly from?: string;
      /** The checked object of an answer. */
      readonly object?: JsonValue;
      readonly thrown?: { readonly error: unknown; readonly code: string };
      /** The log was reloaded for it. If that failed, the caller gets the error. */
      readonly hasWaited?: true;
    }
  /** Reload the log if a write has failed. */
  | { readonly type: "reload"; readonly reply: string; readonly hasWaited?: true }
  /** `ahead`: load what the read needs at most once, and answer nothing. */
  | {
      readonly type: "read";
      readonly read: (agent: ReactAgent) => unknown;
      readonly reply: string;
      readonly isAhead?: boolean;
    };

/** A call of a method of the server of a thread, sent by a process that does not hold it. Arguments are JSON; null for none. */
export interface RemoteCall {
  readonly method: string;
  readonly args: readonly JsonValue[];
  /** Only the caller has all values of this call: release the thread for it. */
  readonly isLocal: boolean;
  readonly brought?: Brought | undefined;
}

/** The values of an ask that were not sent. The functions of the host make them again. */
export interface Brought {
  readonly context?: boolean;
  /** Their names. */
  readonly headers?: readonly string[];
}

/** Answers to callers. */
export type CallerAnswer =
  | {
      readonly type: "settle";
      readonly reply: string;
      readonly turn?: Turn;
      readonly value?: unknown;
      readonly error?: unknown;
    }
  /** An ask with a time is a row now. */
  | { readonly type: "ask_waits"; readonly askId: string }
  | {
      readonly type: "settle_ask";
      readonly askId: string;
      /** Of an ask whose row gets its outcome before its caller gets the answer. */
      readonly requestId?: string;
      readonly error?: unknown;
      readonly known?: Entry;
    }
  | { readonly type: "outcome"; readonly commandId: string; readonly end: CommandEnd };

/** Outcomes of rows without an entry. The answers `then` come when they are durable. */
export interface Outcomes {
  readonly type: "consume";
  readonly consumes: readonly ConsumedCommand[];
  readonly then: readonly CallerAnswer[];
  readonly metadata: JsonObject;
  /** Commands that are posted to other threads with them. */
  readonly sends?: readonly PostedCommand[] | undefined;
}

/** An effect whose answer other signals wait for. */
export type Hold = { readonly id: string } & (
  | {
      readonly type: "append";
      readonly turn: Turn;
      readonly step: Step;
      readonly consumes: readonly ConsumedCommand[];
    }
  | { readonly type: "post"; readonly turn: Turn; readonly commandId: string; readonly replaces: string | undefined }
  | { readonly type: "post_ask"; readonly askId: string }
  | Outcomes
  /** `turn` or `again`: to be decided again. Or `reply`: the caller that waits. */
  | {
      readonly type: "read_inbox";
      readonly turn: Turn | undefined;
      readonly reply?: string;
      readonly again?: Outcomes;
    }
  | { readonly type: "catch_up"; readonly turn: Turn; readonly step: Step | undefined; readonly error: unknown }
  | { readonly type: "load"; readonly turn: Turn }
  | { readonly type: "load_for_read"; readonly read: Extract<Command, { type: "read" }>; readonly error: unknown }
  | { readonly type: "mint"; readonly turn: Turn }
  | { readonly type: "restore"; readonly isResuming: boolean; readonly after: readonly Command[] }
  | { readonly type: "shorten" }
);

/** A failed write or read. Until the log is reloaded, the state in memory may be stale. */
interface Broken {
  readonly error: unknown;
  readonly failure: Failure;
  /** Set when the request is left open in the log for a process that can write. */
  readonly suspension: Suspension | undefined;
  /** This process can never write to the thread again. */
  readonly isPermanent: boolean;
  /** Milliseconds until the log is reloaded. */
  readonly retryMs: number;
}

/** A stop. Running work may end, then the request is handed over to the next process. */
interface Stopping {
  readonly phase: "grace" | "handing_over" | "closed";
  readonly why: unknown;
  /** The grace period is over. */
  readonly isStrict: boolean;
  /** The log was reloaded to close in it a request that has failed here. */
  readonly hasRestored: boolean;
}

interface LastCall {
  readonly directive: LlmStream;
  readonly agent: ReactAgent;
  /** It waits for the time of its retry. */
  readonly waits: boolean;
  /** The provider has the request. */
  readonly isSent?: boolean;
}

/** A live thread as a value. Decisions depend only on this value and the log. */
export interface Live {
  readonly agent: ReactAgent;
  readonly recover: "resume" | "fail";
  readonly queuesAsks: boolean;
  readonly mintsTokens: boolean;
  /** Commands that wait are rows of the store's inbox. Otherwise they are only in `agent.flight`. */
  readonly postsCommands: boolean;
  /** The agent has `onRequestEnd`. */
  readonly reportsEnds: boolean;
  /** The rows of the commands that wait: their revisions, by id. */
  readonly inbox: ReadonlyMap<string, number>;
  readonly ownTools: ToolFacts;
  /** The names of the agent's models, if they are known without a request. */
  readonly ownModels: Pick<ReactSettings, "model" | "fallbacks">;
  /** Tools of the thread whose code was not found. Each request has an event for each of them. */
  readonly unresolved: readonly { readonly name: string; readonly reason: string }[];
  /** The values of the request's caller: the context, the facts of its own tools, and the prompt that was made for it. */
  readonly given:
    | {
        readonly requestId: string;
        readonly context: unknown;
        readonly tools: ToolFacts | undefined;
        readonly systemPrompt?: string | undefined;
      }
    | undefined;
  readonly request: RequestState | undefined;
  readonly asks: readonly QueuedAsk[];
  /** The first ask is being prepared, or decided. */
  readonly isAsking: boolean;
  /** For which time or deadline of a queued ask a timer is set. */
  readonly askTimer: number | undefined;
  /** Ids of the running model calls, tools and summaries, in the order of their starts. */
  readonly work: readonly string[];
  /** Calls of the last answer that have started here. */
  readonly begun: readonly string[];
  /** The last model call that was started here, until its request ends: then the log has it. */
  readonly lastCall: LastCall | undefined;
  /** The environment of the last call, which an earlier process may have made, and whether a change was reported. */
  readonly environment: { readonly hash: string | undefined; readonly hasChanged: boolean };
  readonly hold: Hold | undefined;
  readonly broken: Broken | undefined;
  /** Set after a reload, until the next append: the delay before the log is reloaded again if that append fails. */
  readonly nextRetryMs: number | undefined;
  /** How often a request was resumed because the store had been away, since it wrote a result or a decision. */
  readonly resumes: { readonly of: string | undefined; readonly count: number };
  readonly stopping: Stopping | undefined;
  readonly nextId: number;
}

export const NOT_RESUMED: Live["resumes"] = { of: undefined, count: 0 };

/** The value of a thread that was just loaded: nothing runs. */
export function newLive(
  agent: ReactAgent,
  rules: Pick<Live, "recover" | "queuesAsks" | "mintsTokens" | "postsCommands" | "reportsEnds">,
): Live {
  const { tools, traits, model, fallbacks } = agent.settings;
  return {
    ...rules,
    agent,
    inbox: new Map(),
    askTimer: undefined,
    ownTools: { tools, traits },
    ownModels: { model, fallbacks },
    unresolved: [],
    given: undefined,
    request: undefined,
    asks: [],
    isAsking: false,
    work: [],
    begun: [],
    lastCall: undefined,
    environment: { hash: undefined, hasChanged: false },
    hold: undefined,
    broken: undefined,
    nextRetryMs: undefined,
    resumes: NOT_RESUMED,
    stopping: undefined,
    nextId: 1,
  };
}
