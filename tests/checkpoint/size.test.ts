import { deflateRawSync } from "node:zlib";
import { describe, expect, test, vi } from "vitest";
import { TokenError } from "../../src/checkpoint/error.ts";
import type { ResumeState } from "../../src/checkpoint/payload.ts";
import { mint, verify } from "../../src/checkpoint/resume-tokens.ts";
import { config, expectRefusal, forge, payload, payloadOf, signed, state } from "./support.ts";

const threadRef = { threadId: "thread_1", rev: 40 };
const deflated = (json: string) => forge(Buffer.concat([Buffer.of(1), deflateRawSync(json)]));
/** Text that does not deflate to much less than itself. */
const noise = (length: number) => Array.from({ length }, (_, n) => ((n * n * 7919) % 8191).toString(36)).join("");

describe("compression", () => {
  const talk = { messages: Array.from({ length: 200 }, (_, n) => ({ role: "user", content: `Message number ${n}` })) };

  test("a big payload is deflated, and comes back whole", async () => {
    const token = await mint({ ...state, context: talk }, config);
    expect(token.length).toBeLessThan(JSON.stringify(talk).length / 3);
    expect(payloadOf(token)).toEqual({ ...payload, state: { context: talk } });
    expect((await verify(token, config)).state).toEqual({ ...state, context: talk });
  });

  test("a small payload is readable JSON", async () => {
    expect(await mint(state, config)).toBe(forge(payload));
  });

  test("a platform that cannot deflate mints plain tokens, and says what it cannot read", async () => {
    const token = await mint({ ...state, context: talk }, config);
    vi.stubGlobal("CompressionStream", undefined);
    vi.stubGlobal("DecompressionStream", undefined);
    const plain = await mint({ ...state, context: talk }, config);
    expect(plain).toBe(forge({ ...payload, state: { context: talk } }));
    expect((await verify(plain, config)).state).toEqual({ ...state, context: talk });
    await expectRefusal(verify(token, config), "invalid_token_payload");
  });

  test("a deflated payload that is cut is refused", async () => {
    const whole = deflateRawSync(JSON.stringify({ ...payload, state: { context: talk } }));
    for (const length of [0, 1, 20, whole.length - 1]) {
      const cut = forge(Buffer.concat([Buffer.of(1), whole.subarray(0, length)]));
      await expectRefusal(verify(cut, config), "invalid_token_payload");
    }
  });
});

describe("a bomb", () => {
  test("is refused when it has inflated as far as the limit goes, not when memory is gone", async () => {
    const bomb = deflated(`{"v":2,"x":"${"0".repeat(100_000_000)}"}`);
    expect(bomb.length).toBeLessThan(200_000);
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }, 1);
    const refused = await verify(bomb, config).catch((error: unknown) => error);
    clearInterval(watch);
    expect(refused).toMatchObject({ code: "token_too_large", limit: 16 * 2 ** 20 });
    expect(most).toBeLessThan(50e6);
  });

  test("is measured by the limit of the verifier: as much as fits passes, a byte more does not", async () => {
    const limit = 16 * 4096;
    const empty = JSON.stringify({ ...payload, state: { context: "" } }).length;
    const filled = (length: number) =>
      deflated(JSON.stringify({ ...payload, state: { context: "0".repeat(length - empty) } }));
    const tight = { ...config, tokenMaxBytes: 4096 };
    await expect(verify(filled(limit), tight)).resolves.toMatchObject({ iss: "heddle" });
    await expectRefusal(verify(filled(limit + 1), tight), "token_too_large");
    await expect(verify(filled(limit + 1), config)).resolves.toMatchObject({ iss: "heddle" });
  });

  test("is not minted: what could not be verified is refused at once", async () => {
    const tight = { ...config, tokenMaxBytes: 4096 };
    const fits = { ...state, context: "0".repeat(16 * 4096 - 250) };
    expect((await verify(await mint(fits, tight), tight)).state).toEqual(fits);
    await expectRefusal(mint({ ...state, context: "0".repeat(16 * 4096) }, tight), "token_too_large");
  });
});

describe("the longest token", () => {
  test("is as long as the limit: one byte less is too small a limit, for minting and verifying", async () => {
    const token = await mint(state, config);
    const fits = { ...config, tokenMaxBytes: token.length };
    const small = { ...config, tokenMaxBytes: token.length - 1 };
    await expect(verify(await mint(state, fits), fits)).resolves.toMatchObject({ state });
    await expect(mint(state, small)).rejects.toMatchObject({
      ...{ code: "token_too_large", bytes: token.length, limit: token.length - 1 },
    });
    await expectRefusal(verify(token, small), "token_too_large");
  });

  test("is a megabyte by default, whatever the token contains", async () => {
    await expectRefusal(verify(`rt2.${"A".repeat(2 ** 20)}`, config), "token_too_large");
    await expectRefusal(verify(signed(`rt2.${"A".repeat(2 ** 20 - 48)}`), config), "invalid_token_payload");
  });
});

describe("a reference to the thread", () => {
  const big: ResumeState = { ...state, basis: { basisRev: 39 }, context: noise(3000), threadRef };
  const tight = { ...config, tokenMaxBytes: 1000 };

  test("takes the place of a context that is too large", async () => {
    const token = await mint(big, tight);
    expect(payloadOf(token)).toEqual({ ...payload, basis: { basisRev: 39 }, threadRef, state: undefined });
    const { context: _context, ...referred } = big;
    expect((await verify(token, tight)).state).toEqual(referred);
  });

  test("takes its place also when the context would inflate too far", async () => {
    const { state: verified } = await verify(await mint({ ...big, context: "0".repeat(20_000) }, tight), tight);
    expect(verified.context).toBeUndefined();
  });

  test("goes along with a context that fits", async () => {
    expect((await verify(await mint(big, config), config)).state).toEqual(big);
  });

  test("is all there is when no context is given", async () => {
    const referred: ResumeState = { runId: "run_1", requestId: "req_1", phase: "terminal", threadRef };
    const token = await mint(referred, config);
    expect(payloadOf(token)).not.toHaveProperty("state");
    expect((await verify(token, config)).state).toEqual(referred);
  });

  test("does not help when even that is too large, or when another error is the trouble", async () => {
    await expectRefusal(mint({ ...big, basis: { noise: noise(3000) } }, tight), "token_too_large");
    await expectRefusal(mint({ ...big, runId: "" }, tight), "invalid_token_state");
    const { threadRef: _ref, ...without } = big;
    await expect(mint(without as ResumeState, tight)).rejects.toSatisfy(
      (error) =>
        TokenError.isInstance(error) && error.code === "token_too_large" && error.message.includes("threadRef"),
    );
  });
});
