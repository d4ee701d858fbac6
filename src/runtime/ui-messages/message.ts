import type { AnyTool, ToolInput, ToolOutput, ToolResult, Tools } from "../../agent/definition/tool.ts";
import type { RequestEnd } from "../../agent/react/state.ts";
import type { Failure } from "../../agent/signal.ts";
import { type MutableJson, thaw, thawObject } from "../../providers/message-parts.ts";
import { ignoreRejection } from "../../thread/errors.ts";
import { isPlainObject, type JsonValue } from "../../thread/json.ts";
import { type Content, fileNote, type Part, type PartMetadata } from "../../thread/message.ts";
import { fileUrl } from "../../thread/messages/file-part.ts";
import { contentParts, joinedText } from "../../thread/messages/neutral-message.ts";
import { parseStructure } from "../../thread/messages/to-messages.ts";

// The shapes of UIMessage of the AI SDK as plain data. Lists are mutable, because useChat requires that. Each message
// is a new object that belongs to the caller.

/** The metadata of a provider in a UI message. */
export type UIProviderMetadata = { [provider: string]: { [key: string]: MutableJson | undefined } };

/** Text in a UI message. */
export type UITextPart = {
  type: "text";
  text: string;
  state?: "streaming" | "done";
  providerMetadata?: UIProviderMetadata;
};

/** A file in a UI message. */
export type UIFilePart = {
  type: "file";
  mediaType: string;
  filename?: string;
  url: string;
  providerMetadata?: UIProviderMetadata;
};

/** Thinking of the model in a UI message. */
export type UIReasoningPart = {
  type: "reasoning";
  text: string;
  state?: "streaming" | "done";
  providerMetadata?: UIProviderMetadata;
};

type UIToolCall = {
  type: `tool-${string}`;
  toolCallId: string;
  input: unknown;
  providerExecuted?: boolean;
  callProviderMetadata?: UIProviderMetadata;
};

/** A tool call and its state. */
export type UIToolPart = UIToolCall &
  (
    | { state: "input-available" }
    | { state: "approval-requested"; approval: { id: string } }
    | { state: "approval-responded"; approval: { id: string; approved: boolean; reason?: string } }
    | { state: "output-available"; output: unknown; approval?: { id: string; approved: true; reason?: string } }
    | { state: "output-error"; errorText: string; approval?: { id: string; approved: true; reason?: string } }
    | { state: "output-denied"; approval: { id: string; approved: false; reason?: string } }
  );

/** A source in a UI message. */
export type UISourcePart =
  | { type: "source-url"; sourceId: string; url: string; title?: string; providerMetadata?: UIProviderMetadata }
  | {
      type: "source-document";
      sourceId: string;
      mediaType: string;
      title: string;
      filename?: string;
      providerMetadata?: UIProviderMetadata;
    };

/** Content in a form that only its provider knows, in a UI message. */
export type UICustomPart = { type: "custom"; kind: `${string}.${string}`; providerMetadata?: UIProviderMetadata };

/** One part of a UI message. */
export type UIPart =
  | UITextPart
  | UIFilePart
  | UIReasoningPart
  | UIToolPart
  | UISourcePart
  | UICustomPart
  | UISteeringPart
  /** A steering message for AI SDK 6, which has no part for it. */
  | { type: "data-steering-message"; id: string; data: { parts: (UITextPart | UIFilePart)[] } }
  | UIDataPart
  | { type: "step-start" };

/** A message to the running request, where it was taken. */
export type UISteeringPart = { type: "steering-message"; id: string; parts: (UITextPart | UIFilePart)[] };

/** A part that a tool or the application made for the page. */
export type UIDataPart = { type: `data-${string}`; id?: string; data: unknown };

/** The question of a tool that has suspended its call. The page answers it as the output of the call. */
export type UIQuestionPart = {
  type: "data-question";
  id: string;
  data: { toolCallId: string; toolName: string; question: unknown };
};

export function questionPart(id: string, toolCallId: string, toolName: string, question: JsonValue): UIQuestionPart {
  return { type: "data-question", id, data: { toolCallId, toolName, question: thaw(question) } };
}

/** The end of a request without a complete answer. */
export type UIRequestMark =
  /** `reason` is the text that `onError` makes of the failure; `code` is always the failure's own. */
  | { status: "failed"; code: string; reason: string; author?: never; cut?: true }
  /** `reason` is the argument of `cancel`. */
  | { status: "cancelled"; code: "request_cancelled"; reason: string; author?: never; cut?: true };

/** The origin of a user message, or the mark of an answer that was cut. */
export type UIMessageOrigin = {
  /** The person who wrote it, where the ask names one. */
  author?: { id: string; name?: string };
  /** The text of the message is the part of the answer that was spoken or read. */
  cut?: true;
  /** The program that injected it as an ask. A page may leave the message out. */
  source?: string;
  status?: never;
  code?: never;
  reason?: never;
};

/**
 * The metadata of a message whose request was stopped or failed, or whose answer was cut, or of a user message with an author.
 * Other messages have none from Heddle.
 */
