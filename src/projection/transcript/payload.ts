import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import {
  type Content,
  type FileContentPart,
  fileNote,
  PART_TEXTS,
  type Part,
  type PartMetadata,
  type TextContentPart,
  type ThinkingPart,
  type ToolCall,
} from "../../thread/message.ts";
import { readApproval } from "../../thread/messages/approval.ts";

/** Thrown if a payload does not fit its kind. The message names the field, never its value. */
export class UnreadablePayload extends Error {}

/** Checks the content of a payload. */
export function contentOf(value: unknown, field = "content"): Content {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) throw new UnreadablePayload(`${field} must be text or a list of parts`);
  for (const [index, part] of value.entries()) checkPart(part, `${field}[${index}]`);
  return value as readonly Part[]; // every part was checked
}

/** Checks content before it is stored. A file that no provider can read would make every later call fail too. */
export function newContent(value: unknown): Content {
  const content = contentOf(value);
  for (const [index, part] of typeof content === "string" ? [] : content.entries()) {
    const problem = part.type === "file" ? dataProblem(part.data) : undefined;
    if (problem !== undefined) throw new UnreadablePayload(`content[${index}].data.${problem}`);
  }
  return content;
}

/** A part, or a note in place of a file that no provider can read. */
export function readablePart(part: Part): Part {
  const problem = part.type === "file" ? dataProblem(part.data) : undefined;
  return part.type !== "file" || problem === undefined
    ? part
    : { type: "text", text: `${fileNote(part)} Its ${problem}.` };
}

const NOT_BASE64 = /[^\w+/=\s-]/;

function dataProblem(data: FileContentPart["data"]): string | undefined {
  if ("url" in data) return URL.canParse(data.url) ? undefined : "url must be a URL";
  const isWrong = "base64" in data && (data.base64 === "" || NOT_BASE64.test(data.base64));
  return isWrong ? "base64 must be base64, without data:" : undefined;
}

/**
 * Returns the content that a user message may have: files, and texts that are not blank. Undefined if that is empty.
 */
export function userContent(content: Content): Content | undefined {
  if (typeof content === "string") return isBlank(content) ? undefined : content;
  const parts = withoutBlankTexts(content);
  return parts.some(isTextOrFile) ? parts : undefined;
}

/** Returns the content that an assistant message may have. A message with calls may have no content. */
export function assistantContent(content: Content, hasCalls: boolean): Content | undefined {
  if (typeof content === "string") return isBlank(content) ? (hasCalls ? "" : undefined) : content;
  const parts = content.map(withNoteForInvalidUrl).flatMap(withoutBlankText);
  if (hasCalls || parts.some((part) => part.type === "text" && part.text !== ""))
    return sameListIfEqual(parts, content);
  const files = parts.filter((part) => part.type === "file");
  // Replaces files with a text, because only Gemini accepts an assistant message with a file and no text.
  const note: TextContentPart = { type: "text", text: files.map((file) => fileNote(file)).join("\n") };
  const first = parts.findIndex((part) => part.type === "file");
  return files.length === 0 ? undefined : [...parts.slice(0, first), note, ...parts.slice(first)];
}

