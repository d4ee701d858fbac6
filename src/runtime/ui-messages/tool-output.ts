import { thaw } from "../../providers/metadata.ts";
import type { Content } from "../../thread/message.ts";
import { parseStructure } from "../../thread/messages/to-messages.ts";
import { uiPartOf } from "./parts.ts";

/**
 * What a tool gave, for whoever shows it. The log keeps what the model reads: an object or a list, which it holds as JSON,
 * is given as what it was; everything else is text.
 */
export function toolOutput(content: Content): unknown {
  if (typeof content !== "string") return content.flatMap((part) => uiPartOf(part) ?? []);
  const value = parseStructure(content);
  return value === undefined ? content : thaw(value);
}
