import { noteOf } from "../thread/file-note.ts";
import type { JsonValue } from "../thread/json.ts";
import type { FilePart, TextPart, ToolMessage } from "../thread/message.ts";
import { asObject, parseJson } from "./arguments.ts";
import { partsOf } from "./parts.ts";

/** The output of a tool in the three forms that providers distinguish. */
export type Result =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "error"; readonly error: JsonValue }
  | { readonly type: "parts"; readonly parts: readonly (TextPart | FilePart)[] };

export function resultOf({ content, isError }: ToolMessage): Result {
  const parts = partsOf(content).filter((part) => part.type === "text" || part.type === "file");
  if (isError === true) return { type: "error", error: errorOf(textOf(parts)) };
  const [first, ...others] = parts;
  if (first === undefined) return { type: "text", text: "" };
  const plain = first.type === "text" && first.metadata === undefined && others.length === 0;
  return plain ? { type: "text", text: first.text } : { type: "parts", parts };
}

/** Errors hold text only. Anthropic refuses images in them, and other formats cannot hold them. */
function textOf(parts: readonly (TextPart | FilePart)[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : noteOf(part))).join("\n");
}

/** Unwraps text of the form {"error": ...}, which the projection writes, because providers add their own wrapper. */
function errorOf(text: string): JsonValue {
  const { error, ...others } = asObject(parseJson(text)) ?? {};
  return error !== undefined && Object.keys(others).length === 0 ? error : text;
}
