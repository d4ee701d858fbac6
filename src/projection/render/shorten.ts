import { utf8Length } from "../../thread/encoding.ts";
import { type Content, type FileContentPart, fileNote, type Part } from "../../thread/message.ts";

/**
 * Keeps the start and end of a result's texts, treated as one text, with a marker in between. Returns the same object
 * if that would not be shorter.
 */
export function shortenContent(content: Content, seq: number, bytesPerEnd: number): Content {
  const bytes = textBytes(content);
  if (bytes <= 2 * bytesPerEnd) return content;
  const texts = textsOf(content);
  const heads = textsUpTo(texts, bytesPerEnd, textStart);
  const tails = textsUpTo(texts.toReversed(), bytesPerEnd, textEnd).reverse();
  const left = bytes - bytesOf(heads) - bytesOf(tails);
  let marker = `\n[... ${left} of ${bytes} bytes of entry ${seq} left out ...]\n`;
  const shorter = texts.map((text, index) => {
    const [head = "", tail = ""] = [heads[index], tails[index]];
    if (head === text || tail === text) return text;
    const around = head + marker + tail;
    marker = ""; // the marker is written only once, at the first cut
    return around;
  });
  return bytesOf(shorter) < bytes ? withTexts(content, shorter) : content;
}

/** Replaces these files with notes. Returns the same object if there are none of them. */
export function withoutFiles(content: Content, noted?: ReadonlySet<Part>): Content {
  const isNoted = (part: Part): part is FileContentPart => noted?.has(part) === true;
  if (typeof content === "string" || !content.some(isNoted)) return content;
  return content.map((part) => (isNoted(part) ? { type: "text", text: fileNote(part, "fit") } : part));
}

/** Returns the marker that replaces a cleared tool result. */
export function clearedMarker(content: Content, seq: number): string {
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
  return bytesOf(textsOf(content));
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + utf8Length(text), 0);
}

/** Returns as much of the texts, in order, as fits into `maxBytes` bytes. */
function textsUpTo(texts: readonly string[], maxBytes: number, end: (text: string, bytes: number) => string): string[] {
  let left = maxBytes;
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

/** The two ends of a text, and the number of bytes missing between them. */
export interface HeadAndTail {
  readonly head: string;
  readonly tail: string;
  readonly leftBytes: number;
  readonly bytes: number;
}

/**
 * Returns both ends of a text longer than `maxBytes` UTF-8 bytes. Each end gets half of the bytes and only whole
 * characters.
 */
export function headAndTail(text: string, maxBytes: number): HeadAndTail | undefined {
  const bytes = utf8Length(text);
  if (bytes <= maxBytes) return undefined;
  const half = Math.floor(maxBytes / 2);
  const head = textStart(text, half);
  const tail = textEnd(text, half);
  return { head, tail, leftBytes: bytes - utf8Length(head) - utf8Length(tail), bytes };
}

/** Returns the longest start of a text that fits, in whole characters. */
function textStart(text: string, bytes: number): string {
  // A UTF-16 unit has at least one byte in UTF-8, so no more units than `bytes` can fit.
  return charactersUpTo(bytes, [...text.slice(0, bytes)]).join("");
}

/** Returns the longest end of a text that fits, in whole characters. */
function textEnd(text: string, bytes: number): string {
  return charactersUpTo(bytes, [...text.slice(Math.max(0, text.length - bytes))].reverse())
    .reverse()
    .join("");
}

/** Returns as many characters as fit. A surrogate half at the cut comes last and never fits. */
function charactersUpTo(maxBytes: number, characters: readonly string[]): string[] {
  const fitting: string[] = [];
  let bytes = 0;
  for (const character of characters) {
    bytes += utf8Length(character);
    if (bytes > maxBytes) break;
    fitting.push(character);
  }
  return fitting;
}
