import { portableSha256 } from "../thread/sha256.ts";
import { TokenError } from "./error.ts";

/** Three segments: the version of the format, the payload, the signature over the text of both. */
const VERSION = "rt2";

interface Segments {
  /** What the signature is over. */
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
  const message = `A resume token begins with "${VERSION}."; tokens of other formats are not read. Start the run again.`;
  throw new TokenError({ code: "invalid_token_prefix", message });
}

export function split(token: string): Segments {
  const [, payload, signature, ...more] = token.split(".", 4);
  if (payload && signature && more.length === 0) return { signed: signedText(payload), payload, signature };
  const message = "A resume token has three parts with dots between; this one was cut or joined. Pass it whole.";
  throw new TokenError({ code: "invalid_token_format", message });
}

/**
 * The id under which a token is revoked. It is made of the token alone: whoever holds one that leaked can revoke it,
 * also when it no longer verifies.
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

/** A hash: who reads the list of revoked ids learns no signature. */
export function idOf({ signature }: Pick<Segments, "signature">): string {
  return portableSha256(signature);
}
