import type { JsonObject, JsonValue } from "./json.ts";

/** What a provider needs to get back as it was: signatures, item ids, citations; by provider. */
export type PartMetadata = { readonly [provider: string]: JsonObject };

type OfProvider = { readonly metadata?: PartMetadata };

export type TextPart = OfProvider & { readonly type: "text"; readonly text: string };

/** The model's reasoning, with the provider and model that alone can read it again. */
export type ThinkingPart = OfProvider & {
  readonly type: "thinking";
  readonly text: string;
  readonly provider?: string;
  readonly model?: string;
};

export type FilePart = OfProvider & {
  readonly type: "file";
  readonly mediaType: string;
  readonly filename?: string;
  readonly data: { readonly url: string } | { readonly base64: string } | { readonly blob: string };
};

/** Where an answer came from. */
export type SourcePart = OfProvider & { readonly type: "source" } & JsonObject;

/** Content of a kind that only its provider knows. */
export type CustomPart = OfProvider & { readonly type: "custom" } & JsonObject;

/** A call that the provider itself has executed. */
export type ProviderCallPart = OfProvider & {
  readonly type: "provider_call";
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonValue;
};

export type ProviderResultPart = OfProvider & {
  readonly type: "provider_result";
  readonly id: string;
  readonly name: string;
  readonly result: JsonValue;
  readonly isError?: boolean;
};

/** The place of a tool call among the parts of its message; the call itself is in `toolCalls`. */
export type ToolCallPlace = OfProvider & { readonly type: "tool_call"; readonly id: string };

export type Part =
  | TextPart
  | ThinkingPart
  | FilePart
  | SourcePart
  | CustomPart
  | ProviderCallPart
  | ProviderResultPart
  | ToolCallPlace;

/** Text, or parts such as `{ type: "text", text }` and `{ type: "file", mediaType, data }`. */
export type Content = string | readonly Part[];

export type ToolCall = OfProvider & {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonValue;
  /** Of a list of the AI SDK that was taken in. No model is shown it. */
  readonly approval?: ToolApproval;
};

/** An approval of the AI SDK. As long as `approved` is missing, the call waits for it. */
export type ToolApproval = {
  readonly id: string;
  readonly approved?: boolean;
  readonly reason?: string;
  /** Anything else the AI SDK keeps with it, such as a signature. */
  readonly [more: string]: JsonValue;
};

export type SystemMessage = { readonly role: "system"; readonly content: string };
export type UserMessage = { readonly role: "user"; readonly content: Content };
export type AssistantMessage = {
  readonly role: "assistant";
  readonly content: Content;
  readonly toolCalls?: readonly ToolCall[];
};
export type ToolMessage = OfProvider & {
  readonly role: "tool";
  readonly toolCallId: string;
  readonly name: string;
  readonly content: Content;
  readonly isError?: boolean;
};

/** One message of a context, shaped like no provider's: formatters make theirs of it. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** A tool as the model is told of it. */
export type ToolSpec = { readonly name: string; readonly description?: string; readonly inputSchema: JsonObject };
