import type { Content } from "../../thread/message.ts";

/** The text of a content, without its other parts. */
export function textOf(content: Content): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

/** Whether a content has a file or a text that is not blank. */
export function saysSomething(content: Content): boolean {
  if (typeof content === "string") return content.trim() !== "";
  return content.some(
    (part) =>
      part.type === "file" || (part.type === "text" && typeof part.text === "string" && part.text.trim() !== ""),
  );
}
