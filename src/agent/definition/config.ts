import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { ProjectionMeta } from "../../projection/projection.ts";
import type { Projector } from "../../projection/projector.ts";
import type { SummaryRange } from "../../projection/summary/summary-range.ts";
import type { Readers } from "../../projection/transcript/entry-reader.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import type { RuleValue } from "../../thread/kinds.ts";
import type { Content, Message, ToolCall, ToolSpec } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import type { Usage, UsageByModel } from "../model-call.ts";
import type { RequestEnd } from "../react/state.ts";
import type { ToolOutcome } from "../signal.ts";
import type { ModelChoice, ProviderModel, ResolveModel } from "./language-model.ts";
import type {
  CallScope,
  CallSettings,
  PreparedCall,
  PreparedStep,
  Reasoning,
  RepairToolCall,
  RequestScope,
  StepScope,
  ToolChoiceSetting,
} from "./prepare.ts";
import type { InferInput, InputSchema } from "./schema.ts";
import type { StopWhenCondition } from "./stop-when.ts";
import type { ApprovalLimit, CombinedContext, ResolveTool, ToolContentPart, Tools } from "./tool.ts";

/** The argument of a function that chooses the model of a request. */
export interface ModelScope<Context> {
  readonly context: Context;
  readonly state: {
    readonly threadId: string;
    readonly requestId: string;
    /** The thread before the ask; of a long one the end. */
    readonly thread: Thread;
  };
}

/** The first argument of `accept`. */
export interface AcceptScope {
  readonly thread: Thread;
}

/** The input of a model call. */
export interface ModelRequest {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  /** maxOutputTokens, temperature, toolChoice and other settings of the call. */
  readonly settings: JsonObject;
}

/** Whether a call may run. "ask" makes it wait for approval, whatever a rule allows. The text of `deny` is shown to the model as the reason. */
export type GuardVerdict = "allow" | "ask" | { readonly deny: string };

/** The changes of `afterToolCall` to a result: text, or parts as `content()` takes them. A field that is absent stays. */
interface ShownResult {
  readonly content?: string | readonly ToolContentPart[] | undefined;
  readonly isError?: boolean | undefined;
}

/** The text of a summary, and what people may see beside it. No model is shown the details; they are stored with the summary. */
type WrittenSummary = string | { readonly content: string; readonly details?: JsonValue | undefined };

/** Writes the summaries of old entries. */
export interface Summarizer {
  /**
   * Writes the summary of a range. A range longer than `maxInputTokens` comes in pieces, each with the previous summary. A
   * text of more than `range.maxSummaryTokens` is asked for once more, with a lower limit. An error is reported as
   * summary_failed. When it says that the range is too long, a smaller piece follows at once. Otherwise the request continues
   * without a summary, and a later call retries. It may take five times `streamIdleTimeoutMs`. `focus` is that of
   * `server.summarize`.
   */
  summarize(
    range: SummaryRange,
    options: { readonly signal: AbortSignal; readonly focus?: string | undefined },
  ): Promise<WrittenSummary>;
  /** The window of the summarizer's model. A range takes at most half of it. Default: the window of the agent's model. */
  readonly maxInputTokens?: number | undefined;
}

/** Called when a model call waits for a summary. `meta` has the facts about its context, `range` what the summary has to cover. */
export type OnNeedsSummary = (
  meta: ProjectionMeta,
  range: SummaryRange,
  options: { readonly threadId: string; readonly requestId: string; readonly signal: AbortSignal },
) => WrittenSummary | undefined | Promise<WrittenSummary | undefined>;

/** Limits of one request: tokens, cost and repeated calls. */
export interface Limits {
  /** The most input plus output tokens of one request, as the provider reports them. Default: no limit. */
  readonly maxTokens?: number | undefined;
  /** The most that one request may cost. Needs `costUsd`, because Heddle has no price list. Default: no limit. */
  readonly maxCostUsd?: number | undefined;
  /**
   * The cost of tokens of a model, named as `provider:model`. Called for each model that the request has used; the sum
   * counts. Called before a next model call, again after a restart, and with telemetry once for each call. Where it throws, is later than `hookTimeoutMs` or returns no
   * number, a warning says so, and the request is completed as `limit`, with its results. Default: none.
   */
  readonly costUsd?: ((usage: Usage, model: string) => number | PromiseLike<number>) | undefined;
  /**
   * How often one request may call a tool with equal arguments, from 2. The request then completes as `loop_detected`, before its
   * next model call. Default: no limit.
   */
  readonly repeatedCalls?: number | undefined;
}

