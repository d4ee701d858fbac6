import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { Projector } from "../../projection/projector.ts";
import type { SummaryRange } from "../../projection/summarise/range.ts";
import type { Readers } from "../../projection/transcript/reader.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { Content, Message, ToolCall, ToolSpec } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import type { Usage } from "../answer.ts";
import type { DownloadFunction, DownloadLimits } from "./download.ts";
import type { LanguageModel } from "./language-model.ts";
import type { InputSchema } from "./schema.ts";
import type { StopCondition } from "./stop-when.ts";
import type { Tools } from "./tool.ts";

/** The request that a function of the agent is called for. The context is never stored. */
export interface RequestScope<Context> {
  readonly context: Context;
  readonly requestId: string;
  readonly threadId: string;
}

/** The first argument of `accept`. */
export interface AcceptedBy {
  readonly thread: Thread;
}

/** The input of a model call. */
export interface ModelRequest {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  /** maxOutputTokens, temperature, toolChoice and other settings of the call. */
  readonly settings: JsonObject;
}

/** Whether a call may run. "ask" makes it wait for approval. The text of `deny` is shown to the model as the reason. */
export type GuardVerdict = "allow" | "ask" | { readonly deny: string };

export interface Summarizer {
  /**
   * Writes the summary of a range. A range longer than `maxInputTokens` comes in pieces, each with the previous summary. An
   * error is reported as summary_failed. When it says that the range is too long, a smaller piece follows at once. Otherwise
   * the request continues without a summary, and a later call retries.
   */
  summarize(range: SummaryRange, options: { readonly signal: AbortSignal }): Promise<string>;
  /** The window of the summarizer's model. A range takes at most half of it. Default: the window of the agent's model. */
  readonly maxInputTokens?: number | undefined;
}

export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

export type Reasoning = "provider-default" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

export interface Limits {
  /** The most input plus output tokens of one request, as the provider reports them. Default: no limit. */
  readonly maxTokens?: number | undefined;
  /** The most that one request may cost. Needs `costUsd`, because Heddle has no price list. Default: no limit. */
  readonly maxCostUsd?: number | undefined;
  /**
   * The cost of tokens of a model, named as `provider:model`. Called for each model that the request has used; the sum
   * counts. Must be synchronous. An error that it throws ends the request before its next call. Default: none.
   */
  readonly costUsd?: ((usage: Usage, model: string) => number) | undefined;
}

/** The argument of `defineAgent`. Only `model` is required. */
export interface AgentConfig<
  Given extends Tools = Tools,
  Context = unknown,
  Output extends InputSchema | undefined = InputSchema | undefined,
> {
  /** The name of the agent. Default "agent". */
  readonly name?: string | undefined;
  /** A model of any AI SDK provider package. */
  readonly model: LanguageModel;
  /** A text, or a function of the request's context. Default: none. */
  readonly systemPrompt?: string | ((context: Context) => string | Promise<string>) | undefined;
  /** Another name of `systemPrompt`. Give only one of them. */
  readonly instructions?: string | ((context: Context) => string | Promise<string>) | undefined;
  /** The tools by name. Default: none. */
  readonly tools?: Given | undefined;
  /** How much of the thread the model is shown. Default: fits the model, at most 100,000 tokens. */
  readonly contextPolicy?: ContextPolicyInput | undefined;
  /** The most model calls of one request. Default 100. */
  readonly maxIterations?: number | undefined;
  /** Completes a request before its next model call when any of these conditions is true. Default: none. */
  readonly stopWhen?: StopCondition | readonly StopCondition[] | undefined;
  /** The timeout of each attempt of a tool, in milliseconds. Default 60,000. */
  readonly toolTimeoutMs?: number | undefined;
  /** Retries of a tool after a timeout or an error with `retryable: true`. Default 0. */
  readonly toolMaxRetries?: number | undefined;
  /** The wait before a tool is retried, in milliseconds. Default 200. */
  readonly toolRetryBackoffMs?: number | undefined;
  /** Retries of a model call that failed with a retryable error before any output. Default 2. */
  readonly modelMaxRetries?: number | undefined;
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
  /** Whether answers are streamed. Default true. */
  readonly streaming?: boolean | undefined;
  /** The most tokens of one answer. Default: the provider's default. */
  readonly maxOutputTokens?: number | undefined;
  /** Limits of tokens and cost of one request. Default: none. */
  readonly limits?: Limits | undefined;
  /** The sampling temperature. Default: the provider's default. */
  readonly temperature?: number | undefined;
  /** How much the model thinks, if it supports this setting. Default: the provider's default. */
  readonly reasoning?: Reasoning | undefined;
  /** Whether the model may or must call tools. Default "auto". */
  readonly toolChoice?: ToolChoice | undefined;
  /** The schema of the answer, which becomes `result.object`. Default: none, the answer is text. */
  readonly output?: Output;
  /** How often an answer that does not match `output` is sent back. Default 1, at most 3. */
  readonly outputRetries?: number | undefined;
  /** Passed to the provider package as `providerOptions`. Default: none. */
  readonly providerOptions?: JsonObject | undefined;
  /**
   * How to download files whose URLs the model does not support: limits, or a function like `download` of the AI SDK.
   * Default: 32 MiB and 30 seconds for each file, no private addresses. A request downloads each file once.
   */
  readonly download?: DownloadFunction | DownloadLimits | undefined;
  /** The projector that builds the context. Default: a new one. */
  readonly projector?: Projector | undefined;
  /** Readers for your own kinds of entries. Default: none. */
  readonly readers?: Readers | undefined;
  /** The counter for `tokenEstimator: "exact"`; see `loadExactCounter`. Default: the heuristic counter. */
  readonly tokenCounter?: TokenCounter | undefined;
  /** Checks an ask before anything is written. A returned text refuses it. Called once per ask; must be synchronous. Default: none. */
  readonly accept?:
    | ((agent: AcceptedBy, pending: { readonly content: Content; readonly requestId: string }) => string | undefined)
    | undefined;
  /** Changes the request of one model call; the change is recorded. Called before every call, not before its retries. Default: none. */
  readonly transformRequest?:
    | ((request: ModelRequest, scope: RequestScope<Context>) => Partial<ModelRequest> | Promise<Partial<ModelRequest>>)
    | undefined;
  /** Called before every tool call, after its arguments were validated. An error that it throws denies the call. Default: none. */
  readonly guardTools?:
    | ((call: ToolCall, scope: RequestScope<Context>) => GuardVerdict | Promise<GuardVerdict>)
    | undefined;
  /** Keeps arguments, results and texts out of telemetry. Default true. */
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
  /** Models by the name that policies use. Default: none. */
  readonly models?: { readonly [name: string]: LanguageModel } | undefined;
  /** Whether a request that a crash interrupted is resumed or fails. A request that only waits is never interrupted. Default "resume". */
  readonly recover?: "resume" | "fail" | undefined;
  /**
   * The most attempts of a request, the first included. A crash during its work starts another attempt. After the last one it
   * fails with `attempts_exhausted`. Stopping a server does not count as an attempt. Default 5.
   */
  readonly maxAttempts?: number | undefined;
}
