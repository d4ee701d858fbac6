import { isPlainObject, type JsonValue } from "./json.ts";

/** A tool's result as a model reads it. */
export interface ResultText {
  readonly content: string;
  readonly isError: boolean;
}

/**
 * Text goes as it is, anything else as JSON, an error as `{"error": ...}`; a bare value is a success. An envelope is exactly
 * `{ ok: true, value }` or `{ ok: false, error }`: what has other fields beside is data, of which nothing is left out.
 * `allowsMore` is for projector heddle/1, which left those fields out.
 */
export function resultText(
  result: JsonValue,
  { allowsMore = false }: { readonly allowsMore?: boolean } = {},
): ResultText {
  if (!isEnvelope(result) || (!allowsMore && Object.keys(result).length !== 2)) {
    return { content: textOf(result), isError: false };
  }
  if (result.ok) return { content: textOf(result["value"] ?? null), isError: false };
  return { content: JSON.stringify({ error: result["error"] ?? null }), isError: true };
}

/** Text as it is, anything else as JSON. */
export function textOf(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isEnvelope(value: JsonValue): value is { readonly ok: boolean; readonly [key: string]: JsonValue } {
  return (
    isPlainObject(value) && ((value["ok"] === true && "value" in value) || (value["ok"] === false && "error" in value))
  );
}