/** A named bundle of settings, chosen by `setMode` or by the option `mode` of an ask. */
export interface Mode {
  /** Default: the one that was set, else the agent's. */
  readonly systemPrompt?: string | undefined;
  /** The only tools that the model may call, by name; those that come with an ask are allowed in any case. Default: all. */
  readonly tools?: readonly string[] | undefined;
  /** Default: the one that was set, else the agent's. */
  readonly model?: ModelChoice | undefined;
  /** Default: the agent's. */
  readonly reasoning?: Reasoning | undefined;
  /** Permission rules that hold while the mode is set, for the tools as they are. A rule that denies wins. Default: none. */
  readonly rules?: readonly ModeRule[] | undefined;
}

/** A permission rule of a mode. The model reads the reason of a denied call. */
interface ModeRule extends Omit<RuleValue, "hash"> {
  readonly reason?: string;
}

/** A request that has ended, from its entries. The argument of `onRequestEnd`. */
export type EndedRequest = RequestEnd & {
  readonly threadId: string;
  readonly requestId: string;
  readonly runId: string;
  /** The refs that were given with the ask. */
  readonly refs: JsonObject;
  /** The last text of the model. */
  readonly text: string;
  /** The usage of all calls, also of a request that failed. */
  readonly usage: Usage;
  readonly usageByModel: UsageByModel;
};

/** The argument of `defineAgent`. Only `model` is required. */
export interface AgentConfig<
  T extends Tools = Tools,
  Context = unknown,
  Output extends InputSchema | undefined = InputSchema | undefined,
