import { portableSha256 } from "../thread/sha256.ts";
import { TokenError } from "./error.ts";

/** A token has three segments: format version, payload, and a signature over the text of both. */
const VERSION = "rt2";

interface Segments {
  /** The text that is signed: version and payload. */
  readonly signed: string;
  readonly payload: string;
  readonly signature: string;
}

export function signedText(payload: string): string {
  return `${VERSION}.${payload}`;
}

export function join(signed: string, signature: string): string {
  return `${signed}.${signature}`;
}

export function checkPrefix(token: unknown): asserts token is string {
  if (typeof token === "string" && token.startsWith(`${VERSION}.`)) return;
  const message = `A resume token begins with "${VERSION}."; tokens of other formats are not supported. Start the run again.`;
  throw new TokenError({ code: "invalid_token_prefix", message });
}

export function split(token: string): Segments {
  const [, payload, signature, ...more] = token.split(".", 4);
  if (payload && signature && more.length === 0) return { signed: signedText(payload), payload, signature };
  const message =
    "A resume token has three parts with dots between; this one was changed or truncated. Pass the complete token.";
  throw new TokenError({ code: "invalid_token_format", message });
}

/**
 * The id to revoke a token by. It is computed from the token alone, so that a leaked token can be revoked even when it no
 * longer verifies.
 *
 * @example
 * const token = await mint(
 *   { runId: "run_1", requestId: "req_1", phase: "after_llm", context: {} },
 *   { tokenSecret: "a secret of at least 32 bytes...." },
 * );
 * await checkpointRevocations(store).revoke(tokenIdOf(token));
 */
export function tokenIdOf(token: string): string {
  checkPrefix(token);
  return idOf(split(token));
}

/** A hash, so that the list of revoked ids reveals no signature. */
export function idOf({ signature }: Pick<Segments, "signature">): string {
  return portableSha256(signature);
}
