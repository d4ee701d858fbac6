import { sha256 } from "@noble/hashes/sha2.js";
import { builtinModule } from "./builtin-module.ts";

type ByteLength = (text: string) => number;

const ownByteLength = builtinModule<{ readonly Buffer: { readonly byteLength: ByteLength } }>("node:buffer")?.Buffer
  .byteLength;

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Base64url without padding. It does not use `btoa`, because it encodes thousands of hashes a second. */
export function base64url(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const three = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    const letter = (shift: number): string => ALPHABET.charAt((three >> shift) & 63);
    text += letter(18) + letter(12) + letter(6) + letter(0);
  }
  return text.slice(0, Math.ceil((bytes.length * 4) / 3));
}

/** A shorter text is counted sooner than a built-in function is called. */
const LONG_TEXT = 64;

/** The number of UTF-8 bytes of a text, counted without encoding it. `text` must be well formed, as all stored text is. */
export function utf8Length(text: string): number {
  return ownByteLength === undefined || text.length < LONG_TEXT ? portableUtf8Length(text) : ownByteLength(text);
}

export function portableUtf8Length(text: string): number {
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

/** The SHA-256 of a text's UTF-8 bytes, as base64url. */
export type Sha256 = (text: string) => string;

const encoder = new TextEncoder();

/** Uses the built-in hash of Node, Bun or Deno, which is several times faster, else a JavaScript one. Equal digests. */
export const portableSha256: Sha256 = ownSha256() ?? nobleSha256;

export function nobleSha256(text: string): string {
  return sha256Bytes(encoder.encode(text));
}

function ownSha256(): Sha256 | undefined {
  const hash = builtinModule<{ readonly hash?: Hash }>("node:crypto")?.hash;
  return hash && ((text) => hash("sha256", text, "base64url"));
}

type Hash = (algorithm: "sha256", text: string, encoding: "base64url") => string;

export function sha256Bytes(bytes: Uint8Array): string {
  return base64url(sha256(bytes));
}