> extends CallSettings {
  /** The name of the agent. Default "agent". */
  readonly name?: string | undefined;
  /**
   * A model of any AI SDK provider package, the name of one, or a list: the next one is called when a call has failed permanently. Or
   * a function that chooses one for each request, called before the ask is written; the name is stored with the ask.
   */
  readonly model: ModelChoice | ((scope: ModelScope<Context>) => ModelChoice | Promise<ModelChoice>);
  /** Finds a model by its name, when `models` has none of this name. Called for each request. Default: none. */
  readonly resolveModel?: ResolveModel | undefined;
  /**
   * A text, or a function of the request's context. Called once per ask before it is written, and once in each process that
   * resumes the request. Where it throws, returns no text or is later than `hookTimeoutMs`, the ask or the start is refused with
   * `system_prompt_failed`. Default: none.
   */
  readonly systemPrompt?: string | ((context: Context) => string | Promise<string>) | undefined;
  /** Another name of `systemPrompt`. Give only one of them. Default: none. */
  readonly instructions?: string | ((context: Context) => string | Promise<string>) | undefined;
  /** The tools by name. Default: none. */
  readonly tools?: T | undefined;
  /**
   * Finds the code of a tool that was registered on a thread, when `tools` has none of this name. Called at the start and before
   * each ask. Where it throws or is later than `hookTimeoutMs`, the model is not shown the tool, and a warning says so. Default: none.
   */
  readonly resolveTool?: ResolveTool | undefined;
  /** Named bundles of settings, such as "plan" and "build". Default: none. */
  readonly modes?: { readonly [name: string]: Mode } | undefined;
  /** How much of the thread the model is shown. Default: fits the model, at most 100,000 tokens. */
  readonly contextPolicy?: ContextPolicyInput | undefined;
  /** The most model calls of one request. Default 100. */
  readonly maxIterations?: number | undefined;
  /**
   * Completes a request before its next model call when any of these conditions is true. Called in order after each tool exchange,
   * when its results are stored; again after a crash before the next call. Where one throws, returns no boolean or is later than
   * `hookTimeoutMs`, the request fails with `stop_when_failed`. Default: none.
   */
  readonly stopWhen?: StopWhenCondition | readonly StopWhenCondition[] | undefined;
  /**
   * How long a function of the agent, server or host may take, in milliseconds. These are `accept`, `systemPrompt`,
   * `prepareCall`, `prepareStep`, `repairToolCall`, `transformRequest`, `guardTools`, `afterToolCall`, `stopWhen`, `costUsd`, `onRequestEnd`, `context`, `tools`, `headers`, `model`, `resolveTool`,
   * `resolveModel`, `download` and the checks of `output`. Tools have `toolTimeoutMs`, a summarizer five times `streamIdleTimeoutMs`. Default 30,000.
   */
  readonly hookTimeoutMs?: number | undefined;
  /** The timeout of each attempt of a tool, in milliseconds. Default 60,000. */
  readonly toolTimeoutMs?: number | undefined;
  /**
   * How long a call waits for an approval, `{ timeoutMs }`, and then: `onTimeout: "deny"` denies it, `"fail"` fails the request
   * with `approval_timeout`. Default: it waits without limit, and `onTimeout` is "deny".
   */
  readonly approval?: ApprovalLimit | undefined;
  /** Retries of a tool after an error with `retryable: true`, not with `repeatable: false`; after a timeout only with `repeatable: true`. Default 0. */
  readonly toolMaxRetries?: number | undefined;
  /** The wait before a tool is retried, in milliseconds. Default 200. */
  readonly toolRetryBackoffMs?: number | undefined;
  /** Retries of a model call that failed with a retryable error, also after its first words, over all processes. Default 4. */
  readonly modelMaxRetries?: number | undefined;
  /**
   * The wait before the first retry of a model call, in milliseconds; up to half of it is left out, by chance. A wait that the
   * provider asks for comes first. Default 1000.
   */
  readonly modelRetryBackoffMs?: number | undefined;
  /** How much longer each further wait is, up to 30 seconds: a factor from 1. Default 2. */
  readonly modelRetryBackoffFactor?: number | undefined;
  /** The most tools that run at the same time. Default 4. */
  readonly toolConcurrency?: number | undefined;
  /** How often a running tool emits `keepalive`, in milliseconds. Default 5000. */
  readonly toolHeartbeatMs?: number | undefined;
  /** How long a model stream may be silent, in milliseconds. A whole answer may take five times as long. Default: tool timeout plus 60,000. */
  readonly streamIdleTimeoutMs?: number | undefined;
  /** The most milliseconds of work of a request, over all process starts. Waiting does not count. Default: no limit. */
  readonly totalTimeoutMs?: number | undefined;
  /** Whether an ask is rejected or queued while another request runs. Default "reject". */
  readonly busy?: "reject" | "queue" | undefined;
  /** Whether messages steered into a request come all before its next model call, or one before each call. Default "all". */
  readonly steering?: "one" | "all" | undefined;
  /** The same for follow-ups, when the request would end. Default "all". */
  readonly followUps?: "one" | "all" | undefined;
  /** The most messages that may wait for a request, and the most asks that may wait in the queue. More are `queue_full`. Default 64. */
  readonly maxPending?: number | undefined;
  /** Whether answers are streamed. Default true. */
  readonly streaming?: boolean | undefined;
  /** Limits of tokens and cost of one request. Default: none. */
  readonly limits?: Limits | undefined;
  /** Whether the model may or must call tools, in each call of a request. Default "auto". */
  readonly toolChoice?: ToolChoiceSetting | undefined;
  /** The schema of the answer, which becomes `result.object`. Default: none, the answer is text. */
  readonly output?: Output;
  /** How often an answer that does not match `output` is sent back. Default 1, at most 3. */
  readonly outputRetries?: number | undefined;
  /**
   * How to download files whose URLs the model does not support: limits, or a function like `download` of the AI SDK.
   * Default: 32 MiB and 30 seconds for each file, no private addresses. A request downloads each file once.
   */
  readonly download?: DownloadFunction | DownloadLimits | undefined;
  /**
   * The projector that builds the context. Called before every model call; must be synchronous and pure. Where it throws or returns
   * no projection, the ask is refused or the request fails with `projection_failed`. Default: a new one.
   */
  readonly projector?: Projector | undefined;
  /** Readers for your own kinds of entries. Must be synchronous and pure. One that throws is `entry_unreadable`. Default: none. */
  readonly readers?: Readers | undefined;
  /** The counter for `tokenEstimator: "exact"`; see `loadExactCounter`. Must be synchronous. Fails as a projector does. Default: the heuristic counter. */
  readonly tokenCounter?: TokenCounter | undefined;
  /**
   * Checks an ask before anything is written: a returned text refuses it (`not_accepted`). Called for each ask that could start,
   * and again when a setting changes meanwhile. Where it throws or is later than `hookTimeoutMs`, the ask is refused with
   * `accept_failed`. Default: none.
   */
  readonly accept?:
    | ((
        agent: AcceptScope,
        pending: { readonly content: Content; readonly requestId: string },
      ) => string | undefined | PromiseLike<string | undefined>)
    | undefined;
  /**
   * Prepares a request, as in the AI SDK: its model, instructions, tools and settings. Called for each ask that could start, when it was
   * accepted and before it is written; again if a setting changes meanwhile. Its changes are stored as options of the ask. Where it
   * throws or is later than `hookTimeoutMs`, the ask is refused with `prepare_call_failed`. Default: none.
   */
  readonly prepareCall?:
    | ((call: CallScope<Context>) => PreparedCall | undefined | PromiseLike<PreparedCall | undefined>)
    | undefined;
  /**
   * Prepares one model call, as in the AI SDK: its model, tool choice, active tools, system prompt, messages and provider options.
   * Called once before each call, not before a retry in the same process. The changes are recorded. Where it throws or is later
   * than `hookTimeoutMs`, the request fails with `prepare_step_failed`. Default: none.
   */
  readonly prepareStep?:
    | ((step: StepScope<Context>) => PreparedStep | undefined | PromiseLike<PreparedStep | undefined>)
    | undefined;
  /**
   * Repairs a call of an unknown tool, or with arguments that do not fit, as `experimental_repairToolCall` of the AI SDK does. Called
   * once for each such call, before the answer is stored. The returned tool and input take the place of those of the model, which
   * the record of the call keeps. With null, or where it throws or is late, the model gets the error. Default: none.
   */
  readonly repairToolCall?: RepairToolCall | undefined;
  /** Another name of `repairToolCall`. Give only one of them. Default: none. */
  readonly experimental_repairToolCall?: RepairToolCall | undefined;
  /**
   * Changes the request of one model call; the change is recorded. Called before every call and every retry. Where it throws,
   * returns what is not JSON or is later than `hookTimeoutMs`, the request fails with `request_transform_failed`. Default: none.
   */
  readonly transformRequest?:
    | ((request: ModelRequest, scope: RequestScope<Context>) => Partial<ModelRequest> | Promise<Partial<ModelRequest>>)
    | undefined;
  /**
   * Called before every tool call, after its arguments were validated; again after a crash before the result. Only "allow" lets a
   * call run: where it throws, is later than `hookTimeoutMs` or returns something else, the call is denied. Default: none.
   */
  readonly guardTools?:
    | ((call: ToolCall, scope: RequestScope<Context>) => GuardVerdict | Promise<GuardVerdict>)
    | undefined;
  /**
   * Called after each tool that ran here, before its result is stored. The returned content is stored and shown to the model; the
   * `details` stay. If it throws, is late or returns something else, the content is withheld: the model reads `result_withheld`. Default: none.
   */
  readonly afterToolCall?:
    | ((
        call: ToolCall,
        result: ToolOutcome,
        scope: RequestScope<Context>,
      ) => ShownResult | undefined | Promise<ShownResult | undefined>)
    | undefined;
  /**
   * Called at least once for each request, when its end is stored: completed, failed or cancelled, also after a take-over. Called
   * again if the process ends before it has returned. The result of the request does not wait for it. An error, or an answer later
   * than `hookTimeoutMs`, goes to `onError` (`request_end_failed`) and is not retried. Default: none.
   */
  readonly onRequestEnd?: ((ended: EndedRequest) => unknown) | undefined;
  /** Keeps arguments, results and texts out of telemetry, and arguments out of `tool_started`. Default true. */
  readonly redact?: boolean | undefined;
  /** Keeps deltas, so that a consumer that starts late gets them too. Default true. */
  readonly captureDeltas?: boolean | undefined;
  /** Signs resume tokens. In a list the first signs and all verify. Each needs at least 32 bytes. Default: none, a server then mints no tokens. */
  readonly tokenSecret?: string | readonly string[] | undefined;
  /** How long a token is valid, in milliseconds. Default: no limit. */
  readonly tokenTtlMs?: number | undefined;
  /** The user or tenant that tokens are for. Default: none. */
  readonly tokenBind?: string | JsonObject | undefined;
  /** The longest token, in bytes. Default 1 MiB. */
  readonly tokenMaxBytes?: number | undefined;
  /** Writes summaries. Default: asks the model in `models` that `policy.summarizationModel` names, else the agent's model. */
  readonly summarizer?: Summarizer | undefined;
  /**
   * Called before a model call that needs a summary, with `summarization: "request_new"` and without `autoSummarize`. The call waits.
   * A returned summary is checked and stored. Without one, the call waits for a summary from `server.summarize`, or for an entry
   * made by `acceptSummary` that any process appends; at most `summaryWaitMs`. Called again after a restart. Default: none.
   */
  readonly onNeedsSummary?: OnNeedsSummary | undefined;
  /**
   * How long a call waits for a summary, in milliseconds since the last message. Then the request continues without one.
   * Default 60,000 with `onNeedsSummary`, else 0: no call waits.
   */
  readonly summaryWaitMs?: number | undefined;
  /** Models by the name that policies, asks and settings use. Default: none. */
  readonly models?: { readonly [name: string]: ProviderModel } | undefined;
  /** Whether a request that a crash interrupted is resumed or fails. A request that only waits is never interrupted. Default "resume". */
  readonly recover?: "resume" | "fail" | undefined;
  /**
   * The most attempts of a request, the first included. A crash during its work starts another attempt. After the last one it
   * fails with `attempts_exhausted`. So does a request that was stopped as often in one model call. Other stops do not count.
   * Default 5.
   */
  readonly maxAttempts?: number | undefined;
}

