import { portableSha256, type Sha256 } from "../../thread/sha256.ts";

/** A piece of a record: a line written by Heddle, or a quoted text. */
export type Piece = { readonly line: string } | { readonly said: string };

/** A record in its frame. Every line written by Heddle begins with the mark, which occurs nowhere else. */
export interface Frame {
  readonly mark: string;
  readonly text: string;
}

/** The last line of a record. */
export const END = "end of the record";

/** Long enough to avoid chance matches. */
const MARK = 10;

/**
 * Puts untrusted texts into a frame that no text can close or imitate. The mark is a hash of all texts, so the author of
 * one text cannot know it. It is hashed again until it occurs in no text. Equal pieces give equal bytes.
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

/** Heddle's own lines hold names and ids, which are as untrusted as quoted text. */
function contentOf(piece: Piece): string {
  return "line" in piece ? piece.line : piece.said;
}
