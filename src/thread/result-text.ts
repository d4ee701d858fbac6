import { isPlainObject, type JsonValue } from "./json.ts";

/** The result of a tool as a model reads it. */
interface ResultText {
  readonly content: string;
  readonly isError: boolean;
}

/**
 * Text stays as it is, other values become JSON, and an error becomes `{"error": ...}`. A bare value is a success. An
 * envelope is exactly `{ ok: true, value }` or `{ ok: false, error }`; an object with more fields is data. With
 * `allowsMore`, as in projector heddle/1, it counts as an envelope and the other fields are left out.
 */
export function resultText(
  result: JsonValue,
  { allowsMore = false }: { readonly allowsMore?: boolean } = {},
): ResultText {
  if (!isEnvelope(result) || (!allowsMore && Object.keys(result).length !== 2)) {
    return { content: valueText(result), isError: false };
  }
  if (result.ok) return { content: valueText(result["value"] ?? null), isError: false };
  return { content: JSON.stringify({ error: result["error"] ?? null }), isError: true };
}

/** Text stays as it is. Other values become JSON. */
export function valueText(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isEnvelope(value: JsonValue): value is { readonly ok: boolean; readonly [key: string]: JsonValue } {
  return (
    isPlainObject(value) && ((value["ok"] === true && "value" in value) || (value["ok"] === false && "error" in value))
  );
}

/** The synthetic result of a call that has none. */
export const INTERRUPTED: ResultText = {
  content: JSON.stringify({
    error: { type: "interrupted", message: "The call was interrupted; its outcome is unknown." },
  }),
  isError: true,
};
