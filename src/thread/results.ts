import { isPlainObject, type JsonValue } from "./json.ts";

/** A tool's result as a model reads it. */
export interface ResultText {
  readonly content: string;
  readonly isError: boolean;
}

/** Text goes as it is, anything else as JSON, an error as `{"error": ...}`; a bare value is a success. */
export function resultText(result: JsonValue): ResultText {
  if (!isEnvelope(result)) return { content: textOf(result), isError: false };
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
