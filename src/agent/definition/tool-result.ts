const MARK = Symbol.for("heddle.tool-result");

/** A part of a result: text, or a file as bytes, base64 text or URL. Parts of the AI SDK work too. */
export type ToolResultPart =
  | { readonly type: "text"; readonly text: string; readonly metadata?: object }
  | {
      readonly type: "file";
      readonly mediaType: string;
      readonly data: Uint8Array | URL | string | { readonly base64: string } | { readonly url: string };
      readonly filename?: string;
      readonly metadata?: object;
    }
  | { readonly type: string; readonly [field: string]: unknown };

type Kind = "ok" | "content" | "fail" | "mcp";

/** A marked result of a tool. Made only by `ok`, `content` and `fail`. */
export interface ToolResult<Value = unknown> {
  readonly type: Kind;
  readonly value: Value;
}

/**
 * A result that is data, whatever it looks like. Same effect as returning the value itself.
 *
 * @example
 * const execute = () => ok({ celsius: 18 });
 */
export function ok<Value>(value: Value): ToolResult<Value> {
  return marked("ok", value);
}

/**
 * A result of text and files. The model is shown the files.
 *
 * @example
 * const execute = async () => content([{ type: "text", text: "The page" }, { type: "file", mediaType: "image/png", data: { url: "https://example.com/a.png" } }]);
 */
export function content(parts: readonly ToolResultPart[]): ToolResult<readonly ToolResultPart[]> {
  return marked("content", parts);
}

/**
 * An error result without an exception. The model reads `{"error": ...}`, with only the message of an `Error`.
 *
 * @example
 * const execute = () => fail({ type: "no_seats", message: "The train is full." });
 */
export function fail(error: unknown): ToolResult {
  return marked("fail", error instanceof Error ? error.message : error);
}

/** A result from an MCP server. Used by `mcpTools`. */
export function mcpResult(value: unknown): ToolResult {
  return marked("mcp", value);
}

/** The mark is a registered symbol: it works across copies of this package, and JSON cannot contain it. */
function marked<Value>(type: Kind, value: Value): ToolResult<Value> {
  return Object.freeze({ type, value, [MARK]: true });
}

export function isToolResult(value: unknown): value is ToolResult {
  return typeof value === "object" && value !== null && Object.hasOwn(value, MARK);
}