type DefaultedField =
  | "name"
  | "maxIterations"
  | "hookTimeoutMs"
  | "toolTimeoutMs"
  | "toolMaxRetries"
  | "toolRetryBackoffMs"
  | "modelMaxRetries"
  | "modelRetryBackoffMs"
  | "modelRetryBackoffFactor"
  | "toolConcurrency"
  | "toolHeartbeatMs"
  | "streamIdleTimeoutMs"
  | "busy"
  | "steering"
  | "followUps"
  | "maxPending"
  | "streaming"
  | "toolChoice"
  | "outputRetries"
  | "redact"
  | "captureDeltas"
  | "recover"
  | "maxAttempts";

type Config = AgentConfig<Tools, never, InputSchema | undefined>;
type CompleteConfig = { readonly [Field in DefaultedField]: Exclude<Config[Field], undefined> } & Omit<
  Config,
  DefaultedField | "instructions" | "tools"
> & { readonly tools: Tools };

/**
 * An agent definition: checked, with all defaults, frozen, and shared by all threads. Made by `defineAgent`. The type
 * parameters are its tools, the context of a request, and the type of `result.object`.
 */
export type AgentDefinition<T extends Tools = Tools, Context = unknown, Output = unknown> = CompleteConfig & {
  readonly tools: T;
  /** Only for types; never set at run time. */
  readonly "~types"?: { readonly context: (context: Context) => void; readonly output: Output };
};

