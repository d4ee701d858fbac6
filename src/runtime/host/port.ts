import type { AgentContext, AgentOutput, AnyAgent } from "../../agent/definition/config.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { Revocations } from "../../checkpoint/config.ts";
import type { Content } from "../../thread/message.ts";
import type { AgentRequest, SteerAnswer } from "../request/request.ts";
import type {
  AskArguments,
  AskOptions,
  Decider,
  SenderOptions,
  ServerOptions,
  SteerOptions,
  StopOptions,
} from "../server/options.ts";
import type { AgentServer } from "../server/port.ts";
import type { Recovered } from "./recovery.ts";

/** The agent, the store, and how long a host keeps idle threads live. The rest is as for a server. */
export interface HostOptions<Given extends AnyAgent> extends Omit<ServerOptions<Given>, "threadId" | "signal"> {
  /** Milliseconds that a thread stays claimed and loaded when no request runs and no one reads its events. Default 10 000. */
  readonly idleMs?: number | undefined;
  /** How many requests `recover` has at work at once. Default 16. */
  readonly recoverConcurrency?: number | undefined;
  /** Asked whether a token was revoked. Default: none, no token is revoked. */
  readonly revocations?: Pick<Revocations, "isRevoked"> | undefined;
}

/** What the open request of a thread gets from here on: context, tools, signal. */
export interface HostGetOptions<Context = unknown> {
  /**
   * The context of the open request. Tools and guards that run from now on get it. If this call starts the thread, the request is
   * resumed with it. Default: the context of its ask, else the result of the host's `context`.
   */
  readonly context?: Context | undefined;
  /** The tools of its own that the open request has from here on. Default: what its ask gave, or the host's `tools`. */
  readonly tools?: Tools | undefined;
  /** Cancels the request that is open, in place of the signal of its ask. Default: that one. */
  readonly signal?: AbortSignal | undefined;
}

/** Runs one agent on many threads. Each thread has at most one live server. A released thread uses no memory. */
export interface AgentHost<Given extends AnyAgent = AnyAgent> extends AsyncDisposable {
  /** Threads that are live now. */
  readonly size: number;
  /** The live server of a thread, started when there is none: what a crash has interrupted is taken up. When it was idle it stops; get it again. */
  get(threadId: string, options?: HostGetOptions<AgentContext<Given>>): Promise<AgentServer<Given>>;
  /** Asks. While somebody iterates the events of a request that waits, or has taken its `result`, its thread stays live. */
  ask(
    threadId: string,
    content: Content,
    ...options: AskArguments<AskOptions<AgentContext<Given>>>
  ): Promise<AgentRequest<AgentOutput<Given>>>;
  /** Goes on with the request that is open; undefined when none is. With a token, it has to be the token's. */
  resume(threadIdOrToken: string): Promise<AgentRequest<AgentOutput<Given>> | undefined>;
  /**
   * Takes over every thread of this agent whose request was at work when its process ended. At most `recoverConcurrency` requests
   * are at work at once; resolves when the last of them has begun. Answers the ids of the requests, and of the thread of each.
   */
  recover(): Promise<Recovered>;

  /**
   * Decides on a call; durable when it resolves. Where another process holds the thread, the decision is written into the log,
   * and that one acts on it. A token is one of the request's, told when it came to wait: see docs/hosting.md.
   */
  approve(threadIdOrToken: string, toolCallId: string, options?: Decider): Promise<void>;
  deny(threadIdOrToken: string, toolCallId: string, options?: Decider): Promise<void>;
  answer(threadIdOrToken: string, toolCallId: string, output: unknown, options?: SenderOptions): Promise<void>;

  /** As on a server, for the request of this thread. While another process runs it: `thread_held`. */
  steer(threadId: string, content: Content, options?: SteerOptions): Promise<SteerAnswer>;
  inject(threadId: string, content: Content, options: SteerOptions & { readonly source: string }): Promise<SteerAnswer>;
  followUp(threadId: string, content: Content, options?: SteerOptions): Promise<SteerAnswer>;
  cancel(threadId: string, requestId?: string, reason?: string, options?: SenderOptions): Promise<boolean>;

  /** Lets requests at work end, and all threads go. */
  stop(options?: StopOptions): Promise<void>;
}
