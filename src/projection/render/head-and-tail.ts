import { utf8Length } from "../../tokens/utf8.ts";

/** The two ends of a text, with what is missing between them. */
export interface HeadAndTail {
  readonly head: string;
  readonly tail: string;
  readonly leftBytes: number;
  readonly bytes: number;
}

/** The ends of a text that is longer than so many UTF-8 bytes, half of them each, in whole characters. */
export function headAndTail(text: string, maxBytes: number): HeadAndTail | undefined {
  const bytes = utf8Length(text);
  if (bytes <= maxBytes) return undefined;
  const half = Math.floor(maxBytes / 2);
  const head = startOf(text, half);
  const tail = endOf(text, half);
  return { head, tail, leftBytes: bytes - utf8Length(head) - utf8Length(tail), bytes };
}

/** As many whole characters from the start as fit. */
export function startOf(text: string, bytes: number): string {
  // A unit of UTF-16 has at least one byte, so no end has more units than this.
  return upTo(bytes, [...text.slice(0, bytes)]).join("");
}

/** As many whole characters from the end as fit. */
export function endOf(text: string, bytes: number): string {
  return upTo(bytes, [...text.slice(Math.max(0, text.length - bytes))].reverse())
    .reverse()
    .join("");
}

/** As many of the characters as fit. Half a character, where the slice has cut one, is its last and never fits. */
function upTo(maxBytes: number, characters: readonly string[]): string[] {
  const fitting: string[] = [];
  let bytes = 0;
  for (const character of characters) {
    bytes += utf8Length(character);
    if (bytes > maxBytes) break;
    fitting.push(character);
  }
  return fitting;
}
