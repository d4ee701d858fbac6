import { utf8Length } from "../../thread/encoding.ts";
import { HeddleError } from "../../thread/errors.ts";
import { copyJson, describe, isPlainObject } from "../../thread/json.ts";

/** As long as the output of HMAC-SHA-256. A shorter secret would weaken the signature. */
export const MIN_SECRET_BYTES = 32;

/** The sum of any valid date and this TTL is still a safe integer. */
export const MAX_TTL_MS = Number.MAX_SAFE_INTEGER - 8.64e15;

/** The reason why a secret is invalid; undefined when it is valid. */
export function secretProblem(secret: unknown): string | undefined {
  if (typeof secret !== "string") return `must be a string, not ${describe(secret)}`;
  if (!secret.isWellFormed()) return "has a lone surrogate, which no UTF-8 text can hold";
  if (secret.endsWith("\0")) return "ends in a zero byte, which HMAC ignores";
  if (utf8Length(secret) >= MIN_SECRET_BYTES) return undefined;
  return `is shorter than ${MIN_SECRET_BYTES} bytes; use random bytes`;
}

export function secretsProblem(secrets: unknown): string | undefined {
  if (!Array.isArray(secrets)) return secretProblem(secrets);
  if (secrets.length === 0) return "is an empty list; the first of it signs";
  return secrets.map(secretProblem).find((trouble) => trouble !== undefined);
}

/** The reason why a `tokenBind` is invalid; undefined when it is valid. */
export function bindProblem(bind: unknown): string | undefined {
  if (typeof bind !== "string" && !isPlainObject(bind)) return "must be text or an object";
  try {
    copyJson(bind, "tokenBind");
    return undefined;
  } catch (error) {
    return HeddleError.isInstance(error) ? `must be JSON: ${error.message.replace(/\.$/, "")}` : "could not be read";
  }
}
