import { describe, expect, test } from "vitest";
import type { TokenBind } from "../../src/checkpoint/config.ts";
import { TokenError } from "../../src/checkpoint/error.ts";
import { mint, verify } from "../../src/checkpoint/resume-tokens.ts";
import { config, expectRefusal, NOW, payloadOf, state } from "./support.ts";

const at = (nowMs: number) => ({ ...config, clock: () => nowMs });

describe("a token with an end", () => {
  const minted = mint(state, { ...config, tokenTtlMs: 1000 });

  test("says when it was made and when it ends", async () => {
    expect(await verify(await minted, config)).toMatchObject({ iatMs: NOW, expMs: NOW + 1000 });
  });

  test("is good up to its last millisecond, and no longer", async () => {
    const token = await minted;
    await expect(verify(token, at(NOW + 1000))).resolves.toMatchObject({ state });
    const late = verify(token, at(NOW + 1001));
    await expect(late).rejects.toMatchObject({ code: "token_expired", expMs: NOW + 1000, nowMs: NOW + 1001 });
  });

  test("is good where the clock is behind, also far behind", async () => {
    const token = await minted;
    await expect(verify(token, at(NOW - 1))).resolves.toMatchObject({ state });
    await expect(verify(token, at(-1))).resolves.toMatchObject({ state });
  });

  test("has the end it was minted with, whatever is set where it is verified", async () => {
    const token = await minted;
    await expectRefusal(verify(token, { ...at(NOW + 1001), tokenTtlMs: 1e9 }), "token_expired");
    await expect(verify(token, { ...at(NOW + 1000), tokenTtlMs: 1 })).resolves.toMatchObject({ state });
  });
});

test("a token without an expiry is valid forever", async () => {
  const token = await mint(state, config);
  const verified = await verify(token, at(Number.MAX_SAFE_INTEGER));
  expect("expMs" in verified || "expMs" in (payloadOf(token) as object)).toBe(false);
});

describe("the binding", () => {
  const bindings: readonly (TokenBind | undefined)[] = [
    undefined,
    ...["acme", "acm", "acme ", "ACME", ""],
    ...[{}, { tenant: "acme" }, { tenant: "acme", user: "u1" }, { tenant: "acme", user: "u2" }, { user: "acme" }],
    ...[{ tenant: "acme", user: null }, { tenant: ["acme"] }, { tenant: "acmeu1", user: "" }],
  ];

  test("must be equal in full: a token for one is refused for every other, and without a binding", async () => {
    for (const [index, mine] of bindings.entries()) {
      const token = await mint(state, { ...config, tokenBind: mine });
      for (const [other, theirs] of bindings.entries()) {
        const verified = verify(token, { ...config, tokenBind: theirs });
        if (index === other) expect((await verified).bind).toEqual(mine ?? null);
        else await expect(verified).rejects.toMatchObject({ code: "token_config_mismatch", path: "tokenBind" });
      }
    }
  });

  test("may have its fields in any order, and fields that are undefined", async () => {
    const token = await mint(state, { ...config, tokenBind: { tenant: "acme", user: "u1" } });
    const tokenBind = { user: "u1", tenant: "acme", team: undefined };
    await expect(verify(token, { ...config, tokenBind })).resolves.toMatchObject({ state });
  });
});

test("a token of another issuer is refused", async () => {
  const token = await mint(state, { ...config, tokenIssuer: "billing" });
  await expectRefusal(verify(token, config), "invalid_token_issuer");
  await expect(verify(token, { ...config, tokenIssuer: "billing" })).resolves.toMatchObject({ iss: "billing" });
});

test("a token minted with another config is refused", async () => {
  const token = await mint(state, { ...config, configFingerprint: "of yesterday" });
  const verified = verify(token, { ...config, configFingerprint: "of today" });
  await expect(verified).rejects.toMatchObject({ code: "token_config_mismatch", path: "configFingerprint" });
  await expectRefusal(verify(token, config), "token_config_mismatch");
});

test("of several reasons the first check is reported", async () => {
  const token = await mint(state, { ...config, tokenIssuer: "billing", tokenTtlMs: 1, tokenBind: "acme" });
  await expectRefusal(verify(token, at(NOW + 2)), "invalid_token_issuer");
  await expectRefusal(verify(token, { ...at(NOW + 2), tokenIssuer: "billing" }), "token_expired");
  await expectRefusal(verify(token, { ...config, tokenIssuer: "billing" }), "token_config_mismatch");
});

describe("an option that cannot be", () => {
  test.each([
    { tokenTtlMs: 0 },
    { tokenTtlMs: 1.5 },
    { tokenTtlMs: "1h" },
    { tokenTtlMs: Number.MAX_SAFE_INTEGER },
    { tokenMaxBytes: 0 },
    { tokenMaxBytes: Number.POSITIVE_INFINITY },
    { tokenBind: 7 },
    { tokenBind: null },
    { tokenBind: ["acme"] },
    { tokenBind: { since: new Date(0) } },
    { tokenBind: "\ud800" },
    { tokenIssuer: 7 },
    { configFingerprint: {} },
    { configFingerprint: "\ud800" },
    { clock: () => 0.5 },
    { clock: 7 },
  ])("is refused: %o", async (option) => {
    const path = Object.keys(option)[0];
    const bad = { ...config, ...option } as typeof config;
    await expect(mint(state, bad)).rejects.toMatchObject({ name: "TokenError", code: "invalid_options", path });
  });

  test("is refused where tokens are verified, too, and so is no config at all", async () => {
    const token = await mint(state, config);
    await expectRefusal(verify(token, { ...config, tokenMaxBytes: 0 }), "invalid_options");
    await expectRefusal(verify(token, undefined as unknown as typeof config), "invalid_options");
    await expect(mint(state, null as unknown as typeof config)).rejects.toBeInstanceOf(TokenError);
  });
});