export type UIMessageMetadata = { heddle: UIRequestMark | UIMessageOrigin };

/** A message as `useChat` shows it. */
export type UIChatMessage = {
  id: string;
  role: "system" | "user" | "assistant";
  parts: UIPart[];
  metadata?: UIMessageMetadata;
};

/** A message that a browser sends. It may hold anything. */
export type UIMessageLike = { readonly role: string; readonly parts: readonly { readonly type: string }[] };

/** A part of an answer as useChat shows it. Undefined for calls, which become tool parts. */
function uiPartOf(part: Part): UIPart | undefined {
  const more = metadataOf(part.metadata);
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text, state: "done", ...more };
    case "thinking":
      return { type: "reasoning", text: part.text, state: "done", ...more };
    case "file": {
      if ("blob" in part.data) return { type: "text", text: fileNote(part), state: "done" };
      const { mediaType, filename } = part;
      return { type: "file", mediaType, ...(filename !== undefined && { filename }), url: fileUrl(part), ...more };
    }
    case "source": {
      const { id, sourceType, url, title, mediaType = "", filename } = part;
      const sourceId = String(id);
      const name = typeof filename === "string" ? { filename } : {};
      if (sourceType === "document") {
        return {
          type: "source-document",
          sourceId,
          mediaType: String(mediaType),
          title: String(title ?? ""),
          ...name,
          ...more,
        };
      }
      if (typeof url !== "string") return undefined;
      return { type: "source-url", sourceId, url, ...(typeof title === "string" && { title }), ...more };
    }
    case "custom": {
      const { kind } = part;
      return isKind(kind) ? { type: "custom", kind, ...more } : undefined;
    }
    case "provider_call":
    case "provider_result":
    case "tool_call":
      return undefined;
    default:
      return part satisfies never;
  }
}

/**
 * A part of an answer as a page shows it, streamed or loaded. Undefined for calls and empty parts. Metadata that a provider
 * needs back with text and thinking stays on the server, as do names of files, for which streams have no field.
 */
export function uiPartOfAnswer(part: Part): UIPart | undefined {
  if (part.type === "text" || part.type === "thinking") {
    return part.text === "" ? undefined : uiPartOf({ type: part.type, text: part.text });
  }
  const made = uiPartOf(part);
  if (made === undefined || !("providerMetadata" in made || "filename" in made)) return made;
  const { filename, providerMetadata, ...rest } = made as UIFilePart; // other parts have these fields too
  const { heddle: _own, ...others } = providerMetadata ?? {};
  return {
    ...rest,
    ...(filename !== undefined && part.type === "source" && { filename }),
    ...(Object.keys(others).length > 0 && { providerMetadata: others }),
  };
}

/** The content of a user message as parts. */
export function uiPartsOfUser(content: Content): (UITextPart | UIFilePart)[] {
  return contentParts(content).flatMap((part): (UITextPart | UIFilePart)[] => {
    const made = uiPartOf(part);
    if (made?.type === "file") return [made];
    return made?.type === "text" ? [{ type: "text", text: made.text }] : [];
  });
}

function metadataOf(metadata: PartMetadata | undefined): { providerMetadata?: UIProviderMetadata } {
  if (metadata === undefined) return {};
  const owners = Object.entries(metadata).map(([owner, value]) => [owner, thawObject(value)] as const);
  return { providerMetadata: Object.fromEntries(owners) };
}

function isKind(kind: unknown): kind is `${string}.${string}` {
  return typeof kind === "string" && kind.includes(".");
}

// The shapes of UIMessageChunk of the AI SDK as plain data; the tests compare them with the real ones.

/** Why a UI message ended. */
export type UIFinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "interrupted" | "other";

/** A data part of the application. */
export type UIDataChunk = { type: `data-${string}`; id?: string; data: unknown; transient?: boolean };

/** One piece of a stream that `useChat` reads. */
export type UIChunk =
  | { type: "start"; messageId: string }
  | { type: "start-step" }
  | { type: "text-start" | "text-end"; id: string }
  | { type: "text-delta"; id: string; delta: string }
  | { type: "reasoning-start" | "reasoning-end"; id: string }
  | { type: "reasoning-delta"; id: string; delta: string }
  | { type: "tool-input-start"; toolCallId: string; toolName: string }
  | { type: "tool-input-delta"; toolCallId: string; inputTextDelta: string }
  | { type: "tool-input-available"; toolCallId: string; toolName: string; input: unknown; providerExecuted?: boolean }
  /** For AI SDK 6 only: closes a call whose input was not completed. */
  | { type: "tool-input-error"; toolCallId: string; toolName: string; input: unknown; errorText: string }
  | { type: "tool-approval-request"; approvalId: string; toolCallId: string }
  | { type: "tool-approval-response"; approvalId: string; approved: boolean; reason?: string }
  | {
      type: "tool-output-available";
      toolCallId: string;
      output: unknown;
      preliminary?: boolean;
      providerExecuted?: boolean;
    }
  | { type: "tool-output-error"; toolCallId: string; errorText: string; providerExecuted?: boolean }
  | { type: "tool-output-denied"; toolCallId: string }
  | { type: "steering-message"; id: string; parts: (UITextPart | UIFilePart)[] }
  | { type: "reset-step" }
  | { type: "finish-step" }
  | { type: "message-metadata"; messageMetadata: unknown }
  | { type: "error"; errorText: string }
  | { type: "abort"; reason?: string }
  | { type: "finish"; finishReason: UIFinishReason }
  | UIFilePart
  | UISourcePart
  | UICustomPart
  | UIDataChunk;

