import { sha256 } from "@noble/hashes/sha2.js";
import { base64url } from "./base64url.ts";

/** The SHA-256 of a text's UTF-8 bytes, as base64url. */
export type Sha256 = (text: string) => string;

const encoder = new TextEncoder();

/** Runs anywhere; a Node adapter may pass the native one, which gives the same and is faster. */
export const portableSha256: Sha256 = (text) => sha256Bytes(encoder.encode(text));

export function sha256Bytes(bytes: Uint8Array): string {
  return base64url(sha256(bytes));
}