/** Returns the content that a tool result may have. An error gets only text, because Anthropic refuses files in it. */
export function resultContent(content: Content, isError: boolean): Content {
  if (typeof content === "string") return content;
  const parts = withoutBlankTexts(content);
  return isError
    ? parts.map((part): Part => (part.type === "file" ? { type: "text", text: fileNote(part) } : part))
    : parts;
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

function withoutBlankTexts(content: readonly Part[]): readonly Part[] {
  return sameListIfEqual(
    content.map(withNoteForInvalidUrl).filter((part) => part.type !== "text" || !isBlank(part.text)),
    content,
  );
}

/** Removes a blank text, which providers refuse. If its metadata has a signature, the part stays with an empty text. */
function withoutBlankText(part: Part): readonly Part[] {
  if (part.type !== "text" || !isBlank(part.text)) return [part];
  if (part.metadata === undefined) return [];
  return [part.text === "" ? part : { ...part, text: "" }];
}

function withNoteForInvalidUrl(part: Part): Part {
  return part.type === "file" && "url" in part.data && !URL.canParse(part.data.url)
    ? { type: "text", text: fileNote(part) }
    : part;
}

/** Returns the original list if nothing changed, so that callers can compare by identity. */
function sameListIfEqual(parts: readonly Part[], content: readonly Part[]): readonly Part[] {
  return parts.length === content.length && parts.every((part, index) => part === content[index]) ? content : parts;
}

function isTextOrFile(part: Part): part is TextContentPart | FileContentPart {
  return part.type === "text" || part.type === "file";
}

function checkPart(part: unknown, path: string): void {
  if (!isPlainObject(part)) throw new UnreadablePayload(`${path} must be a part`);
  const type = part["type"];
  const texts = typeof type === "string" && Object.hasOwn(PART_TEXTS, type) ? PART_TEXTS[type] : undefined;
  if (texts === undefined) {
    const known = Object.keys(PART_TEXTS).join(", ");
    throw new UnreadablePayload(`${path}.type must be one of ${known}; parts of the AI SDK have other types`);
  }
  for (const field of texts) {
    if (typeof part[field] !== "string") throw new UnreadablePayload(`${path}.${field} must be text`);
  }
  if (type === "file" && !isFileData(part["data"]))
    throw new UnreadablePayload(`${path}.data must hold url, base64 or blob`);
  if (part["metadata"] !== undefined && !isPlainObject(part["metadata"])) {
    throw new UnreadablePayload(`${path}.metadata must be an object`);
  }
}

function isFileData(data: unknown): data is JsonObject {
  return isPlainObject(data) && [data["url"], data["base64"], data["blob"]].some((value) => typeof value === "string");
}

/** Reads an optional text field. null counts as missing. */
export function textField(payload: JsonObject, field: string): string | undefined {
  const value = payload[field];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  throw new UnreadablePayload(`${field} must be text`);
}

/** Reads a tool call. A call without an id gets "" here, and a generated id when it is shown. */
export function callOf(value: unknown, path: string): ToolCall {
  if (!isPlainObject(value)) throw new UnreadablePayload(`${path} must be a call`);
  const { id = "", name, arguments: args = {}, metadata, approval } = value as JsonObject; // every entry payload is a JSON object
  if (typeof id !== "string") throw new UnreadablePayload(`${path}.id must be text`);
  if (typeof name !== "string") throw new UnreadablePayload(`${path}.name must be text`);
  const call = { id, name, arguments: args, ...readApproval(approval) };
  if (metadata === undefined) return call;
  if (!isPlainObject(metadata)) throw new UnreadablePayload(`${path}.metadata must be an object`);
  return { ...call, metadata: metadata as PartMetadata }; // metadata is grouped by provider; the provider formatters check the rest
}

export function callsOf(value: JsonValue | undefined): readonly ToolCall[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new UnreadablePayload("toolCalls must be a list of calls");
  return value.map((call, index) => callOf(call, `toolCalls[${index}]`));
}

/** Adds thinking before the content. Each thinking part names the model that can read it. */
export function withThinking(content: Content, thinking: JsonValue | undefined, model: string | undefined): Content {
  const parts = thinkingParts(thinking, modelName(model));
  if (parts.length === 0) return content;
  return [...parts, ...(typeof content === "string" ? textParts(content) : content)];
}

/** Splits `provider:model` or `provider/model`. */
export function modelName(model: string | undefined): { readonly provider?: string; readonly model?: string } {
  const [, provider, name] = /^([^:/]+)[:/](.+)$/s.exec(model ?? "") ?? [];
  return provider === undefined || name === undefined ? {} : { provider, model: name };
}

/** Adds the model to each thinking part that names none. */
export function withModelOfThinking(content: Content, model: string | undefined): Content {
  const madeBy = modelName(model);
  if (typeof content === "string" || madeBy.model === undefined) return content;
  const isUnnamed = (part: Part): part is ThinkingPart =>
    part.type === "thinking" && (part.provider === undefined || part.model === undefined);
  return content.some(isUnnamed)
    ? content.map((part) => (isUnnamed(part) ? thinkingPart(part, madeBy) : part))
    : content;
}

function textParts(text: string): Content & object {
  return text === "" ? [] : [{ type: "text", text }];
}

type ModelName = ReturnType<typeof modelName>;

function thinkingParts(thinking: JsonValue | undefined, madeBy: ModelName): readonly ThinkingPart[] {
  if (thinking === undefined || thinking === null || thinking === "") return [];
  if (typeof thinking === "string") return [{ type: "thinking", text: thinking, ...madeBy }];
  return (Array.isArray(thinking) ? thinking : [thinking]).map((part) => thinkingPart(part, madeBy));
}

function thinkingPart(value: unknown, madeBy: ModelName): ThinkingPart {
  if (!isPlainObject(value) || typeof value["text"] !== "string")
    throw new UnreadablePayload("thinking must be text or parts");
  const { type: _type, text, ...rest } = value;
  return { type: "thinking", text, ...madeBy, ...rest } as ThinkingPart; // every payload is a JSON object, and text is text
}
