import { isPlainObject, type JsonValue } from "../../thread/json.ts";
import type { Content, Part } from "../../thread/message.ts";
import { valueText } from "../../thread/result-text.ts";
import { partOf } from "./ai-sdk-parts.ts";
import { jsonOf } from "./json-result.ts";
import { reported, type ToolAnswer } from "./outcome.ts";

/** What `toModelOutput` gives, in the words of the AI SDK; anything else is taken as a result. */
export function outputAnswer(name: string, output: unknown): ToolAnswer {
  const { type, value, reason } = isPlainObject(output) ? output : {};
  switch (type) {
    case "text":
      return { content: valueText(jsonOf(value)), isError: false };
    case "json":
      return { content: valueText(jsonOf(value)), isError: false };
    case "error-text":
      return reported(name, valueText(jsonOf(value)));
    case "error-json":
      return reported(name, errorText(jsonOf(value)));
    case "execution-denied":
      return reported(
        name,
        errorText({ type: "denied", message: valueText(jsonOf(reason ?? "The call was denied.")) }),
      );
    case "content":
      return { content: contentParts(Array.isArray(value) ? value : []), isError: false };
    default:
      return { content: valueText(jsonOf(output)), isError: false };
  }
}

export function errorText(error: JsonValue): string {
  return JSON.stringify({ error });
}

/** A single text is told as text. */
export function contentParts(values: readonly unknown[]): Content {
  return contentOf(values.flatMap(partOf));
}

export function contentOf(parts: readonly Part[]): Content {
  const [first, ...others] = parts;
  if (first === undefined) return "";
  return first.type === "text" && first.metadata === undefined && others.length === 0 ? first.text : parts;
}
