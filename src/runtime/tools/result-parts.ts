import { isPlainObject } from "../../thread/json.ts";
import { type Content, type FileContentPart, fileNote, type Part, type PartMetadata } from "../../thread/message.ts";
import { base64Of } from "../model/provider-values.ts";
import { jsonOf, resultTextOf } from "./json-result.ts";
import { returnedError, type ToolAnswer } from "./outcome.ts";

/** The answer for the output of `toModelOutput`, in a form of the AI SDK. Any other value is the result itself. */
export function outputAnswer(name: string, output: unknown, limit: number): ToolAnswer {
  const { type, value, reason } = isPlainObject(output) ? output : {};
  switch (type) {
    case "text":
    case "json":
      return { content: resultTextOf(value, limit), isError: false };
    case "error-text":
      return returnedError(name, resultTextOf(value, limit));
    case "error-json":
      return returnedError(name, errorText(value, limit));
    case "execution-denied":
      return returnedError(
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

/** The content for a list of parts. A single text becomes a string. */
export function contentParts(values: readonly unknown[]): Content {
  return contentOf(values.flatMap(partOf));
}

function contentOf(parts: readonly Part[]): Content {
  const [first, ...others] = parts;
  if (first === undefined) return "";
  return first.type === "text" && first.metadata === undefined && others.length === 0 ? first.text : parts;
}

type Fields = { readonly [field: string]: unknown };

/** Converts a part. Parts of unknown types are left out. */
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

/** A file part. A file that is only an id of one provider becomes a note, because other providers cannot read it. */
function filePart(fields: Fields, given: unknown, fallback: string): readonly Part[] {
  const mediaType = typeof fields["mediaType"] === "string" ? fields["mediaType"] : fallback;
  const name = typeof fields["filename"] === "string" ? { filename: fields["filename"].toWellFormed() } : {};
  const inline = isPlainObject(given) && given["type"] === "text" ? given["text"] : undefined;
  if (typeof inline === "string") return [{ type: "text", text: inline.toWellFormed(), ...metadataIn(fields) }];
  const file = { type: "file", mediaType, ...name } as const;
  const data = dataOf(given);
  if (data === undefined) return [{ type: "text", text: fileNote({ ...file, data: { url: "" } }) }];
  return [{ ...file, data, ...metadataIn(fields) }];
}

/** File data with a type as in the AI SDK 7, as `{ url }` or `{ base64 }`, or plain as in earlier versions. */
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

/** Metadata for a provider, such as cache marks. */
function metadataIn(fields: Fields): { readonly metadata?: PartMetadata } {
  const given = fields["metadata"] ?? fields["providerOptions"];
  if (!isPlainObject(given) || !Object.values(given).every(isPlainObject)) return {};
  return { metadata: jsonOf(given) as PartMetadata }; // jsonOf returns JSON, and all values are objects
}

/** A result of an MCP tool. */
export interface McpResult {
  readonly content: readonly unknown[];
  readonly isError?: boolean | undefined;
  readonly structuredContent?: unknown;
}

const MCP_KEYS: ReadonlySet<string> = new Set(["content", "isError", "structuredContent", "_meta"]);
const MCP_BLOCKS: ReadonlySet<unknown> = new Set(["text", "image", "audio", "resource", "resource_link"]);

/** Every field and block must be known, so that other data is not taken for an MCP result. */
export function isMcpResult(value: unknown): value is McpResult {
  if (!isPlainObject(value) || !Array.isArray(value["content"])) return false;
  const { content } = value;
  const hasResult = content.length > 0 || value["isError"] === true || value["structuredContent"] !== undefined;
  return hasResult && Object.keys(value).every((key) => MCP_KEYS.has(key)) && content.every(isBlock);
}

function isBlock(block: unknown): boolean {
  return isPlainObject(block) && MCP_BLOCKS.has(block["type"]);
}

/** Uses the structured content only without other content, because servers repeat it as text. */
export function mcpAnswer(name: string, { content, isError, structuredContent }: McpResult): ToolAnswer {
  const parts = content.flatMap(mcpPart);
  const shown =
    parts.length === 0 && structuredContent !== undefined ? resultTextOf(structuredContent) : contentOf(parts);
  return isError === true ? returnedError(name, shown) : { content: shown, isError: false };
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

function mcpFile(data: unknown, mediaType: unknown, fallback: string): Part {
  if (typeof data !== "string") return textPart("");
  return { type: "file", mediaType: isText(mediaType) ? mediaType : fallback, data: { base64: data } };
}

function textPart(text: unknown): Part {
  return { type: "text", text: isText(text) ? text.toWellFormed() : "" };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
