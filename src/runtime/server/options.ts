import type { AgentContext, AnyAgent } from "../../agent/definition/agent.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Refs } from "../../thread/refs.ts";
import type { OnError } from "../on-error.ts";
import type { RuntimePorts } from "../ports.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

export interface ServerOptions<Given extends AnyAgent> {
  readonly agent: Given;
  readonly store: ThreadStore;
  /** Default a fresh one. */
  readonly threadId?: string | undefined;
  /** The context of a request that a crash has interrupted; contexts are never stored. */
  readonly context?: ((threadId: string, refs: Refs) => AgentContext<Given> | Promise<AgentContext<Given>>) | undefined;
  /** The tools of its own that such a request had; tools are never stored either. Default none. */
  readonly tools?: ((threadId: string, refs: Refs) => Tools | Promise<Tools>) | undefined;
  /** Gives up the start, which then is `server_stopped`; a server that has started is stopped by `stop`. */
  readonly signal?: AbortSignal | undefined;
  /** Who claims the thread. Default a name of its own; a lasting one takes over at once after a crash. */
  readonly holder?: string | undefined;
  /** How long the thread stays held when the process dies. Default 10 000. */
  readonly claimTtlMs?: number | undefined;
  /** How long to wait for a holder that may be dead. Default: as long as its claim lasts. */
  readonly claimWaitMs?: number | undefined;
  readonly telemetry?: Telemetry | undefined;
  /** Where warnings go. Default `console.warn`. */
  readonly warn?: ((message: string) => void) | undefined;
  /** Told what providers, tools, guards, summarizers and prompt functions threw, as it was thrown. Default nobody. */
  readonly onError?: OnError | undefined;
  /** Clock, ids, timers and chance; for tests and replays. */
  readonly ports?: Partial<RuntimePorts> | undefined;
}

/** What may be said of an ask. An agent whose context cannot be undefined needs one. */
export type AskOptions<Context = unknown> = AskFields & GivenContext<Context>;

/**
 * The options of an ask as an argument, which may be left out where none of them is needed. A function around an ask of any agent
 * takes them as its own and passes them on: `(...options: AskArguments<AskOptions<AgentContext<Given>>>)`.
 */
export type AskArguments<Options> = Record<never, never> extends Options ? [options?: Options] : [options: Options];

/** Handed to tools, guards and the system prompt; never stored. */
type GivenContext<Context> = [Context] extends [never]
  ? { readonly context?: undefined }
  : undefined extends Context
    ? { readonly context?: Context | undefined }
    : { readonly context: Context };

interface AskFields {
  readonly contextPolicy?: ContextPolicyInput | undefined;
  /** Tools of this request, beside the agent's. */
  readonly tools?: Tools | undefined;
  /** Only these tools of the agent; those that are given with the ask are allowed in any case. */
  readonly allowedTools?: readonly string[] | undefined;
  readonly maxIterations?: number | undefined;
  /**
   * A name of your own: the same words with it are the same request, other words are `request_id_reused`, for the life of the
   * log. Default a fresh one.
   */
  readonly requestId?: string | undefined;
  /**
   * The name of one of `refs`, such as the id of a message in another system: asks that agree in it are the same request, as with
   * `requestId`. Default none.
   */
  readonly idempotencyRef?: string | undefined;
  /** What the entries of the request refer to. */
  readonly refs?: Refs | undefined;
  /** Cancels the request; not where it aborts with `request_suspended`, as the `abortSignal` of a tool does. Default none. */
  readonly signal?: AbortSignal | undefined;
}

export interface Decider {
  readonly by?: string | undefined;
  readonly note?: string | undefined;
}

export interface SteerOptions {
  /** Only into this request. */
  readonly requestId?: string | undefined;
  readonly id?: string | undefined;
}

export interface StopOptions {
  /**
   * How long to wait for what is at work, a call of the model or of tools; nothing new is begun. What ends by then is stored, the
   * rest is left to whoever starts the thread next. With 0 no tool is waited for. Default 30 000.
   */
  readonly graceMs?: number | undefined;
}
