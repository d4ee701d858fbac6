import type { JsonObject, JsonValue } from "./json.ts";

/** Data that a provider needs back unchanged, by provider: signatures, item ids, citations. */
export type PartMetadata = { readonly [provider: string]: JsonObject };

type WithMetadata = { readonly metadata?: PartMetadata };

/** Text of a message. */
export type TextContentPart = WithMetadata & { readonly type: "text"; readonly text: string };

/** The reasoning of a model. Only the named provider and model can read it. */
export type ThinkingPart = WithMetadata & {
  readonly type: "thinking";
  readonly text: string;
  readonly provider?: string;
  readonly model?: string;
};

/** A file: by URL, as base64 text, or by the hash of a stored blob. */
export type FileContentPart = WithMetadata & {
  readonly type: "file";
  readonly mediaType: string;
  readonly filename?: string;
  readonly data: { readonly url: string } | { readonly base64: string } | { readonly blob: string };
};

/** A source of an answer. */
export type SourcePart = WithMetadata & { readonly type: "source" } & JsonObject;

/** Content in a form that only its provider knows. */
export type CustomPart = WithMetadata & { readonly type: "custom" } & JsonObject;

/** A call that the provider itself has run. */
export type ProviderCallPart = WithMetadata & {
  readonly type: "provider_call";
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonValue;
};

/** The result of a call that the provider itself has run. */
export type ProviderResultPart = WithMetadata & {
  readonly type: "provider_result";
  readonly id: string;
  readonly name: string;
  readonly result: JsonValue;
  readonly isError?: boolean;
};

/** The place of a tool call among the parts of its message. The call itself is in `toolCalls`. */
export type ToolCallPosition = WithMetadata & { readonly type: "tool_call"; readonly id: string };

/** One part of the content of a message. */
export type Part =
  | TextContentPart
  | ThinkingPart
  | FileContentPart
  | SourcePart
  | CustomPart
  | ProviderCallPart
  | ProviderResultPart
  | ToolCallPosition;

/** Text, or parts such as `{ type: "text", text }` and `{ type: "file", mediaType, data }`. */
export type Content = string | readonly Part[];

/** A tool call of a model. */
export type ToolCall = WithMetadata & {
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

/** A system prompt. */
export type SystemMessage = { readonly role: "system"; readonly content: string };
/** A message of the user. */
export type UserMessage = { readonly role: "user"; readonly content: Content };
/** An answer of the model. */
export type AssistantMessage = {
  readonly role: "assistant";
  readonly content: Content;
  readonly toolCalls?: readonly ToolCall[];
};
/** The result of a tool call. */
export type ToolMessage = WithMetadata & {
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

/** The text of a content, without its other parts. */
export function contentText(content: Content): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

/** Whether a content has a file or a text that is not blank. */
export function hasContent(content: Content): boolean {
  if (typeof content === "string") return content.trim() !== "";
  return content.some(
    (part) =>
      part.type === "file" || (part.type === "text" && typeof part.text === "string" && part.text.trim() !== ""),
  );
}

/** A text in place of a file that cannot be sent, so that the model knows of it and the provider accepts the request. */
export function fileNote({ mediaType, filename }: FileContentPart): string {
  return `[A file (${filename === undefined ? mediaType : `${filename}, ${mediaType}`}) that cannot be shown here]`;
}

/** Splits a list between neighbors for which `together` is false. */
export function groupAdjacent<T>(items: readonly T[], together: (a: T, b: T) => boolean): readonly (readonly T[])[] {
  const result: T[][] = [];
  for (const item of items) {
    const run = result.at(-1);
    const last = run?.at(-1);
    if (run !== undefined && last !== undefined && together(last, item)) run.push(item);
    else result.push([item]);
  }
  return result;
}
