import { HeddleError } from "../../thread/errors.ts";
import { copyJson, describe, isPlainObject } from "../../thread/json.ts";
import { utf8Length } from "../../tokens/utf8.ts";

/** As long as the hash that signs: a shorter secret would be the weakest part. */
export const SHORTEST_SECRET = 32;

/** From any date that there is, whatever begins then ends in a whole number. */
export const LONGEST_TTL = Number.MAX_SAFE_INTEGER - 8.64e15;

/** Why a secret cannot sign tokens. */
export function secretTrouble(secret: unknown): string | undefined {
  if (typeof secret !== "string") return `must be a string, not ${describe(secret)}`;
  if (!secret.isWellFormed()) return "has a lone surrogate, which no UTF-8 text can hold";
  if (secret.endsWith("\0")) return "ends in a zero, with which HMAC makes the same key as without";
  if (utf8Length(secret) >= SHORTEST_SECRET) return undefined;
  return `is shorter than ${SHORTEST_SECRET} bytes; make it of random bytes`;
}

export function secretsTrouble(secrets: unknown): string | undefined {
  if (!Array.isArray(secrets)) return secretTrouble(secrets);
  if (secrets.length === 0) return "is an empty list; the first of it signs";
  return secrets.map(secretTrouble).find((trouble) => trouble !== undefined);
}

/** Why nobody can be named so. */
export function bindTrouble(bind: unknown): string | undefined {
  if (typeof bind !== "string" && !isPlainObject(bind)) return "must be text or an object";
  try {
    copyJson(bind, "tokenBind");
    return undefined;
  } catch (error) {
    return HeddleError.isInstance(error) ? `must be JSON: ${error.message.replace(/\.$/, "")}` : "could not be read";
  }
}
