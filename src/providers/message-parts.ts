import { isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";
import {
  type AssistantMessage,
  type Content,
  type FileContentPart,
  fileNote,
  type Message,
  PART_TEXTS,
  type Part,
  type PartMetadata,
  type TextContentPart,
  type ToolCall,
  type ToolCallPosition,
  type ToolMessage,
  type ToolSpec,
} from "../thread/message.ts";
import { imageOf } from "../thread/messages/file-part.ts";
import { fileUnsendable, ProviderError } from "./error.ts";

/** The wire formats whose rules are known. */
export type ProviderApi = "openai-chat" | "openai-responses" | "anthropic" | "gemini";

const ROLES: readonly unknown[] = ["system", "user", "assistant", "tool"];

/** Refuses messages of other formats. They have the same roles, but their parts would be lost without a word. */
export function checkMessages(messages: readonly Message[]): void {
  if (!Array.isArray(messages)) {
    throw invalidMessage("messages must be a list, such as the messages of a projection.");
  }
  for (const [index, message] of messages.entries()) {
    if (isMessage(Object(message))) continue;
    throw invalidMessage(
      `messages[${index}] is not a message of a projection. Take other formats in with Thread.fromMessages.`,
    );
  }
}

function invalidMessage(message: string): ProviderError {
  return new ProviderError({ code: "invalid_message", message });
}

type Unchecked = { readonly [field: string]: unknown };

function isMessage({ role, content, toolCallId, toolCalls = [] }: Unchecked): boolean {
  if (!ROLES.includes(role) || (role === "tool" && typeof toolCallId !== "string")) return false;
  if (!Array.isArray(toolCalls) || !toolCalls.every((call) => hasTexts(call, ["id", "name"]))) return false;
  return typeof content === "string" || (role !== "system" && Array.isArray(content) && content.every(isPart));
}

function isPart(part: unknown): boolean {
  const { type, data }: Unchecked = Object(part);
  const texts = typeof type === "string" && Object.hasOwn(PART_TEXTS, type) ? PART_TEXTS[type] : undefined;
  const hasData = type !== "file" || ["url", "base64", "blob"].some((field) => hasTexts(data, [field]));
  return texts !== undefined && hasTexts(part, texts) && hasData;
}

function hasTexts(value: unknown, fields: readonly string[]): boolean {
  return fields.every((field) => typeof Object(value)[field] === "string");
}

/** A part of an assistant message. A call is a part too, so that all parts form one ordered list. */
export type AssistantPart = Exclude<Part, ToolCallPosition> | { readonly type: "call"; readonly call: ToolCall };

/** Returns the parts of a content. Empty text is left out, because some providers refuse it. */
export function partsOf(content: Content): readonly Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return content.filter((part) => part.type !== "text" || part.text !== "" || part.metadata !== undefined);
}

/**
 * Inserts the calls at their positions in the content. Calls without a position come last, as in the providers'
 * formats.
 */
export function assistantParts({ content, toolCalls = [] }: AssistantMessage): readonly AssistantPart[] {
  if (toolCalls.length === 0) return partsOf(content).filter((part) => part.type !== "tool_call");
  const waiting = new Map(toolCalls.map((call) => [call.id, call]));
  const parts: AssistantPart[] = [];
  for (const part of partsOf(content)) {
    if (part.type !== "tool_call") {
      parts.push(part);
      continue;
    }
    const call = waiting.get(part.id);
    if (call === undefined) continue; // Skips a position without a call, and a second position of the same call.
    waiting.delete(part.id);
    const metadata = call.metadata ?? part.metadata;
    parts.push({ type: "call", call: metadata === undefined ? call : { ...call, metadata } });
  }
  for (const call of toolCalls) if (waiting.has(call.id)) parts.push({ type: "call", call });
  return parts;
}

/** A tool result in the three forms that providers distinguish. */
type ToolOutput =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "error"; readonly error: JsonValue }
  | { readonly type: "parts"; readonly parts: readonly (TextContentPart | FileContentPart)[] };

export function toolOutputOf({ content, isError }: ToolMessage): ToolOutput {
  const parts = partsOf(content).filter((part) => part.type === "text" || part.type === "file");
  if (isError === true) return { type: "error", error: unwrappedError(textWithFileNotes(parts)) };
  const [first, ...others] = parts;
  if (first === undefined) return { type: "text", text: "" };
  const plain = first.type === "text" && first.metadata === undefined && others.length === 0;
  return plain ? { type: "text", text: first.text } : { type: "parts", parts };
}

