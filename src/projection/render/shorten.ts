import type { Content, Part } from "../../thread/message.ts";
import { utf8Length } from "../../tokens/utf8.ts";
import { endOf, startOf } from "./head-and-tail.ts";

/**
 * The head and tail of a result's texts, taken as one text, around a marker. Returns the same object when that would not
 * be shorter.
 */
export function shortened(content: Content, seq: number, bytesPerEnd: number): Content {
  const bytes = textBytes(content);
  if (bytes <= 2 * bytesPerEnd) return content;
  const texts = textsOf(content);
  const heads = kept(texts, bytesPerEnd, startOf);
  const tails = kept(texts.toReversed(), bytesPerEnd, endOf).reverse();
  const left = bytes - sizeOf(heads) - sizeOf(tails);
  let marker = `\n[... ${left} of ${bytes} bytes of entry ${seq} left out ...]\n`;
  const shorter = texts.map((text, index) => {
    const [head = "", tail = ""] = [heads[index], tails[index]];
    if (head === text || tail === text) return text;
    const around = head + marker + tail;
    marker = ""; // only once, where the first cut is
    return around;
  });
  return sizeOf(shorter) < bytes ? withTexts(content, shorter) : content;
}

/** The marker that replaces a cleared result. */
export function clearedText(content: Content, seq: number): string {
  return `[Result of entry ${seq} cleared: ${contentBytes(content)} bytes]`;
}

export function contentBytes(content: Content): number {
  if (typeof content === "string") return utf8Length(content);
  return content.reduce((sum, part) => sum + utf8Length(part.type === "text" ? part.text : JSON.stringify(part)), 0);
}

function textsOf(content: Content): readonly string[] {
  return typeof content === "string" ? [content] : content.flatMap((part) => (part.type === "text" ? [part.text] : []));
}

function textBytes(content: Content): number {
  return sizeOf(textsOf(content));
}

function sizeOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + utf8Length(text), 0);
}

/** As much of the texts as fits into `room` bytes, in order. */
function kept(texts: readonly string[], room: number, end: (text: string, bytes: number) => string): string[] {
  let left = room;
  return texts.map((text) => {
    const part = end(text, left);
    left = part === text ? left - utf8Length(text) : 0;
    return part;
  });
}

function withTexts(content: Content, texts: readonly string[]): Content {
  if (typeof content === "string") return texts[0] ?? "";
  const waiting = texts.values();
  return content.flatMap((part): readonly Part[] => {
    if (part.type !== "text") return [part];
    const text = waiting.next().value ?? "";
    return text === "" ? [] : [text === part.text ? part : { ...part, text }];
  });
}