/** Any agent. */
export type AnyAgent = AgentDefinition<Tools, never, unknown>;

/** The type of `result.object` for an agent with this `output`; undefined without `output`. */
export type InferOutput<Schema> = Schema extends InputSchema ? InferInput<Schema> : undefined;
/** The type of `context` in requests of this agent. */
export type AgentContext<T extends AnyAgent> =
  T extends AgentDefinition<Tools, infer Context, unknown> ? Context : never;
/** The type of `result.object` of this agent. */
export type AgentOutput<T extends AnyAgent> = T extends AgentDefinition<Tools, never, infer Output> ? Output : never;

/** The context type that these tools need. */
export type ToolsContext<T extends Tools> = [keyof T] extends [never] ? unknown : CombinedContext<T>;

/** A file that a model call needs, by URL. */
export interface DownloadRequest {
  readonly url: URL;
  /** Whether the model can load this URL itself. */
  readonly isUrlSupportedByModel: boolean;
  readonly abortSignal?: AbortSignal;
}

/** The content of a downloaded file. */
export interface DownloadResult {
  readonly data: Uint8Array;
  /** The media type from the server; undefined keeps the media type of the part. */
  readonly mediaType: string | undefined;
}

/**
 * Downloads files by URL, like `download` of the AI SDK. Called at most once per model call, with the URLs that the request
 * has not downloaded yet. Returns one result for each, in order. `null` passes the URL to the model unchanged.
 */
export type DownloadFunction = (requests: DownloadRequest[]) => PromiseLike<(DownloadResult | null)[]>;

/** Limits of the default download function. */
export interface DownloadLimits {
  /** The largest file, in bytes. Default 32 MiB. */
  readonly maxBytes?: number | undefined;
  /** The timeout for one file with its redirects, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Whether loopback, link-local, private and metadata addresses are allowed. Default false: every address of a host is
   * checked when the connection looks it up, also after redirects. A runtime without `node:http` checks only addresses
   * written in the URL. There, block such addresses in the network if the agent accepts URLs from users.
   */
  readonly allowPrivateAddresses?: boolean | undefined;
}
