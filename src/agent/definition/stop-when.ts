import type { Content, ToolCall } from "../../thread/message.ts";
import type { ModelFinishReason, Usage, UsageByModel } from "../model-call.ts";
import type { Tools } from "./tool.ts";

/** A completed exchange: an answer of the model with tool calls, and a result for every call. */
export interface CompletedExchange {
  /** All model calls of the request so far, each with its results, in the form of the AI SDK. Built when it is read. */
  readonly steps: RequestStep[];
  /** The number of model calls of the request so far. */
  readonly iteration: number;
  /** The last text of the model. It becomes `result.text` when the request ends here. */
  readonly text: string;
  /** The tool calls of the last answer, in order. */
  readonly toolCalls: readonly ToolCall[];
  /** The results of the calls, in the same order. */
  readonly results: readonly CompletedCall[];
  /** The usage of all model calls of the request. */
  readonly usage: Usage;
  /** The usage per model. Summaries may use another model. */
  readonly usageByModel: UsageByModel;
}

/** The result of a tool call. */
export interface CompletedCall {
  readonly toolCallId: string;
  readonly name: string;
  readonly content: Content;
  readonly isError: boolean;
}

/**
 * One model call of a request, with the results of its tool calls: a `StepResult` of the AI SDK, built from the log. The log
 * has no timings, warnings or raw requests, so these fields are undefined. The arrays are copies.
 */
export interface RequestStep {
  readonly callId: string;
  /** From 0. */
  readonly stepNumber: number;
  readonly model: { readonly provider: string; readonly modelId: string };
  /** Text, reasoning, sources, files, calls and results, in order. Without files that the log has only by URL or hash. */
  readonly content: StepPart[];
  readonly text: string;
  readonly reasoning: { type: "reasoning"; text: string }[];
  readonly reasoningText: string | undefined;
  readonly files: StepFile[];
  readonly sources: StepSource[];
  readonly toolCalls: StepToolCall[];
  readonly staticToolCalls: StepToolCall[];
  readonly dynamicToolCalls: never[];
  /** The results that are not errors. A failed call is in `content` as `tool-error`. */
  readonly toolResults: StepToolResult[];
  readonly staticToolResults: StepToolResult[];
  readonly dynamicToolResults: never[];
  /** An interrupted or paused answer has "other", because the AI SDK has no name for it. */
  readonly finishReason: Exclude<ModelFinishReason, "interrupted" | "paused">;
  readonly rawFinishReason: undefined;
  readonly usage: StepUsage;
  /** The id and time of the log's entry. `messages` is empty; `content` has the answer. */
  readonly response: {
    readonly id: string;
    // biome-ignore lint/style/noRestrictedGlobals: a type, and the AI SDK's; nothing reads the clock
    readonly timestamp: Date;
    readonly modelId: string;
    readonly messages: [];
  };
  readonly request: Record<string, never>;
  readonly warnings: undefined;
  readonly providerMetadata: undefined;
  /** Empty. A condition does not get the context of the request. */
  readonly toolsContext: Record<string, never>;
  readonly runtimeContext: Record<string, never>;
  readonly experimental_context: undefined;
  readonly functionId: undefined;
  readonly metadata: undefined;
  /** Undefined: the log has no timings. */
  readonly performance: never;
}

/** A tool call of a step. */
export interface StepToolCall {
  type: "tool-call";
  toolCallId: string;
  toolName: string;
  input: unknown;
  /** Set for a call that the provider itself has run. */
  providerExecuted?: true;
}

/** The result of a tool call of a step. Text that is JSON of an object or a list is parsed. */
export interface StepToolResult extends Omit<StepToolCall, "type"> {
  type: "tool-result";
  output: unknown;
}

/** The error of a tool call of a step. */
export interface StepToolError extends Omit<StepToolCall, "type"> {
  type: "tool-error";
  error: unknown;
}

/** A file that the model wrote. */
export interface StepFile {
  readonly base64: string;
  readonly uint8Array: Uint8Array;
  readonly mediaType: string;
}

/** A source of an answer. */
export type StepSource =
  | { type: "source"; sourceType: "url"; id: string; url: string; title?: string }
  | { type: "source"; sourceType: "document"; id: string; mediaType: string; title: string; filename?: string };

/** One part of the content of a step. */
export type StepPart =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  | { type: "file"; file: StepFile }
  | StepSource
  | StepToolCall
  | StepToolResult
  | StepToolError;

/** The usage of a step. */
export interface StepUsage {
  inputTokens: number | undefined;
  inputTokenDetails: {
    noCacheTokens: number | undefined;
    cacheReadTokens: number | undefined;
    cacheWriteTokens: number | undefined;
  };
  outputTokens: number | undefined;
  outputTokenDetails: { textTokens: number | undefined; reasoningTokens: number | undefined };
  totalTokens: number | undefined;
}

/**
 * Returns true to complete the request. Conditions of the AI SDK have this type too. Called after each exchange, before the
 * next model call. After a crash between the two it is called again with the same input. An error that it throws fails the
 * request, and so does an answer later than `hookTimeoutMs`. In the pure core, which waits for nothing, a promise fails it too.
 */
export type StopWhenCondition = (exchange: CompletedExchange) => boolean | PromiseLike<boolean>;

/** The fields of the steps that `hasToolCall` reads, in Heddle and in the AI SDK. */
type StepsWithCalls = { readonly steps: readonly { readonly toolCalls: readonly { readonly toolName: string }[] }[] };

/**
 * A condition that is true when the last answer called one of these tools. The same as `hasToolCall` of the AI SDK, and
 * its functions take it too.
 *
 * @example
 * const agent = defineAgent({ model: scriptedModel([]), tools: {}, stopWhen: hasToolCall("done") });
 */
export function hasToolCall<T extends object = Tools>(
  ...toolName: readonly (keyof T | (string & {}))[]
): (options: StepsWithCalls) => boolean {
  return ({ steps }) => steps.at(-1)?.toolCalls.some((call) => toolName.includes(call.toolName)) ?? false;
}
