import type { AgentConfig, AgentContext, AnyAgent, Limits, OnNeedsSummary } from "../../agent/definition/config.ts";
import type { ModelChoice, ResolveModel } from "../../agent/definition/language-model.ts";
import type { InputSchema } from "../../agent/definition/schema.ts";
import type { ResolveTool, Tools } from "../../agent/definition/tool.ts";
import type { Remember } from "../../agent/signal.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Refs } from "../../thread/entry.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { OnError } from "../callbacks.ts";
import type { ServerHeaders } from "../perform/scene.ts";
import type { RuntimePorts } from "../ports.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** The agent, the store and the thread that a server starts with, and how it claims the thread. */
export interface ServerOptions<Given extends AnyAgent> {
  readonly agent: Given;
  readonly store: ThreadStore;
  /** Default a fresh one. */
  readonly threadId?: string | undefined;
  /** The context of a request that a crash has interrupted; contexts are never stored. `agent` is a name. Default: none. */
  readonly context?:
    | ((threadId: string, refs: Refs, agent: string) => AgentContext<Given> | Promise<AgentContext<Given>>)
    | undefined;
  /** The tools of its own that such a request had; tools are never stored either. Default none. */
  readonly tools?: ((threadId: string, refs: Refs, agent: string) => Tools | Promise<Tools>) | undefined;
  /** Finds the code of a tool that was registered on a thread, in place of the agent's `resolveTool`. Default: that of the agent. */
  readonly resolveTool?: ResolveTool | undefined;
  /** Finds a model by its name, in place of the agent's `resolveModel`. Default: that of the agent. */
  readonly resolveModel?: ResolveModel | undefined;
  /** The headers that such a request came with; they are never stored either. Default: none. */
  readonly headers?: ServerHeaders | undefined;
  /** Gives up the start, which then is `server_stopped`; a server that has started is stopped by `stop`. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Who claims the thread. Default a name of its own; a lasting one takes over at once after a crash. */
  readonly holder?: string | undefined;
  /** How long threads stay held when the process dies: the time of its lease, which is renewed every third of it. Default 10 000. */
  readonly leaseTtlMs?: number | undefined;
  /** How long to wait for a holder that may be dead. Default: `leaseTtlMs`. */
  readonly claimWaitMs?: number | undefined;
  /** Gets the spans of requests, model calls, tools and summaries; see `openTelemetry`. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /** Where warnings go. Default `console.warn`. */
  readonly warn?: ((message: string) => void) | undefined;
  /** Called before a model call that needs a summary, in place of the agent's `onNeedsSummary`. Default: that of the agent. */
  readonly onNeedsSummary?: OnNeedsSummary | undefined;
  /** Called with the original error that a provider, tool, guard, summarizer or prompt function threw. Default: none. */
  readonly onError?: OnError | undefined;
  /** Clock, ids, timers and chance; for tests and replays. Default `systemRuntimePorts`. */
  readonly ports?: Partial<RuntimePorts> | undefined;
}

/** Context, tools, limits and names of a single request. An agent whose context cannot be undefined needs one. */
export type AskOptions<Context = unknown> = AskFields & GivenContext<Context>;

/**
 * The options of an ask as an argument, which may be left out where none of them is needed. A function around an ask of any agent
 * takes them as its own and passes them on: `(...options: AskArguments<AskOptions<AgentContext<Given>>>)`.
 */
export type AskArguments<Options> = Record<never, never> extends Options ? [options?: Options] : [options: Options];

/** The shape of the answer of a single request. */
export interface AskOutput<Schema extends InputSchema> {
  /**
   * The schema of this request's answer, in place of the agent's `output`. Its JSON Schema is stored. `server.result` and other
   * processes check the answer with that alone: without refinements and transforms. Default: the agent's.
   */
  readonly output: Schema;
}

/** All options of an ask. */
export type AnyAskOptions = AskOptions & { readonly [Name in keyof AskOutput<InputSchema>]?: InputSchema | undefined };

/** Handed to tools, guards and the system prompt; never stored. */
type GivenContext<Context> = [Context] extends [never]
  ? {
      /** This agent takes no context. Default: none. */
      readonly context?: undefined;
    }
  : undefined extends Context
    ? {
        /** Passed to tools, guards and the system prompt; never stored. Default: none. */
        readonly context?: Context | undefined;
      }
    : {
        /** Passed to tools, guards and the system prompt; never stored. Required. */
        readonly context: Context;
      };

