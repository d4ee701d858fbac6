import { thaw } from "../../providers/metadata.ts";
import type { Content } from "../../thread/message.ts";
import { structureIn } from "../../thread/messages/outputs.ts";
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
