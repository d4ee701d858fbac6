import { ThreadError } from "../errors.ts";
import { isPlainObject, type JsonObject, type JsonValue, notOneOf } from "../json.ts";
import type { Message } from "../message.ts";

/** The message formats: Heddle's own, those of two providers, and the two of the AI SDK. */
export type MessageFormat = "neutral" | "openai-chat" | "anthropic" | "model-messages" | "ui-messages";

/** Fields that only one format has. A list without any of them is valid in several formats. */
const SIGNS: { readonly [name in MessageFormat]: RegExp | undefined } = {
  neutral: /"(toolCalls|base64|blob|metadata)":/,
  "openai-chat": /"(tool_calls|tool_call_id|function_call|refusal|image_url|input_audio)":/,
  anthropic: /"(tool_use_id|cache_control|media_type|thinking)":|"type":"tool_use"/,
  "model-messages": /"(providerOptions|toolName)":/,
  "ui-messages": undefined, // see isUi
};

const NAMES = Object.keys(SIGNS).filter(isFormat);

export function isFormat(name: unknown): name is MessageFormat {
  return typeof name === "string" && Object.hasOwn(SIGNS, name);
}

export function checkFormat(name: unknown): MessageFormat {
  if (isFormat(name)) return name;
  throw refused("invalid_options", notOneOf(NAMES, name));
}

/** Detects the format of a list. Quotes inside texts are escaped, so a text cannot look like a field. */
export function detectFormat(list: readonly JsonValue[]): MessageFormat {
  const text = JSON.stringify(list);
  const [format, ...others] = list.some(isUi)
    ? ["ui-messages" as const]
    : NAMES.filter((name) => SIGNS[name]?.test(text));
  if (format !== undefined && others.length === 0) return format;
  throw refused(
    "unknown_message_format",
    `is required, because the list is valid in several formats: one of ${NAMES.join(", ")}`,
  );
}

/** Whether only useChat has such a message. In AI SDK 4, messages without calls may have no parts. */
function isUi(message: JsonValue): boolean {
  if (!isPlainObject(message)) return false;
  const { parts, toolInvocations, experimental_attachments: attachments } = message as JsonObject;
  return [parts, toolInvocations, attachments].some(Array.isArray);
}

/** Refuses UI messages in a list of another format, which would lose their calls. */
export function refuseUiMessages(list: readonly JsonValue[], format: MessageFormat): void {
  const index = list.findIndex((message) => isUi(message) && !isBlank((message as JsonObject)["parts"]));
  if (index < 0) return;
  const path = `messages[${index}]`;
  const message = `${path} is a UI message of the AI SDK, not a message of ${format}. Pass format ui-messages.`;
  throw new ThreadError({ code: "invalid_message", path, message });
}

function isBlank(parts: JsonValue | undefined): boolean {
  return Array.isArray(parts) && parts.length === 0;
}

/** Refuses unsupported formats by name. If read as another format, they would lose most content. */
export function refuseUnsupported(list: readonly JsonValue[]): void {
  for (const [index, message] of list.entries()) {
    if (!isPlainObject(message)) continue;
    const name = isOfResponses(message as JsonObject)
      ? "an item of the OpenAI Responses API"
      : isOfGemini(message as JsonObject)
        ? "a content of Gemini"
        : undefined;
    if (name === undefined) continue;
    const path = `messages[${index}]`;
    const advice = "Convert the conversation to neutral messages and pass format neutral";
    throw new ThreadError({
      code: "unsupported_message_format",
      path,
      message: `${path} is ${name}. That format is not supported. ${advice}.`,
    });
  }
}

function isOfResponses({ role, type, content }: JsonObject): boolean {
  if (role === undefined)
    return typeof type === "string" && /^(function_call|reasoning|item_reference|.*_call(_output)?)/.test(type);
  return typesIn(content).some((type) => /^(input|output)_(text|image|file)$/.test(String(type)));
}

function isOfGemini({ role, parts }: JsonObject): boolean {
  if (!Array.isArray(parts) || parts.length === 0) return false;
  return role === "model" || parts.every((part) => isPlainObject(part) && part["type"] === undefined);
}

function typesIn(parts: JsonValue | undefined): readonly (JsonValue | undefined)[] {
  return Array.isArray(parts)
    ? parts.map((part) => (isPlainObject(part) ? (part as JsonObject)["type"] : undefined))
    : [];
}

/** Whether the `system` option drops the prompt of a list. */
export function dropsSystem(wanted: unknown): boolean {
  const words = ["keep", "drop"];
  if (wanted !== undefined && !words.includes(String(wanted))) {
    throw refused("invalid_options", notOneOf(words, wanted), "options.system");
  }
  return wanted === "drop";
}

function refused(code: string, rule: string, path = "options.format"): ThreadError {
  return new ThreadError({ code, path, message: `${path} ${rule}.` });
}

/** The message type of each format of `toMessages({ format })`. Formats of a provider are plain JSON here. */
interface MessageTypes {
  readonly neutral: Message;
  readonly "model-messages": SdkMessage;
  readonly "openai-chat": JsonObject;
  readonly anthropic: JsonObject;
  readonly "ui-messages": JsonObject;
}

/** The message type of a format. A new format without one is a compile error. */
export type FormattedMessage<Format extends MessageFormat> = MessageTypes[Format];

// The shapes of the AI SDK's ModelMessage as plain data, so that the SDK need not be installed. Arrays are mutable, as the
// SDK requires. Each list is a new copy that belongs to the caller.

type Json = string | number | boolean | null | Json[] | { [key: string]: Json | undefined };

type WithOptions = { providerOptions?: { [provider: string]: { [key: string]: Json | undefined } } };

type SdkText = WithOptions & { type: "text"; text: string };

type SdkFile = WithOptions & { type: "file"; mediaType: string; filename?: string; data: string | Uint8Array | URL };

type SdkToolResult = WithOptions & {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output:
    | { type: "text" | "error-text"; value: string }
    | { type: "json" | "error-json"; value: Json }
    | { type: "content"; value: SdkText[] };
};

type SdkAssistantPart =
  | SdkText
  | SdkFile
  | (WithOptions & { type: "reasoning"; text: string })
  | (WithOptions & {
      type: "tool-call";
      toolCallId: string;
      toolName: string;
      input: unknown;
      providerExecuted?: boolean;
    })
  | SdkToolResult;

/** A message as `generateText` and `streamText` of the AI SDK accept it. */
type SdkMessage = WithOptions &
  (
    | { role: "system"; content: string }
    | { role: "user"; content: string | (SdkText | SdkFile)[] }
    | { role: "assistant"; content: string | SdkAssistantPart[] }
    | { role: "tool"; content: SdkToolResult[] }
  );
