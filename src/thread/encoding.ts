const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Base64url without padding. It does not use `btoa`, because it encodes thousands of hashes a second. */
export function base64url(bytes: Uint8Array): string {
  let text = "";
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 6; bits -= 6) text += ALPHABET[(held >> (bits - 6)) & 63];
  }
  return bits === 0 ? text : text + ALPHABET[(held << (6 - bits)) & 63];
}

/** The number of UTF-8 bytes of a text, counted without encoding it. `text` must be well formed, as all stored text is. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit > 0x7f) bytes += unit > 0x7ff && !isSurrogate(unit) ? 2 : 1;
  }
  return bytes;
}

/** A surrogate pair is two units and four bytes, so each unit counts for two. */
function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
