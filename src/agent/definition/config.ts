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

/** What a request is for, and with what: the context is never stored. */
export interface RequestScope<Context> {
  readonly context: Context;
  readonly requestId: string;
  readonly threadId: string;
}

/** What a caller's `accept` may look at. */
export interface AcceptedBy {
  readonly thread: Thread;
}

/** One model call, before it is made. */
export interface ModelRequest {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  /** maxOutputTokens, temperature, toolChoice and whatever else goes to the model. */
  readonly settings: JsonObject;
}

/** Whether a call may run: "ask" makes it wait for approval; a text is the reason why not, which the model reads. */
export type GuardVerdict = "allow" | "ask" | { readonly deny: string };

export interface Summarizer {
  /**
   * Writes the summary of a range. A range that is longer than `maxInputTokens` comes in pieces, each with the summary before
   * it. What it throws is reported as summary_failed: where that says that the range is too long, a smaller piece follows at once;
   * else the request continues without, and a later one tries again.
   */
  summarize(range: SummaryRange, options: { readonly signal: AbortSignal }): Promise<string>;
  /** The window of the model it asks; a range takes half of it at most. Default: that of the agent's model. */
  readonly maxInputTokens?: number | undefined;
}

export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

export type Reasoning = "provider-default" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

export interface Limits {
  /** Input and output tokens of one request together, as the provider reports them. */
  readonly maxTokens?: number | undefined;
  /** Needs `costUsd`: prices change too often to be kept here. */
  readonly maxCostUsd?: number | undefined;
  /**
   * What tokens of a model, named as `provider:model`, cost. Called for each model that the request has used, and the sum
   * counts; must answer at once. What it throws ends the request before its next call.
   */
  readonly costUsd?: ((usage: Usage, model: string) => number) | undefined;
}

/** What `defineAgent` takes. Only `model` is required. */
export interface AgentConfig<
  Given extends Tools = Tools,
  Context = unknown,
  Output extends InputSchema | undefined = InputSchema | undefined,
> {
  /** Default "agent". */
  readonly name?: string | undefined;
  /** A model of any AI SDK provider package. */
  readonly model: LanguageModel;
  /** Text, or a function of the request's context. */
  readonly systemPrompt?: string | ((context: Context) => string | Promise<string>) | undefined;
  /** The same as `systemPrompt`. */
  readonly instructions?: string | ((context: Context) => string | Promise<string>) | undefined;
  readonly tools?: Given | undefined;
  /** Default: what suits the model, at most 100 000 tokens. */
  readonly contextPolicy?: ContextPolicyInput | undefined;
  /** Model calls of one request. Default 100. */
  readonly maxIterations?: number | undefined;
  /** Ends a request with what there is, before its next model call: any of these may say so. Default none. */
  readonly stopWhen?: StopCondition | readonly StopCondition[] | undefined;
  /** For each attempt of a tool. Default 60 000. */
  readonly toolTimeoutMs?: number | undefined;
  /** Further attempts of a tool after a timeout or an error with `retryable: true`. Default 0. */
  readonly toolMaxRetries?: number | undefined;
  /** Default 200. */
  readonly toolRetryBackoffMs?: number | undefined;
  /** Further attempts of a model call that failed retryably before it said a word. Default 2. */
  readonly modelMaxRetries?: number | undefined;
  /** Tools at work at once. Default 4. */
  readonly toolConcurrency?: number | undefined;
  /** How often a tool at work is told of. Default 5000. */
  readonly toolHeartbeatMs?: number | undefined;
  /** How long a stream of a model may be silent; a whole answer may take five times as long. Default: the tool timeout and a minute. */
  readonly streamIdleTimeoutMs?: number | undefined;
  /** How long a request may be at work, over all starts of its process; waiting does not count. Default: no limit. */
  readonly totalTimeoutMs?: number | undefined;
  /** What becomes of an ask while another request runs. Default "reject". */
  readonly busy?: "reject" | "queue" | undefined;
  /** Default true. */
  readonly streaming?: boolean | undefined;
  /** Default: the provider's. */
  readonly maxOutputTokens?: number | undefined;
  readonly limits?: Limits | undefined;
  readonly temperature?: number | undefined;
  /** How much the model is to think, where it can be told. Default: the provider's. */
  readonly reasoning?: Reasoning | undefined;
  /** Default "auto". */
  readonly toolChoice?: ToolChoice | undefined;
  /** The shape of the answer: `result.object` is of it. */
  readonly output?: Output;
  /** How often an answer of another shape is sent back. Default 1, at most 3. */
  readonly outputRetries?: number | undefined;
  /** What the provider package takes as `providerOptions`. */
  readonly providerOptions?: JsonObject | undefined;
  /**
   * How files are downloaded whose URLs the model does not take: limits, or a function as `download` of the AI SDK. Default: 32 MiB
   * and 30 seconds for each file, no private addresses. Each file is downloaded once in a request.
   */
  readonly download?: DownloadFunction | DownloadLimits | undefined;
  readonly projector?: Projector | undefined;
  /** Readers of your own kinds of entries. */
  readonly readers?: Readers | undefined;
  /** A counter for `tokenEstimator: "exact"`; see `loadExactCounter`. */
  readonly tokenCounter?: TokenCounter | undefined;
  /** Your own word on an ask before anything is written: a text refuses it. Called once per ask; must not wait. */
  readonly accept?:
    | ((agent: AcceptedBy, pending: { readonly content: Content; readonly requestId: string }) => string | undefined)
    | undefined;
  /** Changes what is sent in one call; what was sent is recorded. Called before every call, not before its retries. */
  readonly transformRequest?:
    | ((request: ModelRequest, scope: RequestScope<Context>) => Partial<ModelRequest> | Promise<Partial<ModelRequest>>)
    | undefined;
  /** Asked before every call of a tool, after its arguments were validated. What it throws denies the call. */
  readonly guardTools?:
    | ((call: ToolCall, scope: RequestScope<Context>) => GuardVerdict | Promise<GuardVerdict>)
    | undefined;
  /** Keeps arguments, results and texts out of telemetry. Default true. */
  readonly redact?: boolean | undefined;
  /** Keeps deltas, so that whoever iterates late gets them too. Default true. */
  readonly captureDeltas?: boolean | undefined;
  /** Signs resume tokens; of a list the first signs and all verify. Each of at least 32 bytes. */
  readonly tokenSecret?: string | readonly string[] | undefined;
  readonly tokenTtlMs?: number | undefined;
  /** Whom tokens are for. */
  readonly tokenBind?: string | JsonObject | undefined;
  readonly tokenMaxBytes?: number | undefined;
  /** Default: asks the model of `policy.summarizationModel`, found in `models`, else the agent's. */
  readonly summarizer?: Summarizer | undefined;
  /** Models by the name that policies use. */
  readonly models?: { readonly [name: string]: LanguageModel } | undefined;
  /** What becomes of a request that a crash has interrupted; one that waits for somebody outside is not. Default "resume". */
  readonly recover?: "resume" | "fail" | undefined;
  /**
   * How often the work of a request may begin, the first time included: each crash while it is at work begins it once more. Then
   * it fails as `attempts_exhausted`. A server that is stopped counts no attempt. Default 5.
   */
  readonly maxAttempts?: number | undefined;
}
