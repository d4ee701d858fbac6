import type { AgentConfig, AgentContext, AnyAgent, Limits, OnNeedsSummary } from "../../agent/definition/config.ts";
import type { ModelChoice, ResolveModel } from "../../agent/definition/language-model.ts";
import type { InputSchema } from "../../agent/definition/schema.ts";
import type { ResolveTool, Tools } from "../../agent/definition/tool.ts";
import type { Remember } from "../../agent/signal.ts";
import type { BranchOptions } from "../../lanes/branch.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Refs } from "../../thread/entry.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import type { Author, Content } from "../../thread/message.ts";
import type { OnError } from "../callbacks.ts";
import type { ServerHeaders } from "../perform/scene.ts";
import type { RuntimePorts } from "../ports.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** The agent, the store and the thread that a server starts with, and how it claims the thread. */
export interface ServerOptions<Agent extends AnyAgent> {
  readonly agent: Agent;
  readonly store: ThreadStore;
  /** Default: a new one. */
  readonly threadId?: string | undefined;
  /** The context of a request that a crash has interrupted; contexts are never stored. `agent` is a name. Default: none. */
  readonly context?:
    | ((threadId: string, refs: Refs, agent: string) => AgentContext<Agent> | Promise<AgentContext<Agent>>)
    | undefined;
  /** The tools of a request that a crash has interrupted; tools are never stored. Default: none. */
  readonly tools?: ((threadId: string, refs: Refs, agent: string) => Tools | Promise<Tools>) | undefined;
  /** Finds the code of a tool that was registered on a thread, in place of the agent's `resolveTool`. Default: that of the agent. */
  readonly resolveTool?: ResolveTool | undefined;
  /** Finds a model by its name, in place of the agent's `resolveModel`. Default: that of the agent. */
  readonly resolveModel?: ResolveModel | undefined;
  /** The headers of a request that a crash has interrupted; headers are never stored. Default: none. */
  readonly headers?: ServerHeaders | undefined;
  /**
   * Cancels the start, which then rejects with `server_stopped`. A server that has started is stopped by `stop`.
   * Default: none.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * The name of the holder of the thread. A process with a fixed name takes over its own claims at once after a crash.
   * Default: a new name.
   */
  readonly holder?: string | undefined;
  /**
   * How long a claim lasts after its process has died, in milliseconds. It is the time of the lease, which is renewed
   * three times in that time. Default 10 000.
   */
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
export type AskOptions<Context = unknown> = AskFields & ContextOption<Context>;

/**
 * The options of an ask as an argument, which is optional if no option is required. A function that wraps an ask of any
 * agent can take and pass them: `(...options: AskArguments<AskOptions<AgentContext<Agent>>>)`.
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

/** The context of an ask. It is passed to tools, guards and the system prompt, and never stored. */
type ContextOption<Context> = [Context] extends [never]
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

/** The time of an ask. */
export interface AskTime {
  /**
   * When the request starts, at the earliest: a date, milliseconds from the call, or an ISO text. Until then the ask waits in
   * the inbox. When another request runs then, it waits for the end of that. Default: now.
   */
  readonly at?: Date | number | string | undefined;
}

/** The fields of a waiting command that `amend` may replace. */
export interface CommandChange extends AskTime {
  /** Of an ask or a message. Default: as it was. */
  readonly content?: Content | undefined;
}

interface AskFields
  extends AskTime,
    Pick<
      AgentConfig,
      "maxOutputTokens" | "temperature" | "topP" | "stopSequences" | "seed" | "reasoning" | "providerOptions"
    > {
  /**
   * When the request fails with `deadline_exceeded` if it has not ended: a date, milliseconds from the call (with `at` from that
   * time), or an ISO text. It is stored, and waiting counts, also for an approval or in the queue. Default: never.
   */
  readonly deadline?: Date | number | string | undefined;
  /** The mode of this request, one of the agent's `modes`; null for none. Default: the one of `setMode`. */
  readonly mode?: string | null | undefined;
  /**
   * The model of this request, its name, or a list as in an agent. Its name is stored; another process finds the model
   * by this name. Default: the one of `setModel`, else the agent's.
   */
  readonly model?: ModelChoice | undefined;
  /**
   * HTTP headers of each model call. They may hold secrets, so only their names are stored. In another process they come from the
   * `headers` of its server or host. Default: none.
   */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /**
   * Whether the model may or must call tools. "required" and a tool name apply to the first call of the request only,
   * so that the request can end. Default: the agent's.
   */
  readonly toolChoice?: AgentConfig["toolChoice"];
  /** Limits of this request, before those of the agent. `maxCostUsd` needs the agent's `limits.costUsd`. Default: the agent's. */
  readonly limits?: Pick<Limits, "maxTokens" | "maxCostUsd"> | undefined;
  /** Fields that replace those of the agent's policy for this request. Default: none. */
  readonly contextPolicy?: ContextPolicyInput | undefined;
  /** Whether the ask waits for the end of an open request, or is refused as `busy`. Default: as the agent's `busy` says. */
  readonly queue?: boolean | undefined;
  /**
   * Begins a branch with this request: `before` or `at` names an entry, and `lane` the new lane. `lane` alone takes a
   * lane that exists. The lane becomes active in the append of the ask. Default: the request is on the active lane.
   */
  readonly branch?: BranchOptions | undefined;
  /** Tools of this request, beside the agent's. Default: none. */
  readonly tools?: Tools | undefined;
  /** Only these tools of the agent. The tools of the ask are always allowed. Default: all. */
  readonly allowedTools?: readonly string[] | undefined;
  /** The most model calls of this request. Default: the agent's `maxIterations`. */
  readonly maxIterations?: number | undefined;
  /**
   * Your id for the request. A repeated ask with the same id and content is the same request. Other content is
   * `request_id_reused`. The id is never forgotten. Default: a new one.
   */
  readonly requestId?: string | undefined;
  /**
   * The name of one of `refs`, such as the id of a message in another system. Asks with the same value are the same
   * request, as with `requestId`. Default: none.
   */
  readonly idempotencyRef?: string | undefined;
  /** Refs that are added to the entries of the request. Default: none. */
  readonly refs?: Refs | undefined;
  /**
   * The person who wrote the message, where a thread has several. It is stored, and the model is shown the name, or else the id,
   * before the content. Set it from your own login, never from what a browser sends. Default: none.
   */
  readonly author?: Author | undefined;
  /**
   * The owner that a new thread gets. A thread of another owner refuses the ask as `owner_mismatch`. Default: not checked, and a new
   * thread has no owner.
   */
  readonly owner?: string | undefined;
  /**
   * The parts and metadata that a page shows beside the content. `chatTurn` sets it, and `toUIMessages` reads it. It is stored, and
   * no model is shown it. Default: none.
   */
  readonly display?: JsonObject | undefined;
  /**
   * Cancels the request. An abort with the reason `request_suspended`, as of a tool's `abortSignal`, does not. Default:
   * none.
   */
  readonly signal?: AbortSignal | undefined;
}

/**
 * An ask as a command: any process can post it to any thread with `store.post`. All options are data, and mean the same as in
 * `ask`.
 *
 * @example
 * const store = memoryStore();
 * await store.post("thread_1", { id: "req_1", type: "ask", content: "Hi", mode: "plan" } satisfies AskCommand);
 */
export type AskCommand = Pick<
  AskFields,
  | "contextPolicy"
  | "allowedTools"
  | "maxIterations"
  | "maxOutputTokens"
  | "temperature"
  | "topP"
  | "stopSequences"
  | "seed"
  | "reasoning"
  | "toolChoice"
  | "providerOptions"
  | "limits"
  | "mode"
  | "idempotencyRef"
  | "refs"
  | "author"
  | "owner"
  | "display"
> & {
  /** The `requestId`. The ask is taken once. */
  readonly id: string;
  readonly type: "ask";
  readonly content: Content;
  /** The agent of a new thread, where the host has several. A thread keeps its own. Default: not known. */
  readonly agent?: string | undefined;
  /** The name of a model, or names. Default: the one of `setModel`, else the agent's. */
  readonly model?: string | readonly string[] | undefined;
  /** When its request starts: milliseconds after the post, by the clock of the store, or a text as in `deadline`. Default: now. */
  readonly at?: number | string | undefined;
  /** Milliseconds after the post (or after `at`), by the clock of the store, or a text in ISO 8601 with a time zone. Default: never. */
  readonly deadline?: number | string | undefined;
  /** The JSON Schema of the answer. Default: the agent's `output`. */
  readonly output?: JsonObject | undefined;
};

/** The sender of a command and other refs, which are stored with the entry that the command writes. */
export interface SenderOptions {
  /** The person or program that sent the command, as the ref `source` of its entry. Default: none. */
  readonly source?: string | undefined;
  /** More refs of its entry. Default: those of the request. */
  readonly refs?: Refs | undefined;
}

/** Which answer is cut, and where: exactly one of `requestId` and `entryId`, and of `characters` and `spoken`. */
export interface CutOptions extends SenderOptions {
  /** The request whose last answer with text is cut. Default: none, `entryId` names the answer. */
  readonly requestId?: string | undefined;
  /** The entry of the answer. Default: none, `requestId` names the request. */
  readonly entryId?: string | undefined;
  /** How many characters of its text were spoken, in UTF-16 code units. Default: none, `spoken` has them. */
  readonly characters?: number | undefined;
  /** The beginning of its text that was spoken; white space may differ. Default: none, `characters` has its length. */
  readonly spoken?: string | undefined;
  /** Your id for the cut, so that a retry is applied once. Default: a new id. */
  readonly opId?: string | undefined;
}

/** The person who decides, and the reason. Both are recorded in the log. */
export interface Decider extends SenderOptions {
  /** The person who decided. Default: none. */
  readonly by?: string | undefined;
  /** The reason for the decision. A denied call has it in its result. Default: none. */
  readonly reason?: string | undefined;
}

/** A decision on a call, and the rule that it makes. */
export interface DecideOptions extends Decider {
  /**
   * The request whose call is meant, as `waiting` names it. If another one is open, nothing is decided (`not_waiting`): some
   * providers number the calls of each answer from 0. Default: the open request.
   */
  readonly requestId?: string | undefined;
  /** The person who wrote the reason, as in an ask: the model is shown the name before it. Default: none. */
  readonly author?: Author | undefined;
  /**
   * Makes a permission rule in the same append: it also decides waiting and later calls that match it. `pattern` has
   * globs by the path of an argument. Default: no rule; the tool of the call, all of its calls, scope "request".
   */
  readonly remember?: Omit<Remember, "opId"> | undefined;
}

/** Options of `answer`. */
export type AnswerOptions = Pick<DecideOptions, "requestId" | "by" | "source" | "refs">;

/** The options of an approval. */
export interface ApproveOptions extends DecideOptions {
  /** Replaces the arguments of the call. They must match the schema of the tool. Default: the arguments of the model. */
  readonly arguments?: JsonValue | undefined;
}

/** Options of a setting: `setSystemPrompt`, `setContextPolicy`, `registerTool` and `unregisterTool`. */
export interface SettingOptions extends Decider {
  /** The lane of the setting. Default: all lanes of the thread. */
  readonly lane?: string | undefined;
  /**
   * Your id for the setting, so that a retry is applied once. Default: a new id. A setting that equals the current one
   * is not written.
   */
  readonly opId?: string | undefined;
}

/** Options of `cancel` of a server or host. */
export interface CancelRequestOptions extends SenderOptions {
  /**
   * The treatment of queued asks: "keep" starts the next one, "drop" refuses them. "return" drops them too, and
   * resolves to the dropped asks and messages. Default "keep".
   */
  readonly pending?: "keep" | "drop" | "return" | undefined;
  /**
   * The beginning of the last answer that was spoken or read; white space may differ. The answer is cut to it in the commit that ends
   * the request, so no queued ask is shown more of it. Also when the request has ended before. Needs the requestId. Default: no cut.
   */
  readonly spoken?: string | undefined;
}

/** Options of `inject`. */
export interface InjectOptions extends SenderOptions {
  /** The program that sends the message, such as "alerts". */
  readonly source: string;
  /** The subject of the message. It replaces a waiting message with the same key. Default: none. */
  readonly key?: string | undefined;
  /**
   * Whether the message starts a request when none runs: it is the ask, and its id is the `requestId`. Default false: it waits for the
   * next ask, and comes before it.
   */
  readonly wake?: boolean | undefined;
  /** Deliver the message only to this request. Default: the request that is open. */
  readonly requestId?: string | undefined;
  /** The id of the message. A second message with the same id is not delivered again, so a retry is safe. Default: a new id. */
  readonly id?: string | undefined;
}

/** Options of `steer` and `followUp`. */
export interface SteerOptions extends SenderOptions, Pick<InjectOptions, "requestId" | "id"> {
  /** The person who wrote the message, as in an ask. Default: none. */
  readonly author?: Author | undefined;
  /** The parts and metadata that a page shows beside the content, as in an ask. Default: none. */
  readonly display?: JsonObject | undefined;
}

/** The options of `server.result()`. */
export interface ResultOptions {
  /** The milliseconds until it rejects with `result_timeout`. The request keeps running. Default: no limit. */
  readonly timeoutMs?: number | undefined;
}

/** The options of `server.stop()`. */
export interface StopOptions {
  /**
   * The milliseconds to wait for running calls of the model or of tools. No call starts. Results that come in time are
   * stored; the rest is left to the process that starts the thread next. With 0 no tool is waited for. Default 30 000.
   */
  readonly graceMs?: number | undefined;
}