interface AskFields
  extends Pick<
    AgentConfig,
    "maxOutputTokens" | "temperature" | "topP" | "stopSequences" | "seed" | "reasoning" | "providerOptions"
  > {
  /**
   * When the request fails with `deadline_exceeded` if it has not ended: a date, or milliseconds from now. It is stored, and waiting
   * counts, also for an approval. Default: never.
   */
  readonly deadline?: number | Date | undefined;
  /** The mode of this request, one of the agent's `modes`. Default: the one that was set. */
  readonly mode?: string | undefined;
  /**
   * The model of this request, its name, or a list as in an agent. Its name is stored; another process finds the model by this
   * name. Default: the one that was set, else the agent's.
   */
  readonly model?: ModelChoice | undefined;
  /**
   * HTTP headers of each model call. They may hold secrets, so only their names are stored. In another process they come from the
   * `headers` of its server or host. Default: none.
   */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /**
   * Whether the model may or must call tools. "required" and a tool hold for the first call of the request, so that it can
   * end. Default: the agent's.
   */
  readonly toolChoice?: AgentConfig["toolChoice"];
  /** Limits of this request, before those of the agent. `maxCostUsd` needs the agent's `limits.costUsd`. Default: the agent's. */
  readonly limits?: Pick<Limits, "maxTokens" | "maxCostUsd"> | undefined;
  /** Fields that replace those of the agent's policy for this request. Default: none. */
  readonly contextPolicy?: ContextPolicyInput | undefined;
  /** Tools of this request, beside the agent's. Default: none. */
  readonly tools?: Tools | undefined;
  /** Only these tools of the agent; those that are given with the ask are allowed in any case. Default: all. */
  readonly allowedTools?: readonly string[] | undefined;
  /** The most model calls of this request. Default: the agent's `maxIterations`. */
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
  /** Refs that are added to the entries of the request. Default: none. */
  readonly refs?: Refs | undefined;
  /** Cancels the request; not where it aborts with `request_suspended`, as the `abortSignal` of a tool does. Default none. */
  readonly signal?: AbortSignal | undefined;
}

/** What the entry that a command writes says of the command: refs of your own, and who sent it. */
export interface SenderOptions {
  /** Who or what sent the command, as the ref `source` of its entry. Default: none. */
  readonly source?: string | undefined;
  /** More refs of its entry. Default: those of the request. */
  readonly refs?: Refs | undefined;
}

/** The person who decides about an approval, and a reason. Both are recorded in the log. */
export interface Decider extends SenderOptions {
  /** The person who decided. Default: none. */
  readonly by?: string | undefined;
  /** The reason for the decision. A denied call has it in its result. Default: none. */
  readonly reason?: string | undefined;
}

/** A decision on a call, and the rule that it makes. */
export interface DecideOptions extends Decider {
  /**
   * Makes a permission rule in the same append: it decides the other calls that it covers, those that wait and later ones.
   * `pattern` has globs by the path of an argument. Default: no rule; the tool of the call, all of its calls, scope "request".
   */
  readonly remember?: Omit<Remember, "opId"> | undefined;
}

/** How a call is approved. */
export interface ApproveOptions extends DecideOptions {
  /** What the call runs with instead of its own arguments. They must fit the schema of the tool. Default: its own. */
  readonly arguments?: JsonValue | undefined;
}

/** Options of a setting: `setSystemPrompt`, `setContextPolicy`, `registerTool` and `unregisterTool`. */
export interface SettingOptions extends Decider {
  /** The lane that the setting holds for. Default: the thread. */
  readonly lane?: string | undefined;
  /** A name of your own, so that a retry is applied once. Default: a new one, and no second setting of the same content in a row. */
  readonly opId?: string | undefined;
}

/** Options of `cancel` of a server or host. */
export interface CancelRequestOptions extends SenderOptions {
  /** What becomes of asks that wait in the queue. "return" drops them too, and resolves to all that waited. Default "keep". */
  readonly pending?: "keep" | "drop" | "return" | undefined;
}

/** Options of `steer`, `inject` and `followUp`. */
export interface SteerOptions extends SenderOptions {
  /** Deliver the message only to this request. Default: the request that is open. */
  readonly requestId?: string | undefined;
  /** The id of the message. A second message with the same id is not delivered again, so a retry is safe. Default: a new id. */
  readonly id?: string | undefined;
}

/** How long `server.result()` waits. */
export interface ResultOptions {
  /** After so many milliseconds it rejects with `result_timeout`; the request runs on. Default: no limit. */
  readonly timeoutMs?: number | undefined;
}

/** How long `server.stop()` waits for work that has begun. */
export interface StopOptions {
  /**
   * How long to wait for what is at work, a call of the model or of tools; nothing new is begun. What ends by then is stored, the
   * rest is left to whoever starts the thread next. With 0 no tool is waited for. Default 30 000.
   */
  readonly graceMs?: number | undefined;
}
