import { MIN_SECRET_BYTES, secretProblem } from "../agent/definition/checks.ts";
import { base64url } from "../thread/encoding.ts";
import { HeddleError } from "../thread/errors.ts";
import { copyJson, copyJsonObject, describe, type JsonObject, type JsonValue } from "../thread/json.ts";
import { type Clock, systemPorts, systemRandom } from "../thread/ports.ts";
import { invalidOption, TokenError } from "./error.ts";

/** The user or tenant a token is for, such as `{ tenant: "acme", user: "u1" }`. Anyone with the token can read it. */
export type TokenBind = string | JsonObject;

/** The list of revoked tokens. `verify` calls `isRevoked`; your code calls `revoke`. */
export interface Revocations {
  /** Called once per `verify`, when the token is otherwise valid. When it throws, the token is refused too. */
  isRevoked(tokenId: string): Promise<boolean>;
  /** Revokes a token permanently. Safe to repeat. */
  revoke(tokenId: string): Promise<void>;
}

/** The store methods that revocations need. Every ThreadStore has them. */
export interface CheckpointStore {
  getCheckpoint(key: string): Promise<JsonValue | undefined>;
  putCheckpoint(key: string, value: JsonValue): Promise<void>;
}

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

/** The secret, the issuer and the limits of resume tokens. Without a secret, tokens are valid only in this process. */
export type TokenConfig = TokenOptions & (WithSecret | WithWarning);

interface WithSecret {
  /** Signs the tokens. In a list the first signs and all verify. Required, unless `warn` is given. */
  readonly tokenSecret: TokenSecret;
  /** Where warnings go. Default: none. */
  readonly warn?: Warn | undefined;
}

/** Requires `warn`, so that a caller without a secret notices. */
interface WithWarning {
  /** Signs the tokens. Default: a secret of this process. */
  readonly tokenSecret?: TokenSecret | undefined;
  /** Where the warning about the missing secret goes. Required. */
  readonly warn: Warn;
}

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

/** One secret, or a list: the first signs and all verify. Each needs at least 32 bytes. */
export type TokenSecret = string | readonly string[];

/** The checked secrets. The first one signs. */
export type Secrets = readonly [string, ...string[]];

/** Called with a warning for the operator of the program. */
export type Warn = (message: string) => void;

const WARNING =
  "No tokenSecret is set: resume tokens are signed with a random secret and are valid only in this process. " +
  `Set tokenSecret to a secret of ${MIN_SECRET_BYTES} bytes or more.`;

// Kept for the whole process, so that tokens minted without a secret verify later in the same process.
let ofThisProcess: string | undefined;
let warned = false;

export function secretsOf(given: TokenSecret | undefined, warn: Warn | undefined): Secrets {
  if (given === undefined) return [processSecret(warn)];
  if (typeof given === "string" || !Array.isArray(given)) return [checkSecret(given, "tokenSecret")];
  const [first, ...others] = given.map((secret: unknown, index) => checkSecret(secret, `tokenSecret[${index}]`));
  if (first === undefined) throw invalidOption("tokenSecret", "is an empty list; the first of it signs");
  return [first, ...others];
}

function checkSecret(secret: unknown, path: string): string {
  const trouble = secretProblem(secret);
  if (trouble === undefined) return secret as string; // secretProblem has checked the type
  throw invalidOption(path, trouble);
}

function processSecret(warn: Warn | undefined): string {
  ofThisProcess ??= base64url(systemRandom(MIN_SECRET_BYTES));
  if (!warned && warn !== undefined) {
    warned = true;
    warn(WARNING);
  }
  return ofThisProcess;
}
