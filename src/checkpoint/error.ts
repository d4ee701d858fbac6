import { type ErrorFacts, HeddleError } from "../thread/errors.ts";

/** Why a token was refused, in the order of the checks of `resumeTokens.verify`. The last code is for options and ports. */
export type TokenErrorCode =
  | "invalid_token_prefix"
  | "token_too_large"
  | "invalid_token_format"
  | "invalid_base64"
  | "invalid_token_signature"
  | "invalid_token_payload"
  | "token_version_mismatch"
  | "invalid_token_issuer"
  | "token_expired"
  | "token_config_mismatch"
  | "legacy_token_state"
  | "invalid_token_state"
  | "token_revoked"
  /** The thread has entries that are newer than the token. */
  | "token_superseded"
  | "invalid_options";

type Facts = ErrorFacts & {
  readonly code: TokenErrorCode;
  readonly path?: string;
  readonly bytes?: number;
  readonly limit?: number;
  readonly expMs?: number;
  readonly nowMs?: number;
};

/**
 * A token that cannot be minted or is refused. Messages never contain a secret, a token or a part of a state.
 *
 * @example
 * try {
 *   await resumeTokens.verify("rt1.old", { tokenSecret: "a secret of at least 32 bytes...." });
 * } catch (error) {
 *   if (!TokenError.isInstance(error) || error.code !== "invalid_token_prefix") throw error;
 * }
 */
export class TokenError extends HeddleError {
  static override readonly className: string = "TokenError";
  declare readonly code: TokenErrorCode;
  /** The invalid option or field, such as `tokenBind` or `state.phase`. */
  declare readonly path?: string;
  /** For `token_too_large`: the size when the limit was exceeded, and the limit. */
  declare readonly bytes?: number;
  declare readonly limit?: number;
  /** For `token_expired`. */
  declare readonly expMs?: number;
  declare readonly nowMs?: number;

  constructor({ path, bytes, limit, expMs, nowMs, ...facts }: Facts) {
    super(facts);
    const data = { path, bytes, limit, expMs, nowMs };
    Object.assign(this, Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined)));
  }
}

export function invalidOption(path: string, trouble: string): TokenError {
  return new TokenError({ code: "invalid_options", path, message: `${path} ${trouble}.` });
}

export function tooLarge(bytes: number, limit: number, fix: string): TokenError {
  const message = `This token takes ${bytes} bytes or more, and the limit is ${limit}. ${fix}`;
  return new TokenError({ code: "token_too_large", message, bytes, limit });
}
