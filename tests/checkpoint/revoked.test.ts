import { memoryStore } from "heddle";
import { describe, expect, test, vi } from "vitest";
import { checkpointRevocations, mint, tokenIdOf, verify } from "../../src/checkpoint/resume-tokens.ts";
import { config, expectRefusal, forge, OTHER_SECRET, payload, state } from "./support.ts";

describe("a revoked token", () => {
  test("is refused from then on, and no other with it", async () => {
    const revocations = checkpointRevocations(memoryStore());
    const asking = { ...config, revocations };
    const token = await mint(state, asking);
    const other = await mint({ ...state, runId: "run_2" }, asking);
    const { tokenId } = await verify(token, asking);
    await revocations.revoke(tokenId);
    await revocations.revoke(tokenId);
    await expectRefusal(verify(token, asking), "token_revoked");
    await expect(verify(other, asking)).resolves.toMatchObject({ state: { runId: "run_2" } });
    await expect(verify(token, config)).resolves.toMatchObject({ tokenId });
  });

  test("is refused by every process with the store", async () => {
    const store = memoryStore();
    const token = await mint(state, config);
    await checkpointRevocations(store).revoke(tokenIdOf(token));
    await expectRefusal(verify(token, { ...config, revocations: checkpointRevocations(store) }), "token_revoked");
  });

  test("is asked for last, and only when the token is good otherwise", async () => {
    const isRevoked = vi.fn(async () => true);
    const asking = { ...config, revocations: { isRevoked } };
    for (const bad of [
      forge(payload, OTHER_SECRET),
      forge({ ...payload, expMs: 1 }),
      forge({ ...payload, phase: "" }),
    ]) {
      await expect(verify(bad, asking)).rejects.not.toMatchObject({ code: "token_revoked" });
    }
    expect(isRevoked).not.toHaveBeenCalled();
    await expectRefusal(verify(forge(payload), asking), "token_revoked");
    expect(isRevoked.mock.calls).toEqual([[tokenIdOf(forge(payload))]]);
  });

  test("is refused, too, when the list of revocations fails", async () => {
    const store = memoryStore();
    await store.close();
    const verified = verify(forge(payload), { ...config, revocations: checkpointRevocations(store) });
    await expect(verified).rejects.toMatchObject({ code: "store_closed" });
  });
});

describe("the id of a token", () => {
  test("returns the id of a token that no longer verifies, without its signature", async () => {
    const foreign = forge(payload, OTHER_SECRET);
    expect(tokenIdOf(foreign)).toMatch(/^[\w-]{43}$/);
    expect(foreign).not.toContain(tokenIdOf(foreign));
    expect(tokenIdOf(foreign)).not.toBe(tokenIdOf(forge(payload)));
    expect((await verify(forge(payload), config)).tokenId).toBe(tokenIdOf(forge(payload)));
  });

  test("is not called for a text that is not a token", () => {
    expect(() => tokenIdOf("rt1.abc.def")).toThrow(expect.objectContaining({ code: "invalid_token_prefix" }));
    expect(() => tokenIdOf("rt2.abc")).toThrow(expect.objectContaining({ code: "invalid_token_format" }));
  });
});
