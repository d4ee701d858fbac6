import { beforeEach, describe, expect, test, vi } from "vitest";
import { mint, verify } from "../../src/checkpoint/resume-tokens.ts";
import { config, expectRefusal, forge, OTHER_SECRET, payload, SECRET, state } from "./support.ts";

const under = (tokenSecret: string | readonly string[]) => ({ ...config, tokenSecret });

describe("rotating the secret", () => {
  const NEXT = "the secret from next month on, long";

  test("the first of the list signs", async () => {
    expect(await mint(state, under([NEXT, SECRET]))).toBe(forge(payload, NEXT));
    expect(await mint(state, under([SECRET, NEXT]))).toBe(forge(payload, SECRET));
    expect(await mint(state, under([SECRET]))).toBe(await mint(state, under(SECRET)));
  });

  test("all of the list verify, wherever they stand; one that is gone no longer does", async () => {
    const old = await mint(state, under(SECRET));
    for (const list of [
      [NEXT, SECRET],
      [SECRET, NEXT],
      [NEXT, OTHER_SECRET, SECRET],
    ]) {
      await expect(verify(old, under(list))).resolves.toMatchObject({ state });
    }
    await expectRefusal(verify(old, under([NEXT, OTHER_SECRET])), "invalid_token_signature");
  });
});

describe("a secret", () => {
  const invalid = async (tokenSecret: unknown): Promise<void> => {
    const bad = under(tokenSecret as string);
    await expectRefusal(mint(state, bad), "invalid_options");
    await expectRefusal(verify(forge(payload), bad), "invalid_options");
  };

  test("needs 32 bytes, not 32 characters", async () => {
    await invalid("");
    await invalid("x".repeat(31));
    await expect(mint(state, under("x".repeat(32)))).resolves.toMatch(/^rt2\./);
    await expect(mint(state, under("é".repeat(16)))).resolves.toMatch(/^rt2\./);
    await invalid("é".repeat(15));
  });

  test("is refused when only one of a list is bad, or the list is empty", async () => {
    await invalid([]);
    await invalid([SECRET, "short"]);
    await invalid([SECRET, undefined]);
  });

  test("is a text, and not one that stands for another", async () => {
    await invalid(null);
    await invalid(7);
    await invalid(`${SECRET}\ud800`);
    await invalid(`${SECRET}\0`);
  });

  test("is never printed", async () => {
    const error: unknown = await mint(state, under([SECRET, "short and secret"])).catch((error: unknown) => error);
    expect(error).toMatchObject({ path: "tokenSecret[1]" });
    expect(String((error as Error).stack)).not.toContain("short and secret");
  });
});

/** Both functions from modules that are loaded after the last `vi.resetModules`. */
async function freshTokens() {
  const [{ mint }, { verify }] = await Promise.all([
    import("../../src/checkpoint/resume-tokens.ts"),
    import("../../src/checkpoint/resume-tokens.ts"),
  ]);
  return { mint, verify };
}

describe("without a secret", () => {
  beforeEach(() => vi.resetModules());

  test("tokens are valid within the process, and the warning comes exactly once", async () => {
    const room = await freshTokens();
    const warn = vi.fn();
    const tokens = await Promise.all([room.mint(state, { warn }), room.mint(state, { warn, tokenSecret: undefined })]);
    for (const token of tokens) expect(await room.verify(token, { warn })).toMatchObject({ state });
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("tokenSecret"));
  });

  test("a caller without warn does not use up the warning", async () => {
    const room = await freshTokens();
    const warn = vi.fn();
    await room.mint(state, {} as { warn: typeof warn });
    await room.mint(state, { warn });
    expect(warn).toHaveBeenCalledTimes(1);
  });

  test("a token of another process is refused", async () => {
    const warn = vi.fn();
    const here = await freshTokens();
    const token = await here.mint(state, { warn });
    vi.resetModules(); // now that all of it is loaded
    const there = await freshTokens();
    expect(here.mint).not.toBe(there.mint);
    await expect(there.verify(token, { warn })).rejects.toMatchObject({ code: "invalid_token_signature" });
    expect(warn).toHaveBeenCalledTimes(2);
  });

  test("no warning comes when there is one", async () => {
    const warn = vi.fn();
    await verify(await mint(state, { ...config, warn }), { ...config, warn });
    expect(warn).not.toHaveBeenCalled();
  });
});
