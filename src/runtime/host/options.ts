import type { AnyAgent } from "../../agent/definition/config.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { Revocations } from "../../checkpoint/config.ts";
import type { ServerOptions } from "../server/options.ts";

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
