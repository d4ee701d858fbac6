import type { AnyAgent } from "../../agent/definition/config.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { WaitingCall } from "../../agent/react/agent.ts";
import type { Revocations } from "../../checkpoint/config.ts";
import type { Bus } from "../../stores/bus.ts";
import type { ThreadDatabase } from "../../stores/database.ts";
import type { ServerOptions } from "../server/options.ts";
import type { Scheduler } from "./advance.ts";
import type { TitleOptions } from "./titles.ts";

/** Which waiting calls of all threads to list. */
export interface WaitingListOptions {
  /** Only approvals, answers or sleeps. Default: all. */
  readonly kind?: WaitingCall["kind"] | undefined;
  /** The most calls of a page, 1 to 1,000. Default 50. */
  readonly limit?: number | undefined;
  /** The cursor of the page before. Default: the first page. */
  readonly cursor?: string | undefined;
}

/** The agent or agents, the store, and how long a host keeps idle threads live. The rest is as for a server. */
export type HostOptions<Agent extends AnyAgent> = ServedAgents<Agent> & HostFields<Agent>;

/** The database of all tenants, and the options of the host of each. */
export type TenantHostsOptions<Agent extends AnyAgent> = ServedAgents<Agent> &
  Omit<HostFields<Agent>, "store"> & {
    /** Holds the threads of all tenants. It stays open after `stop`. */
    readonly database: ThreadDatabase;
  };

type ServedAgents<Agent extends AnyAgent> =
  | {
      /** The agent of all threads of this host. */
      readonly agent: Agent;
      /** Only in place of `agent`. Default: none. */
      readonly agents?: undefined;
    }
  | {
      /** Only in place of `agents`. Default: none. */
      readonly agent?: undefined;
      /** Several agents by name, or a list of agents with names. */
      readonly agents: { readonly [name: string]: Agent } | readonly Agent[];
    };

/** The choice of an agent by name. */
export interface AgentChoice {
  /** The agent of a thread that was not asked before. Default: the agent of the thread, else the only agent of the host. */
  readonly agent?: string | undefined;
}

interface HostFields<Agent extends AnyAgent> extends Omit<ServerOptions<Agent>, "agent" | "threadId" | "signal"> {
  /**
   * Milliseconds that a thread stays claimed and loaded while no request runs and its events have no reader. Default 10
   * 000.
   */
  readonly idleMs?: number | undefined;
  /** Has threads started at their times, in place of a timer of this host. Call `host.advance` then. Default: the timer. */
  readonly scheduler?: Scheduler | undefined;
  /**
   * Gives each thread a title after its first answer. It never delays an answer, and a title that a person gave always wins: see
   * docs/chat.md. Default false.
   */
  readonly titles?: boolean | TitleOptions | undefined;
  /**
   * Carries the text that a model streams to the processes that read a request which this process runs. Redis is an example: see
   * docs/hosting.md. Default: the bus of the store.
   */
  readonly bus?: Bus | undefined;
  /** Asked whether a token was revoked. Default: none, no token is revoked. */
  readonly revocations?: Pick<Revocations, "isRevoked"> | undefined;
}

/** Which threads a host takes, and the limits of its model calls. */
export interface WorkOptions {
  /** The most model calls of this process at once, also those of its own asks. Further ones wait. Default 100. */
  readonly concurrency?: number | undefined;
  /** The most model calls that this process begins in so many milliseconds. Default: no limit. */
  readonly rate?: { readonly calls: number; readonly perMs: number } | undefined;
  /**
   * The most calls at once of a model, such as "openai:gpt-5", or of all models of a provider, such as "openai". All processes
   * that work on this database share them, so pass the same numbers everywhere. Default: no limit.
   */
  readonly modelCalls?: Readonly<Record<string, number>> | undefined;
  /** Only threads of these agents. Default: of all agents of the host. */
  readonly agents?: readonly string[] | undefined;
  /**
   * The version of the program, a whole number that grows. While a process with a greater one has free places, this one takes
   * nothing, so that work moves once in a deploy. Default: no version.
   */
  readonly version?: number | undefined;
  /**
   * Asked before a thread starts, and before each further ask that it takes from its inbox, for budgets: true, or a time before
   * which it does not start. With false it is asked again after a minute. Not asked for asks that this process makes itself.
   * Default: all start.
   */
  readonly mayStart?: ((thread: WaitingThread) => boolean | Date | Promise<boolean | Date>) | undefined;
  /** When it aborts, the host takes no more threads. Those that run continue, and the limits stay. Default: until `stop`. */
  readonly signal?: AbortSignal | undefined;
}

/** As for one host, and how many threads of one tenant may run. */
export interface TenantWorkOptions extends WorkOptions {
  /** The most threads of one tenant that are live in this process before it takes another one. Default: no limit. */
  readonly perTenant?: number | undefined;
}

/** A thread that has something to do. */
export interface WaitingThread {
  readonly tenant: string;
  readonly threadId: string;
  /** Absent when no ask has named it. */
  readonly agent?: string | undefined;
}

/** How much of a thread is read. */
export interface ThreadReadOptions {
  /** Reads all entries, also those of a long thread. Default false. */
  readonly whole?: boolean | undefined;
}

/** The agent of a new thread, and the context, tools and signal that the open request of a thread uses from now. */
export interface HostGetOptions<Context = unknown> extends AgentChoice {
  /**
   * The context of the open request. Tools and guards that start later get it. If this call starts the thread, the
   * request is resumed with it. Default: the context of its ask, else the result of the host's `context`.
   */
  readonly context?: Context | undefined;
  /** The tools that only the open request has. Default: those of its ask, or the result of the host's `tools`. */
  readonly tools?: Tools | undefined;
  /** Cancels the open request, and replaces the signal of its ask. Default: the signal of the ask. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for the process that holds the thread, in milliseconds. Default: `claimWaitMs` of the host. */
  readonly claimWaitMs?: number | undefined;
}

/** Called when a request has ended here. */
export type RequestEnded = (ended: {
  readonly kind: "request_completed" | "request_failed" | "request_cancelled";
  readonly requestId: string;
  readonly threadId: string;
  readonly agent: AnyAgent;
}) => void;
