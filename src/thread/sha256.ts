import { sha256 } from "@noble/hashes/sha2.js";
import { base64url } from "./encoding.ts";

/** The SHA-256 of a text's UTF-8 bytes, as base64url. */
export type Sha256 = (text: string) => string;

const encoder = new TextEncoder();

/** Uses the built-in hash of Node, Bun or Deno, which is several times faster, else a JavaScript one. Equal digests. */
export const portableSha256: Sha256 = ownSha256() ?? nobleSha256;

export function nobleSha256(text: string): string {
  return sha256Bytes(encoder.encode(text));
}

/** Gets `node:crypto` at run time. An import would fail in browsers. */
function ownSha256(): Sha256 | undefined {
  const { process } = globalThis as { readonly process?: { readonly getBuiltinModule?: (name: string) => unknown } };
  const crypto = process?.getBuiltinModule?.("node:crypto") as { readonly hash?: Hash } | undefined;
  const hash = crypto?.hash;
  return hash && ((text) => hash("sha256", text, "base64url"));
}

type Hash = (algorithm: "sha256", text: string, encoding: "base64url") => string;

export function sha256Bytes(bytes: Uint8Array): string {
  return base64url(sha256(bytes));
}
