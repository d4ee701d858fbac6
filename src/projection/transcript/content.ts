import { noteOf } from "../../thread/file-note.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { Content, FilePart, Part, TextPart } from "../../thread/message.ts";

/** A payload that does not fit its kind. The message names the field, never its value. */
export class Unreadable extends Error {}

/** Checks the content of a payload. */
export function contentOf(value: unknown, field = "content"): Content {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) throw new Unreadable(`${field} must be text or a list of parts`);
  for (const [index, part] of value.entries()) checkPart(part, `${field}[${index}]`);
  return value as readonly Part[]; // each was checked
}

/** The content that a user message may hold: texts that are not blank, and files. Undefined when nothing is left. */
export function userContent(content: Content): Content | undefined {
  if (typeof content === "string") return isBlank(content) ? undefined : content;
  const parts = tidied(content);
  return parts.some(isTextOrFile) ? parts : undefined;
}

/** The same for an assistant message. Calls alone are enough for a message. */
export function assistantContent(content: Content, hasCalls: boolean): Content | undefined {
  if (typeof content === "string") return isBlank(content) ? (hasCalls ? "" : undefined) : content;
  const parts = content.map(legal).flatMap(spoken);
  if (hasCalls || parts.some((part) => part.type === "text" && part.text !== "")) return same(parts, content);
  const files = parts.filter((part) => part.type === "file");
  // Only Gemini accepts an assistant message with a file and no text.
  const note: TextPart = { type: "text", text: files.map(noteOf).join("\n") };
  const first = parts.findIndex((part) => part.type === "file");
  return files.length === 0 ? undefined : [...parts.slice(0, first), note, ...parts.slice(first)];
}

/** The content that a result may hold. An error holds only text, because Anthropic refuses files in it. */
export function resultContent(content: Content, isError: boolean): Content {
  if (typeof content === "string") return content;
  const parts = tidied(content);
  return isError
    ? parts.map((part): Part => (part.type === "file" ? { type: "text", text: noteOf(part) } : part))
    : parts;
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

function tidied(content: readonly Part[]): readonly Part[] {
  return same(
    content.map(legal).filter((part) => part.type !== "text" || !isBlank(part.text)),
    content,
  );
}

/** Keeps the signature in the metadata of a blank text, but empties the text, because blank text is refused. */
function spoken(part: Part): readonly Part[] {
  if (part.type !== "text" || !isBlank(part.text)) return [part];
  if (part.metadata === undefined) return [];
  return [part.text === "" ? part : { ...part, text: "" }];
}

function legal(part: Part): Part {
  return part.type === "file" && "url" in part.data && !URL.canParse(part.data.url)
    ? { type: "text", text: noteOf(part) }
    : part;
}

/** Returns the original list when nothing changed, so that it can be compared by identity. */
function same(parts: readonly Part[], content: readonly Part[]): readonly Part[] {
  return parts.length === content.length && parts.every((part, index) => part === content[index]) ? content : parts;
}

function isTextOrFile(part: Part): part is TextPart | FilePart {
  return part.type === "text" || part.type === "file";
}

/** The text fields that rendering and counting require, by type of part. */
const TEXTS: { readonly [type: string]: readonly string[] } = {
  text: ["text"],
  thinking: ["text"],
  file: ["mediaType"],
  source: [],
  custom: [],
  provider_call: ["id", "name"],
  provider_result: ["id", "name"],
  tool_call: ["id"],
};

function checkPart(part: unknown, path: string): void {
  if (!isPlainObject(part)) throw new Unreadable(`${path} must be a part`);
  const type = part["type"];
  const texts = typeof type === "string" && Object.hasOwn(TEXTS, type) ? TEXTS[type] : undefined;
  if (texts === undefined) {
    const known = Object.keys(TEXTS).join(", ");
    throw new Unreadable(`${path}.type must be one of ${known}; parts of the AI SDK have other types`);
  }
  for (const field of texts) {
    if (typeof part[field] !== "string") throw new Unreadable(`${path}.${field} must be text`);
  }
  if (type === "file" && !isFileData(part["data"])) throw new Unreadable(`${path}.data must hold url, base64 or blob`);
  if (part["metadata"] !== undefined && !isPlainObject(part["metadata"])) {
    throw new Unreadable(`${path}.metadata must be an object`);
  }
}

function isFileData(data: unknown): data is JsonObject {
  return isPlainObject(data) && [data["url"], data["base64"], data["blob"]].some((value) => typeof value === "string");
}
