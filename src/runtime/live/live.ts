import type { Directive, LlmStream } from "../../agent/directive.ts";
import type { Suspension } from "../../agent/event.ts";
import type { ReactAgent, Step } from "../../agent/react/agent.ts";
import type { ReactSettings } from "../../agent/react/settings.ts";
import type { CommandEnd, DeferredCommand, Failure, Signal, StoredRequestOptions } from "../../agent/signal.ts";
import type { ConsumedCommand } from "../../stores/command.ts";
import type { Entry, Refs } from "../../thread/entry.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";

/** The specifications of a set of tools, for the model, and how their calls are handled. */
export type ToolFacts = Pick<ReactSettings, "tools" | "traits">;

/** The last request of the thread, as this process knows it. */
export interface RequestState {
  readonly id: string;
  readonly runId: string;
  /** `suspended`: open in the log, and not carried here. `over`: it has ended here. */
  readonly phase: "running" | "waiting" | "suspended" | "over";
  /** Its terminal event was emitted. */
  readonly hasEmittedEnd: boolean;
  /** The checked object of the newest answer, if the agent has an output schema. */
  readonly object?: JsonValue | undefined;
  /** The error behind the newest failure. */
  readonly thrown?: { readonly error: unknown; readonly code: string } | undefined;
  readonly time?: WorkTime | undefined;
  /** A timer for its deadline is set. */
  readonly hasDeadline?: boolean;
  /** For which deadline of an approval a timer is set. */
  readonly approvalDeadline?: number | undefined;
}

/** The time limit of a request, which stands still while it waits. */
export interface WorkTime {
  readonly limitMs: number;
  readonly noteEveryMs: number;
  /** Milliseconds at work until `since`. */
  readonly workedMs: number;
  /** When the work went on, by the monotonic clock; undefined while the request waits. */
  readonly since: number | undefined;
  /** Sent when the limit is reached. */
  readonly over: Extract<Signal, { type: "fail" }>;
}

/** An ask that has not reached the agent. Its signal, tools and context are in the loop, by `id`. */
export interface QueuedAsk {
  readonly id: string;
  readonly requestId: string;
  readonly content: Content;
  /** The request that it continues. */
  readonly continues?: string | undefined;
  readonly options: StoredRequestOptions;
  readonly refs?: Refs | undefined;
  /** Refs by which it is the same ask when it is repeated. */
  readonly keys: readonly (readonly [ref: string, value: string])[];
  /** `waits`: it is a row of the inbox, under its request id. `answered`: it was posted before, and the log has it. */
  readonly row?: "waits" | "answered" | undefined;
}

/** One signal of the agent on its way: it is decided, appended and performed; then what comes next is decided. */
export interface Turn {
  readonly signal: Signal;
  /** Who waits for the outcome. */
  readonly reply: string | undefined;
  /** The signal is the result of work. If it is lost, no caller hears of it. */
  readonly isFromWork: boolean;
  readonly before: ReactAgent;
  /** What is decided: the entries, what comes next, and whether the run waits now. */
  readonly stage: "durable" | "next" | "mark";
  readonly performed: readonly Directive[];
  readonly todo: readonly Directive[];
  /** Commands that could not be appended with the end of the run. Each gets an append of its own. */
  readonly alone: readonly DeferredCommand[];
}

/** The result of a signal of the agent. */
export interface Outcome {
  readonly before: ReactAgent;
  readonly after: ReactAgent;
  readonly directives: readonly Directive[];
}

/** What a caller or an effect wants of the agent. It can wait until the log was read again. */
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
      /** The log was read again for it. If it cannot be written then, the caller gets the error. */
      readonly hasWaited?: true;
    }
  /** Read the log again if it could not be written. */
  | { readonly type: "mend"; readonly reply: string; readonly hasWaited?: true }
  /** `ahead`: load what the read needs at most once, and answer nothing. */
  | {
      readonly type: "read";
      readonly read: (agent: ReactAgent) => unknown;
      readonly reply: string;
      readonly isAhead?: boolean;
    };

/** Answers to callers. */
export type CallerAnswer =
  | {
      readonly type: "settle";
      readonly reply: string;
      readonly turn?: Turn;
      readonly value?: unknown;
      readonly error?: unknown;
    }
  | { readonly type: "settle_ask"; readonly askId: string; readonly error?: unknown; readonly known?: Entry }
  | { readonly type: "outcome"; readonly commandId: string; readonly end: CommandEnd };

