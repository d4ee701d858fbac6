import { utf8Length } from "../../tokens/utf8.ts";

/** The two ends of a text, and the number of bytes missing between them. */
export interface HeadAndTail {
  readonly head: string;
  readonly tail: string;
  readonly leftBytes: number;
  readonly bytes: number;
}

/** Both ends of a text longer than `maxBytes` UTF-8 bytes, in whole characters, half of the bytes each. */
export function headAndTail(text: string, maxBytes: number): HeadAndTail | undefined {
  const bytes = utf8Length(text);
  if (bytes <= maxBytes) return undefined;
  const half = Math.floor(maxBytes / 2);
  const head = startOf(text, half);
  const tail = endOf(text, half);
  return { head, tail, leftBytes: bytes - utf8Length(head) - utf8Length(tail), bytes };
}

/** The most whole characters from the start that fit. */
export function startOf(text: string, bytes: number): string {
  // A UTF-16 unit has at least one byte in UTF-8, so more units than this cannot fit.
  return upTo(bytes, [...text.slice(0, bytes)]).join("");
}

/** The most whole characters from the end that fit. */
export function endOf(text: string, bytes: number): string {
  return upTo(bytes, [...text.slice(Math.max(0, text.length - bytes))].reverse())
    .reverse()
    .join("");
}

/** The most characters that fit. If the slice has cut a character in half, the half comes last and never fits. */
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
