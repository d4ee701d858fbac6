import { isPlainObject } from "../../thread/json.ts";
import { type Content, type FileContentPart, fileNote, type Part, type PartMetadata } from "../../thread/message.ts";
import { base64Of } from "../model/provider-values.ts";
import { jsonOf, resultTextOf } from "./json-result.ts";
import { reported, type ToolAnswer } from "./outcome.ts";

/** What `toModelOutput` gives, in the words of the AI SDK; anything else is taken as a result. */
export function outputAnswer(name: string, output: unknown, limit: number): ToolAnswer {
  const { type, value, reason } = isPlainObject(output) ? output : {};
  switch (type) {
    case "text":
    case "json":
      return { content: resultTextOf(value, limit), isError: false };
    case "error-text":
      return reported(name, resultTextOf(value, limit));
    case "error-json":
      return reported(name, errorText(value, limit));
    case "execution-denied":
      return reported(
        name,
        errorText({ type: "denied", message: resultTextOf(reason ?? "The call was denied.", limit) }, limit),
      );
    case "content":
      return { content: contentParts(Array.isArray(value) ? value : []), isError: false };
    default:
      return { content: resultTextOf(output, limit), isError: false };
  }
}

export function errorText(error: unknown, limit: number): string {
  return resultTextOf({ error: error ?? null }, limit);
}

/** A single text is told as text. */
export function contentParts(values: readonly unknown[]): Content {
  return contentOf(values.flatMap(partOf));
}

function contentOf(parts: readonly Part[]): Content {
  const [first, ...others] = parts;
  if (first === undefined) return "";
  return first.type === "text" && first.metadata === undefined && others.length === 0 ? first.text : parts;
}

type Fields = { readonly [field: string]: unknown };

/** Parts of kinds that only a provider knows have no place in a result, and are left out. */
function partOf(value: unknown): readonly Part[] {
  if (!isPlainObject(value)) return [];
  const { type } = value;
  const image = typeof type === "string" && type.startsWith("image");
  switch (type) {
    case "text":
      return [{ type: "text", text: textIn(value["text"]), ...metadataIn(value) }];
    case "file":
      return filePart(value, value["data"], "application/octet-stream");
    case "media":
    case "file-data":
    case "image-data":
      return filePart(value, { type: "data", data: value["data"] }, image ? "image/*" : "application/octet-stream");
    case "file-url":
    case "image-url":
      return filePart(value, { type: "url", url: value["url"] }, image ? "image/*" : "application/octet-stream");
    case "file-id":
    case "image-file-id":
    case "file-reference":
    case "image-file-reference":
      return filePart(value, undefined, image ? "image/*" : "application/octet-stream");
    default:
      return [];
  }
}

/** A file at the provider's own place cannot be told to another: the model reads that it was there. */
function filePart(fields: Fields, given: unknown, usual: string): readonly Part[] {
  const mediaType = typeof fields["mediaType"] === "string" ? fields["mediaType"] : usual;
  const name = typeof fields["filename"] === "string" ? { filename: fields["filename"].toWellFormed() } : {};
  const inline = isPlainObject(given) && given["type"] === "text" ? given["text"] : undefined;
  if (typeof inline === "string") return [{ type: "text", text: inline.toWellFormed(), ...metadataIn(fields) }];
  const file = { type: "file", mediaType, ...name } as const;
  const data = dataOf(given);
  if (data === undefined) return [{ type: "text", text: fileNote({ ...file, data: { url: "" } }) }];
  return [{ ...file, data, ...metadataIn(fields) }];
}

/** Tagged as in the AI SDK 7, our own `{ url }` and `{ base64 }`, or bare as before. */
function dataOf(given: unknown): FileContentPart["data"] | undefined {
  if (given instanceof URL) return { url: given.href };
  if (given instanceof Uint8Array) return { base64: base64Of(given) };
  if (given instanceof ArrayBuffer) return { base64: base64Of(new Uint8Array(given)) };
  if (typeof given === "string") return /^(https?|data):/.test(given) ? { url: given } : { base64: given };
  if (!isPlainObject(given)) return undefined;
  const { type, data, url, base64, blob } = given;
  if (type === "data") return dataOf(data);
  if (url instanceof URL) return { url: url.href };
  if (typeof url === "string") return { url };
  if (typeof base64 === "string") return { base64 };
  return typeof blob === "string" ? { blob } : undefined;
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value.toWellFormed() : "";
}

/** What a provider is to be told with the part: cache marks, for one. */
function metadataIn(fields: Fields): { readonly metadata?: PartMetadata } {
  const given = fields["metadata"] ?? fields["providerOptions"];
  if (!isPlainObject(given) || !Object.values(given).every(isPlainObject)) return {};
  return { metadata: jsonOf(given) as PartMetadata }; // objects by provider, and JSON by now
}

/** What a tool of an MCP server gives. */
export interface McpResult {
  readonly content: readonly unknown[];
  readonly isError?: boolean | undefined;
  readonly structuredContent?: unknown;
}

const KEYS: ReadonlySet<string> = new Set(["content", "isError", "structuredContent", "_meta"]);
const BLOCKS: ReadonlySet<unknown> = new Set(["text", "image", "audio", "resource", "resource_link"]);

/** So that no other data is taken for one, every field and every block must be known. */
export function isMcpResult(value: unknown): value is McpResult {
  if (!isPlainObject(value) || !Array.isArray(value["content"])) return false;
  const { content } = value;
  const said = content.length > 0 || value["isError"] === true || value["structuredContent"] !== undefined;
  return said && Object.keys(value).every((key) => KEYS.has(key)) && content.every(isBlock);
}

function isBlock(block: unknown): boolean {
  return isPlainObject(block) && BLOCKS.has(block["type"]);
}

/** Structured content is told when there is nothing else: servers repeat it as text. */
export function mcpAnswer(name: string, { content, isError, structuredContent }: McpResult): ToolAnswer {
  const parts = content.flatMap(mcpPart);
  const told =
    parts.length === 0 && structuredContent !== undefined ? resultTextOf(structuredContent) : contentOf(parts);
  return isError === true ? reported(name, told) : { content: told, isError: false };
}

function mcpPart(block: unknown): readonly Part[] {
  if (!isPlainObject(block)) return [];
  switch (block["type"]) {
    case "text":
      return [textPart(block["text"])];
    case "image":
    case "audio":
      return [mcpFile(block["data"], block["mimeType"], `${block["type"]}/*`)];
    case "resource":
      return isPlainObject(block["resource"]) ? [resourcePart(block["resource"])] : [];
    case "resource_link":
      return [textPart([block["title"] ?? block["name"], block["uri"], block["description"]].filter(isText).join(" "))];
    default:
      return [];
  }
}

function resourcePart({ text, blob, mimeType, uri }: { readonly [field: string]: unknown }): Part {
  if (typeof text === "string") return textPart(text);
  return typeof blob === "string" ? mcpFile(blob, mimeType, "application/octet-stream") : textPart(uri);
}

function mcpFile(data: unknown, mediaType: unknown, usual: string): Part {
  if (typeof data !== "string") return textPart("");
  return { type: "file", mediaType: isText(mediaType) ? mediaType : usual, data: { base64: data } };
}

function textPart(text: unknown): Part {
  return { type: "text", text: isText(text) ? text.toWellFormed() : "" };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