/**
 * Joins the parts of an error to one text, with a note for each file. Anthropic refuses images in errors, and other
 * formats cannot hold them.
 */
function textWithFileNotes(parts: readonly (TextContentPart | FileContentPart)[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : fileNote(part))).join("\n");
}

/** Removes the wrapper {"error": ...}, which the projection writes, because provider formats have their own. */
function unwrappedError(text: string): JsonValue {
  const { error, ...others } = asObject(parseJson(text)) ?? {};
  return error !== undefined && Object.keys(others).length === 0 ? error : text;
}

/**
 * Returns a call's arguments as an object, which every provider requires. Arguments that are not a JSON object are kept
 * under the name that the AI SDK uses, so that the model can read them.
 */
export function argumentsObject(value: JsonValue): JsonObject {
  return asObject(typeof value === "string" ? parseJson(value) : value) ?? { rawInvalidInput: value };
}

/** Parses JSON. Undefined if the text is not JSON. */
function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function asObject(value: JsonValue | undefined): JsonObject | undefined {
  return isPlainObject(value) ? (value as JsonObject) : undefined; // a plain object inside JSON is a JSON object
}

/** The keys of metadata, named as in the AI SDK packages. */
export type MetadataOwner = "openai" | "anthropic" | "google";

/** Returns the metadata of one provider in a part. */
export function metadataOf(part: { readonly metadata?: PartMetadata }, owner: MetadataOwner): JsonObject {
  return part.metadata?.[owner] ?? {};
}

/** Returns a field of the metadata if it is text. */
export function textField(
  part: { readonly metadata?: PartMetadata },
  owner: MetadataOwner,
  field: string,
): string | undefined {
  const value = metadataOf(part, owner)[field];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** JSON that callers may change. */
export type MutableJson = string | number | boolean | null | MutableJson[] | { [key: string]: MutableJson | undefined };

/** Returns a mutable copy. Entries are frozen, and some packages write into their input. */
export function thaw(value: JsonValue): MutableJson {
  if (typeof value !== "object" || value === null) return value;
  // Array.isArray does not exclude readonly arrays from the type, so the cast is needed.
  return Array.isArray(value) ? value.map(thaw) : thawObject(value as JsonObject);
}

export function thawObject(value: JsonObject): { [key: string]: MutableJson | undefined } {
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, item === undefined ? undefined : thaw(item)]),
  );
}

/** How exactly OpenAI looks at an image. */
export type ImageDetail = "auto" | "low" | "high";

/** The bytes of a file, as a URL or base64. */
export type FileSource = { readonly url: string } | { readonly base64: string };

export function sourceOf({ data }: FileContentPart): FileSource {
  if (!("blob" in data)) return data;
  throw fileUnsendable("A file is still a blob of the store; replace its data by base64 or a URL first.");
}

/** Returns the URL of a file, or a data URL with its bytes. */
export function urlOf(part: FileContentPart): string {
  const source = sourceOf(part);
  return "url" in source ? source.url : `data:${mediaTypeOf(part)};base64,${source.base64}`;
}

const OPENAI_FILES = /^(image\/(jpeg|png|gif|webp)|application\/pdf)$/;
const GEMINI_FILES =
  /^(image\/(jpeg|png|webp|heic|heif)|(audio|video|text)\/.+|application\/(pdf|json|xml|rtf|x-(javascript|typescript|python-code)))$/;

/** The media types of files that each API takes, and each package of the AI SDK for its own API. */
const FILE_TYPES = {
  "openai-chat": /^(image\/(jpeg|png|gif|webp)|application\/pdf|audio(\/(wav|mp3|mpeg|\*))?)$/,
  "openai-responses": OPENAI_FILES,
  openai: OPENAI_FILES,
  anthropic: /^(image\/(jpeg|png|gif|webp)|application\/pdf|text\/plain)$/,
  gemini: GEMINI_FILES,
  google: GEMINI_FILES,
} satisfies { [api in FileTaker]: RegExp };

/** An API, or a package of the AI SDK for it. */
export type FileTaker = ProviderApi | MetadataOwner;

/** Anthropic's limit for the base64 of an image. */
const MAX_IMAGE = 5 * 1024 * 1024;

