// The format of tokens made and taken apart with node:crypto and node:zlib: nothing of the room under test.
import { createHmac } from "node:crypto";
import { inflateRawSync } from "node:zlib";
import { expect } from "vitest";
import type { TokenConfig } from "../../src/checkpoint/config.ts";
import type { TokenErrorCode } from "../../src/checkpoint/error.ts";
import type { ResumeState } from "../../src/checkpoint/payload.ts";

export const SECRET = "a secret that only tests may know";
export const OTHER_SECRET = "the secret of somebody else, as long";
export const NOW = 1_700_000_000_000;

export const config = { tokenSecret: SECRET, clock: () => NOW } satisfies TokenConfig;
export const state: ResumeState = { runId: "run_1", requestId: "req_1", phase: "after_llm", context: { step: 3 } };

/** What a token of `state` under `config` holds. */
export const payload = {
  ...{ v: 2, iss: "heddle", runId: "run_1", requestId: "req_1", iatMs: NOW, configFingerprint: "", bind: null },
  ...{ phase: "after_llm", state: { context: { step: 3 } } },
};

/** A token of anything at all, signed as it should be. */
export function forge(payload: object | string | Uint8Array, secret = SECRET): string {
  const text = typeof payload === "string" || payload instanceof Uint8Array ? payload : JSON.stringify(payload);
  return signed(`rt2.${Buffer.from(text as string).toString("base64url")}`, secret);
}

export function signed(text: string, secret = SECRET): string {
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

/** The payload that a token holds, whoever signed it. */
export function payloadOf(token: string): unknown {
  const bytes = Buffer.from(token.split(".")[1] ?? "", "base64url");
  return JSON.parse((bytes[0] === 1 ? inflateRawSync(bytes.subarray(1)) : bytes).toString());
}

export async function expectRefusal(promise: Promise<unknown>, code: TokenErrorCode): Promise<void> {
  await expect(promise).rejects.toMatchObject({ name: "TokenError", code, retryable: false });
}
