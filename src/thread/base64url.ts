const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Without padding. Hashes are written in it, many thousands a second, so it goes without `btoa` and its corrections. */
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
