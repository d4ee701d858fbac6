import { portableSha256, type Sha256 } from "../../thread/sha256.ts";

/** A piece of a record: a line of ours, or a text as somebody has said it. */
export type Piece = { readonly line: string } | { readonly said: string };

/** A record in its frame. Every line of ours begins with the mark, which occurs nowhere else. */
export interface Frame {
  readonly mark: string;
  readonly text: string;
}

/** The line after which the record is over. */
export const END = "end of the record";

/** Long enough that nobody meets it by chance. */
const MARK = 10;

/**
 * Puts a record of untrusted texts into a frame that no text can close, and in which none can speak for another: the
 * mark of our lines is drawn from the texts themselves, so that nobody knows it who writes one of them, and it is drawn
 * again until it occurs in none. Equal pieces give equal bytes.
 */
export function framed(pieces: readonly Piece[], sha256: Sha256 = portableSha256): Frame {
  const mark = `[${markFor(pieces.map(contentOf).join("\n"), sha256)}]`;
  const lines = pieces.map((piece) => ("line" in piece ? `${mark} ${piece.line}` : piece.said));
  return { mark, text: [...lines, `${mark} ${END}`].join("\n") };
}

function markFor(content: string, sha256: Sha256): string {
  for (let attempt = 0; ; attempt++) {
    const mark = sha256(`${attempt}\n${content}`).slice(0, MARK);
    if (!content.includes(mark)) return mark;
  }
}

/** Our lines hold names and ids, which are untrusted like everything that is said. */
function contentOf(piece: Piece): string {
  return "line" in piece ? piece.line : piece.said;
}
