import type { Content } from "heddle";

/** All contents of the bench are text. */
export function textOf(content: Content): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
