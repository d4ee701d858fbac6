import { isPlainObject, type JsonObject, type JsonValue } from "./json.ts";

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

/** The text fields that each type of part must have. */
export const PART_TEXTS: { readonly [type: string]: readonly string[] } = {
  text: ["text"],
  thinking: ["text"],
  file: ["mediaType"],
  source: [],
  custom: [],
  provider_call: ["id", "name"],
  provider_result: ["id", "name"],
  tool_call: ["id"],
};

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
/** The person who wrote a user message, where a thread has several. A model is shown the name, or else the id. */
export type Author = { readonly id: string; readonly name?: string };
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
export type ToolSpec = {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  /** A tool that a provider defines, such as `anthropic.web_search_20250305`. The provider knows its description and its input. */
  readonly provider?: { readonly id: string; readonly args: JsonObject };
};

/** The name of the author in a payload, in one line. Undefined for a value that names no author. */
export function authorName(author: unknown): string | undefined {
  if (!isPlainObject(author)) return undefined;
  return [author["name"], author["id"]]
    .flatMap((value) => (typeof value === "string" ? [value.replace(/\s+/g, " ").trim()] : []))
    .find((name) => name !== "");
}

/** The content as a model is shown it: the name comes before it. */
export function withAuthorName(name: string, content: string): string;
export function withAuthorName(name: string, content: Content): Content;
export function withAuthorName(name: string, content: Content): Content {
  const label = `From ${name}:`;
  return typeof content === "string" ? `${label}\n${content}` : [{ type: "text", text: label }, ...content];
}

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
export function fileNote({ mediaType, filename }: FileContentPart, why = "be shown"): string {
  return `[A file (${filename === undefined ? mediaType : `${filename}, ${mediaType}`}) that cannot ${why} here]`;
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

/** A call that a provider ran itself, such as a web search, or its result. */
export type ProviderExecutedPart = ProviderCallPart | ProviderResultPart;

/** The id prefixes of such calls, by provider. Ids of other providers, such as Google, have no known prefix. */
const IDS: readonly (readonly [id: RegExp, provider: string])[] = [
  [/^(srv|mcp)toolu_/, "anthropic"],
  [/^(ws|ci|fs|ig|mcp|sh|shc|tsc?|cu|cgc?)_/, "openai"],
];

/** Other names of a provider, by the first word of the name. */
const PROVIDERS: { readonly [name: string]: string } = {
  azure: "openai",
  vertex: "google",
  gemini: "google",
};

/** The provider that ran a call. Undefined when neither its id nor its metadata names one. */
function executorOf({ id, metadata = {} }: ProviderExecutedPart): string | undefined {
  const byId = IDS.find(([pattern]) => pattern.test(id))?.[1];
  const [owner] = Object.keys(metadata).filter((name) => name !== "heddle");
  return byId ?? (owner === undefined ? undefined : familyOf(owner));
}

/** Whether a provider can be shown the call, because it ran it or may have run it. */
export function canReadProviderCall(part: ProviderExecutedPart, provider: string): boolean {
  const family = familyOf(provider);
  const executor = executorOf(part);
  if (family === "gateway") return true; // the gateway forwards to the provider that ran the tool call
  if (executor !== undefined) return executor === family;
  // Anthropic's ids always have a prefix. Gemini's format can hold only its own code execution.
  return family !== "anthropic" && (family !== "google" || part.name === "code_execution");
}

export function isProviderExecuted(part: Part): part is ProviderExecutedPart {
  return part.type === "provider_call" || part.type === "provider_result";
}

/** The provider without a suffix: "google" for "google.vertex.chat" and "google-vertex". */
function familyOf(provider: string): string {
  const name = provider.split(/[.-]/)[0] ?? provider;
  return Object.hasOwn(PROVIDERS, name) ? (PROVIDERS[name] ?? name) : name;
}

/** The result of a tool as a model reads it. */
interface ResultText {
  readonly content: string;
  readonly isError: boolean;
}

/**
 * Text stays as it is, other values become JSON, and an error becomes `{"error": ...}`. A bare value is a success. An
 * envelope is exactly `{ ok: true, value }` or `{ ok: false, error }`; an object with more fields is data. With
 * `allowsMore`, as in projector heddle/1, it counts as an envelope and the other fields are left out.
 */
export function resultText(
  result: JsonValue,
  { allowsMore = false }: { readonly allowsMore?: boolean } = {},
): ResultText {
  if (!isEnvelope(result) || (!allowsMore && Object.keys(result).length !== 2)) {
    return { content: valueText(result), isError: false };
  }
  if (result.ok) return { content: valueText(result["value"] ?? null), isError: false };
  return { content: JSON.stringify({ error: result["error"] ?? null }), isError: true };
}

/** Text stays as it is. Other values become JSON. */
export function valueText(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isEnvelope(value: JsonValue): value is { readonly ok: boolean; readonly [key: string]: JsonValue } {
  return (
    isPlainObject(value) && ((value["ok"] === true && "value" in value) || (value["ok"] === false && "error" in value))
  );
}

/** The synthetic result of a call that has none. */
export const INTERRUPTED: ResultText = {
  content: JSON.stringify({
    error: { type: "interrupted", message: "The call was interrupted; its outcome is unknown." },
  }),
  isError: true,
};
