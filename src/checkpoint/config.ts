import { HeddleError } from "../thread/errors.ts";
import { copyJson, copyJsonObject, describe, type JsonObject } from "../thread/json.ts";
import { type Clock, systemPorts } from "../thread/ports.ts";
import { invalidOption, TokenError } from "./error.ts";
import type { Revocations } from "./revocations.ts";
import type { TokenSecret, Warn } from "./secrets.ts";

/** The user or tenant a token is for, such as `{ tenant: "acme", user: "u1" }`. Anyone with the token can read it. */
export type TokenBind = string | JsonObject;

interface TokenOptions {
  /** How long a token is valid, in whole milliseconds from 1. Default: no limit. */
  readonly tokenTtlMs?: number | undefined;
  /** Must equal the binding of the token exactly. Default: none, which accepts only tokens without a binding. */
  readonly tokenBind?: TokenBind | undefined;
  /** The longest token, in bytes; default 1 MiB. The inflated payload may have at most 16 times that size. */
  readonly tokenMaxBytes?: number | undefined;
  /** The issuer of tokens. A token of another issuer is refused. Default "heddle". */
  readonly tokenIssuer?: string | undefined;
  /** A fingerprint of everything that must be unchanged on resume: model, tools, prompt. Default "". */
  readonly configFingerprint?: string | undefined;
  /** Checked last by `verify`, when the token is otherwise valid. Errors that it throws reach the caller. Default: none. */
  readonly revocations?: Pick<Revocations, "isRevoked"> | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** Without a secret, tokens are valid only in this process. `warn` is then required, so that the caller notices. */
export type TokenConfig = TokenOptions &
  (
    | { readonly tokenSecret: TokenSecret; readonly warn?: Warn | undefined }
    | { readonly tokenSecret?: TokenSecret | undefined; readonly warn: Warn }
  );

/** A copy of the config with all defaults. Everything is checked except the secrets. */
export interface Settings {
  readonly tokenSecret: TokenSecret | undefined;
  readonly warn: Warn | undefined;
  readonly ttlMs: number | undefined;
  readonly bind: TokenBind | null;
  readonly maxBytes: number;
  readonly issuer: string;
  readonly configFingerprint: string;
  readonly nowMs: number;
  readonly revocations: Pick<Revocations, "isRevoked"> | undefined;
}

const MAX_BYTES = 2 ** 20;

export function settingsOf(config: TokenConfig): Settings {
  if (typeof config !== "object" || config === null)
    throw invalidOption("config", `must be an object, not ${describe(config)}`);
  const { tokenSecret, warn, tokenTtlMs, tokenBind, clock = systemPorts.clock, revocations } = config;
  return {
    tokenSecret: Array.isArray(tokenSecret) ? [...tokenSecret] : tokenSecret,
    warn,
    ttlMs: tokenTtlMs === undefined ? undefined : whole("tokenTtlMs", tokenTtlMs),
    bind: tokenBind === undefined ? null : bindOf(tokenBind),
    maxBytes: whole("tokenMaxBytes", config.tokenMaxBytes ?? MAX_BYTES),
    issuer: text("tokenIssuer", config.tokenIssuer ?? "heddle"),
    configFingerprint: text("configFingerprint", config.configFingerprint ?? ""),
    nowMs: now(clock),
    revocations,
  };
}

function bindOf(bind: TokenBind): TokenBind {
  try {
    return typeof bind === "string" ? copyJson(bind, "tokenBind") : copyJsonObject(bind, "tokenBind");
  } catch (cause) {
    const message = HeddleError.isInstance(cause) ? cause.message : "tokenBind could not be read.";
    throw new TokenError({ code: "invalid_options", path: "tokenBind", message, cause });
  }
}

function whole(path: string, value: unknown): number {
  if (Number.isSafeInteger(value) && Number(value) > 0) return Number(value);
  throw invalidOption(path, "must be a whole number from 1");
}

function text(path: string, value: unknown): string {
  if (typeof value === "string" && value.isWellFormed()) return value;
  throw invalidOption(path, `must be a well-formed string, not ${describe(value)}`);
}

function now(clock: Clock): number {
  if (typeof clock !== "function") throw invalidOption("clock", `must be a function, not ${describe(clock)}`);
  const nowMs = clock();
  if (Number.isSafeInteger(nowMs)) return nowMs;
  throw invalidOption("clock", "must return whole milliseconds since 1970");
}