/** An effect whose answer other signals wait for. */
export type Hold = { readonly id: string } & (
  | {
      readonly type: "append";
      readonly turn: Turn;
      readonly step: Step;
      readonly consumes: readonly ConsumedCommand[];
    }
  | { readonly type: "post"; readonly turn: Turn; readonly commandId: string }
  | { readonly type: "post_ask"; readonly askId: string }
  /** The effects come when the outcomes are durable. */
  | { readonly type: "consume"; readonly consumes: readonly ConsumedCommand[]; readonly then: readonly CallerAnswer[] }
  /** `turn`: to be decided again. Or `reply`: the caller that waits. */
  | { readonly type: "read_inbox"; readonly turn: Turn | undefined; readonly reply?: string }
  | { readonly type: "catch_up"; readonly turn: Turn; readonly step: Step | undefined; readonly error: unknown }
  | { readonly type: "load"; readonly turn: Turn }
  | { readonly type: "load_for_read"; readonly read: Extract<Command, { type: "read" }>; readonly error: unknown }
  | { readonly type: "mint"; readonly turn: Turn }
  | { readonly type: "restore"; readonly isResuming: boolean; readonly after: readonly Command[] }
  | { readonly type: "shorten" }
);

/** The log could not be written or read: what is here may not be what the log says. */
interface Broken {
  readonly error: unknown;
  readonly failure: Failure;
  /** Set when the request is left open in the log for a process that can write. */
  readonly suspension: Suspension | undefined;
  /** Nothing can be written here again. */
  readonly isForGood: boolean;
  /** Milliseconds until the log is read again. */
  readonly retryMs: number;
}

/** A stop that was asked for: what is at work may end, then the request is handed over. */
interface Stopping {
  readonly phase: "grace" | "handing_over" | "closed";
  readonly why: unknown;
  /** The time of the grace is over. */
  readonly isStrict: boolean;
  /** The log was read again, to close in it what has failed here. */
  readonly hasRestored: boolean;
}

/** One thread at work, as a value. Everything that decides is here or in the log. */
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
  /** The names of the agent's models, where it has them before there is a request. */
  readonly ownModels: Pick<ReactSettings, "model" | "fallbacks">;
  /** Tools of the thread whose code was not found. Each request has an event for each of them. */
  readonly unresolved: readonly { readonly name: string; readonly reason: string }[];
  /** What the caller gave with a request: the context, and the facts of its own tools. */
  readonly given:
    | { readonly requestId: string; readonly context: unknown; readonly tools: ToolFacts | undefined }
    | undefined;
  readonly request: RequestState | undefined;
  readonly asks: readonly QueuedAsk[];
  /** The first ask is being prepared, or decided. */
  readonly isAsking: boolean;
  /** Ids of the model calls, tools and summaries at work, in the order of their starts. */
  readonly work: readonly string[];
  /** Calls of the last answer that have started here. */
  readonly begun: readonly string[];
  /** The last model call that was started here. */
  readonly lastCall: { readonly directive: LlmStream; readonly agent: ReactAgent } | undefined;
  /** The environment of the last call, also one before this process, and whether it was seen to change. */
  readonly environment: { readonly hash: string | undefined; readonly hasChanged: boolean };
  readonly hold: Hold | undefined;
  readonly broken: Broken | undefined;
  /** Set when the log was read again and nothing was appended since: when to read it next if that fails. */
  readonly nextRetryMs: number | undefined;
  /** How often a request was resumed because the store had been away. */
  readonly resumes: { readonly of: string | undefined; readonly count: number };
  readonly stopping: Stopping | undefined;
  readonly nextId: number;
}

/** The value of a thread that was loaded: nothing is at work. */
export function newLive(
  agent: ReactAgent,
  rules: Pick<Live, "recover" | "queuesAsks" | "mintsTokens" | "postsCommands" | "reportsEnds">,
): Live {
  const { tools, traits, model, fallbacks } = agent.settings;
  return {
    ...rules,
    agent,
    inbox: new Map(),
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
    resumes: { of: undefined, count: 0 },
    stopping: undefined,
    nextId: 1,
  };
}
