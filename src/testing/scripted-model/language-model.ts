import type { FinishReason } from "../../agent/answer.ts";
import type { MutableJson } from "../../providers/metadata.ts";

// The part of the AI SDK's LanguageModelV4 that a scripted model uses, so that the published types do not depend on the SDK.
// Mutable, because the SDK's types are mutable. A type test compares them with the originals.

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

/** The options of a call. Settings have no effect; they are recorded with the request. */
export type V4CallOptions = {
  readonly prompt: readonly object[];
  readonly tools?: readonly object[] | undefined;
  readonly abortSignal?: AbortSignal | undefined;
} & { readonly [Name in Setting]?: unknown };

export type V4Metadata = { [provider: string]: { [key: string]: MutableJson | undefined } };

type WithMetadata = { providerMetadata?: V4Metadata };

export type V4ToolCall = WithMetadata & { type: "tool-call"; toolCallId: string; toolName: string; input: string };

export type V4Content =
  | (WithMetadata & { type: "text"; text: string })
  | (WithMetadata & { type: "reasoning"; text: string })
  | V4ToolCall;

export type V4Usage = {
  inputTokens: { total: number; noCache: number; cacheRead: number; cacheWrite: number };
  outputTokens: { total: number; text: number; reasoning: number };
};

export type V4FinishReason = { unified: FinishReason; raw: string };

export type V4StreamPart =
  | { type: "stream-start"; warnings: [] }
  | { type: "response-metadata"; id: string; modelId: string }
  | (WithMetadata & { type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; id: string })
  | (WithMetadata & { type: "text-delta" | "reasoning-delta"; id: string; delta: string })
  | { type: "tool-input-start"; id: string; toolName: string }
  | { type: "tool-input-delta"; id: string; delta: string }
  | { type: "tool-input-end"; id: string }
  | V4ToolCall
  | { type: "error"; error: unknown }
  | { type: "finish"; usage: V4Usage; finishReason: V4FinishReason };

export interface V4GenerateResult {
  content: V4Content[];
  finishReason: V4FinishReason;
  usage: V4Usage;
  response: { id: string; modelId: string };
  warnings: [];
}

export interface V4StreamResult {
  stream: ReadableStream<V4StreamPart>;
}