/** Whether the file is of a type and size that an API takes. */
function takesFile(part: FileContentPart, api: FileTaker): boolean {
  const type = mediaTypeOf(part);
  const isUrl = !("base64" in part.data);
  if (api === "anthropic" && !isUrl && part.data.base64.length > MAX_IMAGE && familyOf(part) === "image") return false;
  // The server reads the type of an image from its URL. Only Gemini requires it in the request.
  if (isUrl && /^image(\/\*?)?$/.test(type)) return api !== "gemini";
  // OpenAI's servers download documents of many types.
  return FILE_TYPES[api].test(type) || (api === "openai-responses" && isUrl && familyOf(part) !== "image");
}

/** The media type as APIs know it. For an image its bytes decide: Anthropic refuses one of another type than it is sent as. */
export function mediaTypeOf({ mediaType, data }: FileContentPart): string {
  if (mediaType === "image/jpg") return "image/jpeg";
  return ("base64" in data && /^image(\/|$)/.test(mediaType) && imageOf(data.base64)) || mediaType;
}

/** The messages with a text in place of each file that is not taken: its own, or a note. The same list if all are taken. */
export function withFileNotes(
  messages: readonly Message[],
  isTaken: (file: FileContentPart) => boolean,
): readonly Message[] {
  const isLeftOut = (part: Part): part is FileContentPart => part.type === "file" && !isTaken(part);
  const made = messages.map((message): Message => {
    if (message.role === "system" || typeof message.content === "string") return message;
    if (!message.content.some(isLeftOut)) return message;
    const content = message.content.map(
      (part): Part => (isLeftOut(part) ? { type: "text", text: textOfFile(part) ?? fileNote(part) } : part),
    );
    return { ...message, content };
  });
  return made.some((message, index) => message !== messages[index]) ? made : messages;
}

/** The text of a text file, behind its name. It counts as its text in a budget. Undefined for other files. */
function textOfFile({ mediaType, filename = "A file", data }: FileContentPart): string | undefined {
  if (!("base64" in data) || !/^(text\/|application\/(.+\+)?(json|xml|yaml|javascript)\b)/i.test(mediaType))
    return undefined;
  const text = decodeText(data.base64);
  return text && `[${filename}, ${mediaType}]\n${text}`;
}

/** The messages without the files and names that an API refuses. One of them would end the conversation. */
export function messagesFor(api: FileTaker, messages: readonly Message[]): readonly Message[] {
  checkMessages(messages);
  const taken = withFileNotes(messages, (file) => takesFile(file, api)).map(withNames);
  return api === "google" && taken.some(hasOtherTexts) ? taken.map(withOneText) : taken;
}

/** Anthropic's limit for the title of a document. It refuses an empty one too. */
const MAX_FILE_NAME = 500;

function withNames(message: Message): Message {
  if (message.role === "system" || typeof message.content === "string" || !message.content.some(isNamedOddly))
    return message;
  const content = message.content.map((part): Part => {
    if (!isNamedOddly(part)) return part;
    const { filename = "", ...file } = part;
    return { ...file, ...(filename !== "" && { filename: filename.slice(0, MAX_FILE_NAME).toWellFormed() }) };
  });
  return { ...message, content };
}

function isNamedOddly(part: Part): part is FileContentPart {
  return part.type === "file" && (part.filename === "" || (part.filename?.length ?? 0) > MAX_FILE_NAME);
}

/** Google's package makes a result of each text for Gemini 2, which takes one result for each call. */
function withOneText(message: Message): Message {
  if (!hasOtherTexts(message)) return message;
  const files = partsOf(message.content).filter((part) => part.type === "file");
  const text = textsIn(message).join("\n") || "Tool executed successfully."; // the words of the package
  return { ...message, content: [{ type: "text", text }, ...files] };
}

function hasOtherTexts(message: Message): message is ToolMessage {
  if (message.role !== "tool" || message.isError === true) return false;
  return textsIn(message).length !== 1 && partsOf(message.content).length > 0;
}

function textsIn({ content }: Message): readonly string[] {
  return partsOf(content).flatMap((part) => (part.type === "text" ? [part.text] : []));
}

/** Returns the first half of a media type: `image` for `image/png`. */
export function familyOf({ mediaType }: FileContentPart): string {
  return mediaType.split("/")[0] ?? "";
}

/** Decodes base64 to text. Undefined if it is not base64 or not UTF-8. */
export function decodeText(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The tools that every API takes. A tool that a provider defines needs the package of this provider. */
export function functionTools(tools: readonly ToolSpec[]): readonly ToolSpec[] {
  return tools.filter(({ provider }) => provider === undefined);
}
