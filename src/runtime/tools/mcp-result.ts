import { isPlainObject } from "../../thread/json.ts";
import type { Part } from "../../thread/message.ts";
import { contentOf } from "./ai-sdk-output.ts";
import { resultTextOf } from "./json-result.ts";
import { reported, type ToolAnswer } from "./outcome.ts";

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
  const parts = content.flatMap(partOf);
  const told =
    parts.length === 0 && structuredContent !== undefined ? resultTextOf(structuredContent) : contentOf(parts);
  return isError === true ? reported(name, told) : { content: told, isError: false };
}

function partOf(block: unknown): readonly Part[] {
  if (!isPlainObject(block)) return [];
  switch (block["type"]) {
    case "text":
      return [textPart(block["text"])];
    case "image":
    case "audio":
      return [filePart(block["data"], block["mimeType"], `${block["type"]}/*`)];
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
  return typeof blob === "string" ? filePart(blob, mimeType, "application/octet-stream") : textPart(uri);
}

function filePart(data: unknown, mediaType: unknown, usual: string): Part {
  if (typeof data !== "string") return textPart("");
  return { type: "file", mediaType: isText(mediaType) ? mediaType : usual, data: { base64: data } };
}

function textPart(text: unknown): Part {
  return { type: "text", text: isText(text) ? text.toWellFormed() : "" };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
