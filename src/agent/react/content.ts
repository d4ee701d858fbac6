import type { Content } from "../../thread/message.ts";

/** The words of a content. */
export function textOf(content: Content): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

/** Whether it has anything that a model would see. */
export function saysSomething(content: Content): boolean {
  if (typeof content === "string") return content.trim() !== "";
  return content.some(
    (part) =>
      part.type === "file" || (part.type === "text" && typeof part.text === "string" && part.text.trim() !== ""),
  );
}
