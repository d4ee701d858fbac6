import type { ModelFinishReason } from "../agent/model-call.ts";
import type { MutableJson } from "../providers/message-parts.ts";

// The types of the AI SDK's LanguageModelV4 that a scripted model uses. They are copied, so that published types do not
// depend on the SDK. They are mutable, as in the SDK. A type test compares them with the originals.

type Setting =
  | "maxOutputTokens"
  | "temperature"
  | "topP"
  | "topK"
  | "presencePenalty"
  | "frequencyPenalty"
  | "stopSequences"
  | "seed"
  | "responseFormat"
  | "toolChoice"
  | "reasoning"
  | "providerOptions"
  | "headers"
  | "includeRawChunks";

/** The options of a model call. Settings have no effect; they are recorded with the request. */
export type V4CallOptions = {
  readonly prompt: readonly object[];
  readonly tools?: readonly object[] | undefined;
  readonly abortSignal?: AbortSignal | undefined;
} & { readonly [Name in Setting]?: unknown };

export type V4Metadata = { [provider: string]: { [key: string]: MutableJson | undefined } };

type V4PartMetadata = { providerMetadata?: V4Metadata };

export type V4ToolCall = V4PartMetadata & { type: "tool-call"; toolCallId: string; toolName: string; input: string };

export type V4Content =
  | (V4PartMetadata & { type: "text"; text: string })
  | (V4PartMetadata & { type: "reasoning"; text: string })
  | V4ToolCall;

export type V4Usage = {
  inputTokens: { total: number; noCache: number; cacheRead: number; cacheWrite: number };
  outputTokens: { total: number; text: number; reasoning: number };
};

export type V4FinishReason = { unified: Exclude<ModelFinishReason, "paused">; raw: string };

export type V4StreamPart =
  | { type: "stream-start"; warnings: [] }
  | { type: "response-metadata"; id: string; modelId: string }
  | (V4PartMetadata & { type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; id: string })
  | (V4PartMetadata & { type: "text-delta" | "reasoning-delta"; id: string; delta: string })
  | { type: "tool-input-start"; id: string; toolName: string }
  | { type: "tool-input-delta"; id: string; delta: string }
  | { type: "tool-input-end"; id: string }
  | V4ToolCall
  | { type: "error"; error: unknown }
  | { type: "finish"; usage: V4Usage; finishReason: V4FinishReason };

/** The result of `doGenerate`. */
export interface V4GenerateResult {
  content: V4Content[];
  finishReason: V4FinishReason;
  usage: V4Usage;
  response: { id: string; modelId: string };
  warnings: [];
}

/** The result of `doStream`. */
export interface V4StreamResult {
  stream: ReadableStream<V4StreamPart>;
}