/** One piece of a stream that `useChat` of AI SDK 6 reads, which has fewer types. */
export type UIChunk6 =
  | Exclude<UIChunk, { type: "tool-approval-response" | "steering-message" | "reset-step" | "finish" | "custom" }>
  | { type: "finish"; finishReason: Exclude<UIFinishReason, "interrupted"> };

export type ErrorText = ((failure: Failure) => string) | undefined;

/** Messages of Heddle are shown. Failures of a model, and errors that are not Heddle's, are no matter of the user. */
export function requestErrorText(failure: Failure, onError: ErrorText): string {
  const isShown = onError === undefined && !/^(model_|runtime_failed$)/.test(failure.code);
  return isShown ? failure.message : (textBy(onError, failure) ?? "An error occurred.");
}

/** An `onError` that throws must not end the stream. */
function textBy(onError: ErrorText, failure: Failure): string | undefined {
  try {
    const text: unknown = onError?.(failure);
    if (typeof text === "string") return text;
    ignoreRejection(text);
  } catch {
    // the default text is shown
  }
  return undefined;
}

/** Messages of Heddle and of a ToolError are shown. Other errors of a tool may hold secrets. */
export function toolErrorText(content: Content, onError: ErrorText): string {
  const failure = failureIn(joinedText(content));
  if (onError !== undefined) return textBy(onError, failure) ?? "The tool failed.";
  return failure.code === THROWN ? "The tool failed." : failure.message;
}

const THROWN = "tool_failed";

function failureIn(text: string): Failure {
  const error = errorIn(text);
  const { type, message } = isPlainObject(error) ? (error as { readonly [key: string]: JsonValue }) : {}; // parsed JSON
  if (typeof type === "string" && typeof message === "string") return { code: type, message };
  return { code: THROWN, message: text };
}

function errorIn(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isPlainObject(value) ? value["error"] : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The output of a tool for the page: its details, else the content that the model reads. JSON text of an object or a
 * list is parsed.
 */
export function toolOutput({
  content,
  details,
}: {
  readonly content: Content;
  readonly details?: JsonValue | undefined;
}): unknown {
  if (details !== undefined) return thaw(details);
  if (typeof content !== "string") return content.flatMap((part) => uiPartOf(part) ?? []);
  const value = parseStructure(content);
  return value === undefined ? content : thaw(value);
}

/** Models may give one id to several calls. With the id of the model call it is unique. */
export function approvalIdOf(callId: string | undefined, toolCallId = ""): string {
  return `${callId ?? ""}:${toolCallId}`;
}

/** The metadata of the message of a stopped or failed request. */
export function markOf(end: RequestEnd, onError: ErrorText): UIMessageMetadata | undefined {
  switch (end.status) {
    case "completed":
      return undefined;
    case "failed":
      return failedMark(end.failure, requestErrorText(end.failure, onError));
    case "cancelled":
      return cancelledMark(end.reason);
    default:
      return end satisfies never;
  }
}

export function failedMark({ code }: Failure, reason: string): UIMessageMetadata {
  return { heddle: { status: "failed", code, reason } };
}

export function cancelledMark(reason: string): UIMessageMetadata {
  return { heddle: { status: "cancelled", code: "request_cancelled", reason } };
}

/** The input of each tool as the model writes it, and its output as it is in parts of a page: the third type argument of `UIMessage` of `ai`. */
export type UIToolTypes<T extends Tools> = {
  [Name in keyof T & string]: { input: WrittenInput<T[Name]>; output: PageOutput<ToolOutput<T[Name]>> };
};
/** Calls keep the arguments as the model wrote them, before the schema transforms them. Without its type: that of `execute`. */
type WrittenInput<T extends AnyTool> = T["inputSchema"] extends {
  readonly "~standard": { readonly types?: infer Types };
}
  ? Known<NonNullable<Types> extends { readonly input: infer Input } ? Input : unknown, ToolInput<T>>
  : NonNullable<T["execute"]> extends (input: infer Input, ...rest: never[]) => unknown
    ? Known<ToolInput<T>, Input>
    : ToolInput<T>;
type Known<First, Second> = unknown extends First ? Second : First;
type PageOutput<Output> = [Shown<Output>] extends [never] ? unknown : Shown<Output>;
/** A mark without a type is an error, a question or a wait, and not an output. A scalar is its text. */
type Shown<Output> =
  Output extends ToolResult<infer Value>
    ? unknown extends Value
      ? never
      : Shown<Value>
    : unknown extends Output
      ? unknown
      : Output extends string | object
        ? Output
        : string;
