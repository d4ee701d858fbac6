import { HeddleError } from "../thread/errors.ts";
import { copyJson, copyJsonObject, describe, type JsonObject } from "../thread/json.ts";
import { type Clock, systemPorts } from "../thread/ports.ts";
import { invalidOption, TokenError } from "./error.ts";
import type { Revocations } from "./revocations.ts";
import type { TokenSecret, Warn } from "./secrets.ts";

/** Whom a token is for, such as `{ tenant: "acme", user: "u1" }`. It can be read by whoever holds the token. */
export type TokenBind = string | JsonObject;

interface TokenOptions {
  /** How long a token is good for; without it, for ever. Whole milliseconds from 1. */
  readonly tokenTtlMs?: number | undefined;
  /** Compared in full: a token for one is not accepted for another, nor for nobody. */
  readonly tokenBind?: TokenBind | undefined;
  /** The longest token, in bytes; default 1 MiB. Its payload inflates to 16 times that at most. */
  readonly tokenMaxBytes?: number | undefined;
  /** Who mints; a token of another issuer is not accepted. Default "heddle". */
  readonly tokenIssuer?: string | undefined;
  /** Of whatever a run must find unchanged when it goes on: model, tools, prompt. Default "". */
  readonly configFingerprint?: string | undefined;
  /** Asked by `verify` last, when the token is good otherwise. What it throws reaches the caller. */
  readonly revocations?: Pick<Revocations, "isRevoked"> | undefined;
  readonly clock?: Clock | undefined;
}

/** Without a secret there has to be somebody to warn: tokens then end with the process, and nobody would know. */
export type TokenConfig = TokenOptions &
  (
    | { readonly tokenSecret: TokenSecret; readonly warn?: Warn | undefined }
    | { readonly tokenSecret?: TokenSecret | undefined; readonly warn: Warn }
  );

/** A config as it was when it was given, complete, and checked but for the secrets. */
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
  if (typeof config !== "object" || config === null) throw invalidOption("config", `is ${describe(config)}, no object`);
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
  throw invalidOption("clock", "must give whole milliseconds since 1970");
}
