import { isPlainObject } from "../../thread/json.ts";
import type { Content, Part } from "../../thread/message.ts";
import { partOf } from "./ai-sdk-parts.ts";
import { resultTextOf } from "./json-result.ts";
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

export function contentOf(parts: readonly Part[]): Content {
  const [first, ...others] = parts;
  if (first === undefined) return "";
  return first.type === "text" && first.metadata === undefined && others.length === 0 ? first.text : parts;
}
