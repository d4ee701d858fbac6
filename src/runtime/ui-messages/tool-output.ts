import { thaw } from "../../providers/metadata.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import { uiPartOf } from "./parts.ts";

/**
 * What a tool gave, for whoever shows it. The log keeps what the model reads: an object or a list, which it holds as JSON,
 * is given as what it was; everything else is text.
 */
export function toolOutput(content: Content): unknown {
  if (typeof content !== "string") return content.flatMap((part) => uiPartOf(part) ?? []);
  const value = structureIn(content);
  return value === undefined ? content : thaw(value);
}

/** Only what JSON.stringify would write in the same way: a text that is about JSON stays as it is. */
function structureIn(text: string): JsonValue | undefined {
  if (!/^[[{]/.test(text)) return undefined;
  try {
    const value: JsonValue = JSON.parse(text);
    return JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}
