import type { Content, Part } from "../../thread/message.ts";
import { utf8Length } from "../../tokens/utf8.ts";
import { headAndTail } from "./head-and-tail.ts";

/** Head and tail of every text in a result that has more bytes than both together, around a marker. */
export function shortened(content: Content, seq: number, bytesPerEnd: number): Content {
  if (typeof content === "string") return shortenedText(content, seq, bytesPerEnd);
  const parts = content.map((part): Part => {
    if (part.type !== "text") return part;
    const text = shortenedText(part.text, seq, bytesPerEnd);
    return text === part.text ? part : { ...part, text };
  });
  return parts.every((part, index) => part === content[index]) ? content : parts;
}

/** What stands where a result was. */
export function clearedText(content: Content, seq: number): string {
  return `[Result of entry ${seq} cleared: ${contentBytes(content)} bytes]`;
}

export function contentBytes(content: Content): number {
  if (typeof content === "string") return utf8Length(content);
  return content.reduce((sum, part) => sum + utf8Length(part.type === "text" ? part.text : JSON.stringify(part)), 0);
}

function shortenedText(text: string, seq: number, bytesPerEnd: number): string {
  const ends = headAndTail(text, 2 * bytesPerEnd);
  if (ends === undefined) return text;
  const { head, tail, leftBytes, bytes } = ends;
  return `${head}\n[... ${leftBytes} of ${bytes} bytes of entry ${seq} left out ...]\n${tail}`;
}
