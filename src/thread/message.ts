import type { JsonObject, JsonValue } from "./json.ts";

/** Data that a provider needs back unchanged, by provider: signatures, item ids, citations. */
export type PartMetadata = { readonly [provider: string]: JsonObject };

type OfProvider = { readonly metadata?: PartMetadata };

export type TextPart = OfProvider & { readonly type: "text"; readonly text: string };

/** The reasoning of a model. Only the named provider and model can read it. */
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

/** A source of an answer. */
export type SourcePart = OfProvider & { readonly type: "source" } & JsonObject;

/** Content in a form that only its provider knows. */
export type CustomPart = OfProvider & { readonly type: "custom" } & JsonObject;

/** A call that the provider itself has run. */
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

/** The place of a tool call among the parts of its message. The call itself is in `toolCalls`. */
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
  /** The approval from an imported list of the AI SDK. Never shown to a model. Default none. */
  readonly approval?: ToolApproval;
};

/** An approval of the AI SDK. While `approved` is missing, the call waits for a decision. */
export type ToolApproval = {
  readonly id: string;
  readonly approved?: boolean;
  readonly reason?: string;
  /** Other fields of the AI SDK, such as a signature. */
  readonly [more: string]: JsonValue | undefined;
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

/** One message of a context, in a neutral form. Formatters convert it to the form of a provider. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** The description of a tool that a model is given. */
export type ToolSpec = { readonly name: string; readonly description?: string; readonly inputSchema: JsonObject };
