import fc from "fast-check";
import { expect, test } from "vitest";
import type { TokenBind } from "../../src/checkpoint/config.ts";
import { TokenError } from "../../src/checkpoint/error.ts";
import type { ResumeState } from "../../src/checkpoint/payload.ts";
import { mint, verify } from "../../src/checkpoint/resume-tokens.ts";
import type { JsonObject, JsonValue } from "../../src/thread/json.ts";
import { codePoint } from "../support/code-point.ts";
import { config, NOW, payloadOf } from "./support.ts";

const text = fc.string({ unit: codePoint });
const json = fc.jsonValue({ stringUnit: codePoint }) as fc.Arbitrary<JsonValue>;
const object = fc.dictionary(text, json) as fc.Arbitrary<JsonObject>;
const id = fc.string({ unit: codePoint, minLength: 1 });

const point = {
  runId: id,
  requestId: id,
  phase: fc.constantFrom("after_llm", "after_tools", "terminal"),
  basis: fc.option(object, { nil: undefined }),
};
const threadRef = fc.record({ threadId: id, rev: fc.maxSafeNat() });
/** Long ones too, so that deflated tokens are among them. */
const context = fc.oneof(
  json,
  json.map((value) => Array.from({ length: 100 }, () => value)),
);
const state: fc.Arbitrary<ResumeState> = fc.oneof(
  fc.record({ ...point, context, threadRef: fc.option(threadRef, { nil: undefined }) }),
  fc.record({ ...point, threadRef }),
);

/** Never as short as 32 bytes, nor with a zero at the end. */
const secret = text.map((text) => `${text}${"-".repeat(32)}`);
const settings = fc.record(
  {
    tokenSecret: fc.oneof(secret, fc.array(secret, { minLength: 1, maxLength: 3 })),
    tokenTtlMs: fc.integer({ min: 1 }),
    tokenBind: fc.oneof(text, object) as fc.Arbitrary<TokenBind>,
    tokenIssuer: text,
    configFingerprint: text,
    clock: fc.integer().map((nowMs) => () => nowMs),
  },
  { requiredKeys: ["tokenSecret", "clock"] },
);

const small: ResumeState = { runId: "run_1", requestId: "req_1", phase: "after_tools", context: { step: 3 } };
const long: ResumeState = { ...small, context: Array.from({ length: 150 }, (_, n) => ({ n })) };
const tokens = Promise.all([mint(small, config), mint(long, { ...config, tokenTtlMs: 1, tokenBind: "acme" })]);

async function refusedAs(token: string): Promise<string> {
  const error: unknown = await verify(token, config).catch((error: unknown) => error);
  expect(TokenError.isInstance(error), "nothing but a TokenError").toBe(true);
  return (error as TokenError).code;
}

test("what is verified is what was minted, for every state and config", () =>
  fc.assert(
    fc.asyncProperty(state, settings, async (state, settings) => {
      const { tokenId, ...verified } = await verify(await mint(state, settings), settings);
      const { tokenTtlMs, tokenBind = null, tokenIssuer = "heddle", configFingerprint = "", clock } = settings;
      const claims = { iss: tokenIssuer, iatMs: clock(), configFingerprint, bind: tokenBind };
      const expMs = tokenTtlMs === undefined ? undefined : clock() + tokenTtlMs;
      // As JSON text: an absent field and an undefined one are the same, 0 and -0 too, and nothing else is.
      expect(JSON.parse(JSON.stringify(verified))).toEqual(JSON.parse(JSON.stringify({ ...claims, expMs, state })));
      expect(tokenId).toMatch(/^[\w-]{43}$/);
    }),
  ));

test("the text of a context comes back byte for byte, frozen", () =>
  fc.assert(
    fc.asyncProperty(object, async (context) => {
      const { state } = await verify(await mint({ ...small, context }, config), config);
      expect(JSON.stringify(state.context)).toBe(JSON.stringify(context));
      expect([state, state.context].every(Object.isFrozen)).toBe(true);
    }),
  ));

test("a payload never has a thread in it", () =>
  fc.assert(
    fc.asyncProperty(state, async (state) => {
      const payload = payloadOf(await mint(state, config)) as JsonObject;
      expect(Object.hasOwn(payload, "thread")).toBe(false);
      expect(Object.keys(payload["state"] ?? {})).toEqual(state.context === undefined ? [] : ["context"]);
    }),
  ));

test("a token with any one character changed never verifies", async () => {
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.+/= é"];
  for (const token of await tokens) {
    const changed = fc.tuple(
      fc.nat(token.length - 1),
      fc.oneof(fc.constantFrom(...letters), fc.string({ maxLength: 2 })),
    );
    await fc.assert(
      fc.asyncProperty(changed, async ([at, letter]) => {
        fc.pre(letter !== token[at]);
        await refusedAs(token.slice(0, at) + letter + token.slice(at + 1));
      }),
      { numRuns: 500 },
    );
  }
});

test("every single bit of a token counts: each place, each letter of the alphabet near its end", async () => {
  const [token] = await tokens;
  for (let at = 0; at < token.length; at++) {
    const letter = token[at] === "A" ? "B" : "A";
    await refusedAs(token.slice(0, at) + letter + token.slice(at + 1));
  }
  for (const letter of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
    if (letter !== token.at(-1)) await refusedAs(token.slice(0, -1) + letter);
  }
});

test("a token cut at any place, at either end, never verifies", async () => {
  const [token] = await tokens;
  for (let at = 0; at < token.length; at++) {
    await refusedAs(token.slice(0, at));
    await refusedAs(token.slice(token.length - at));
  }
});

test("for any text verify throws only a TokenError", () =>
  fc.assert(
    fc.asyncProperty(
      fc.oneof(
        text,
        fc.tuple(text, text).map((parts) => `rt2.${parts.join(".")}`),
      ),
      async (token) => {
        await refusedAs(token);
      },
    ),
  ));

test("tokens of one secret never verify under another", () =>
  fc.assert(
    fc.asyncProperty(state, secret, secret, async (state, mine, theirs) => {
      fc.pre(mine !== theirs);
      const token = await mint(state, { tokenSecret: mine, clock: () => NOW });
      const verified = verify(token, { tokenSecret: theirs, clock: () => NOW });
      await expect(verified).rejects.toMatchObject({ code: "invalid_token_signature" });
      await expect(verify(token, { tokenSecret: [theirs, mine], clock: () => NOW })).resolves.toBeDefined();
    }),
  ));
