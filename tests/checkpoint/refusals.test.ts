import { deflateRawSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { TokenError } from "../../src/checkpoint/error.ts";
import type { ResumeState } from "../../src/checkpoint/payload.ts";
import { mint, tokenIdOf, verify } from "../../src/checkpoint/resume-tokens.ts";
import { config, expectRefusal, forge, NOW, OTHER_SECRET, payload, SECRET, signed, state } from "./support.ts";

const good = forge(payload);
const [, body = "", signature = ""] = good.split(".");

test("a token made elsewhere by the same rules is a token", async () => {
  expect(await mint(state, config)).toBe(good);
  expect(await verify(good, config)).toEqual({
    ...{ tokenId: tokenIdOf(good), iss: "heddle", iatMs: NOW, configFingerprint: "", bind: null },
    state,
  });
});

describe("what is no resume token", () => {
  test.each(["", "rt1.abc.def", "rt3.abc.def", "rt2", ` ${good}`, good.replace("rt2", "RT2")])(
    "%j has a wrong prefix",
    (token) => expectRefusal(verify(token, config), "invalid_token_prefix"),
  );

  test("a token of the first format is refused even when it is signed", () =>
    expectRefusal(verify(signed(`rt1.${body}`), config), "invalid_token_prefix"));

  test("nor is a value that is not text", async () => {
    for (const token of [undefined, null, 7, {}, [good]]) {
      await expectRefusal(verify(token as string, config), "invalid_token_prefix");
    }
  });

  test.each(["rt2.", "rt2..", `rt2.${body}`, `rt2.${body}.`, `rt2..${signature}`, `${good}.`, `${good}.x`])(
    "%j has the wrong number of parts",
    (token) => expectRefusal(verify(token, config), "invalid_token_format"),
  );
});

describe("a part that is not base64url", () => {
  test.each([
    ["a foreign character", `rt2.${body}!.${signature}`],
    ["padding", `rt2.${body}.${signature}=`],
    ["white space", `rt2.${body}.${signature}\n`],
    ["the other alphabet", `rt2.++++.${signature}`],
    ["a length that none has", `rt2.abcde.${signature}`],
    ["a letter beyond Latin", `rt2.é${body}.${signature}`],
  ])("is refused for %s", (_what, token) => expectRefusal(verify(token, config), "invalid_base64"));

  test("is refused for bits left over, with which one signature would have four texts", async () => {
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const last = letters.indexOf(good.slice(-1));
    expect(last % 4).toBe(0);
    for (const extra of [1, 2, 3]) {
      const token = good.slice(0, -1) + letters[last + extra];
      expect(Buffer.from(token.split(".")[2] ?? "", "base64url")).toEqual(Buffer.from(signature, "base64url"));
      await expectRefusal(verify(token, config), "invalid_base64");
    }
  });
});

describe("the signature", () => {
  test("of another secret is refused", () =>
    expectRefusal(verify(forge(payload, OTHER_SECRET), config), "invalid_token_signature"));

  test("that is too short, too long or of another token is refused", async () => {
    const other = forge({ ...payload, runId: "run_2" }).split(".")[2] ?? "";
    for (const mac of ["abcd", `${signature.slice(0, 40)}`, `abcd${signature}`, other]) {
      await expectRefusal(verify(`rt2.${body}.${mac}`, config), "invalid_token_signature");
    }
  });

  test("covers the version in front", () => {
    const moved = `rt2.${body}.${signed(`rt1.${body}`).split(".")[2]}`;
    return expectRefusal(verify(moved, config), "invalid_token_signature");
  });

  test("is checked before anything of the payload is read", async () => {
    const expired = { ...payload, expMs: NOW - 1 };
    const payloads = ["no json", Uint8Array.of(1, 255, 255), { v: 1 }, expired, { ...payload, state: { thread: 1 } }];
    for (const bad of payloads) {
      await expectRefusal(verify(forge(bad, OTHER_SECRET), config), "invalid_token_signature");
    }
  });
});

describe("a signed payload", () => {
  test.each([
    ["empty of JSON", "no json"],
    ["cut", '{"v":2'],
    ["a list", "[2]"],
    ["no UTF-8", Buffer.from(JSON.stringify({ ...payload, iss: "hedd\u00ffle" }), "latin1")],
    ["marked as deflated and not", Uint8Array.of(1, 255, 255, 255)],
    ["marked as deflated and empty", Uint8Array.of(1)],
    ["of an unknown packing", Buffer.concat([Buffer.of(2), deflateRawSync(JSON.stringify(payload))])],
    ["a deflated list", Buffer.concat([Buffer.of(1), deflateRawSync("[2]")])],
    ["a deflated null", Buffer.concat([Buffer.of(1), deflateRawSync("null")])],
    ["without an issuer", { ...payload, iss: undefined }],
    ["without a time", { ...payload, iatMs: "now" }],
    ["with a broken end", { ...payload, expMs: "never" }],
    ["with half a millisecond", { ...payload, expMs: NOW + 0.5 }],
    ["without a fingerprint", { ...payload, configFingerprint: null }],
    ["bound to a number", { ...payload, bind: 7 }],
  ])("that is %s is refused", (_what, bad) => expectRefusal(verify(forge(bad), config), "invalid_token_payload"));

  test.each([1, 3, "2", null, undefined])("of version %j is refused", (v) =>
    expectRefusal(verify(forge({ ...payload, v }), config), "token_version_mismatch"),
  );

  test("may say more than is known here", async () => {
    const more = { ...payload, more: true, state: { context: { step: 3 }, more: 1 } };
    expect((await verify(forge(more), config)).state).toEqual(state);
  });
});

describe("the state of a signed payload", () => {
  test.each([
    ["no run", { ...payload, runId: "" }],
    ["no request", { ...payload, requestId: undefined }],
    ["no phase", { ...payload, phase: undefined }],
    ["an unknown phase", { ...payload, phase: "before_llm" }],
    ["a basis that is a list", { ...payload, basis: [1] }],
    ["no state", { ...payload, state: undefined }],
    ["a state that is null", { ...payload, state: null }],
    ["a state without a context", { ...payload, state: {} }],
    ["a revision before the first", { ...payload, threadRef: { threadId: "thread_1", rev: -1 } }],
    ["half a revision", { ...payload, threadRef: { threadId: "thread_1", rev: 0.5 } }],
    ["a thread without an id", { ...payload, threadRef: { threadId: "", rev: 1 } }],
    ["a thread that is a text", { ...payload, threadRef: "thread_1" }],
    ["a reference that says more", { ...payload, threadRef: { threadId: "thread_1", rev: 1, tenant: "acme" } }],
  ])("with %s is refused", (_what, bad) => expectRefusal(verify(forge(bad), config), "invalid_token_state"));

  test("is refused when it is nested deeper than a stack is safe", async () => {
    const deep = JSON.stringify(payload).replace('{"step":3}', `${"[".repeat(99_000)}${"]".repeat(99_000)}`);
    await expectRefusal(verify(forge(deep), config), "invalid_token_state");
  });

  test.each([
    ["in the state", { ...payload, state: { context: {}, thread: { id: "thread_1" } } }],
    ["beside the state", { ...payload, thread: null }],
  ])("with a thread %s is of an earlier format", (_where, bad) =>
    expectRefusal(verify(forge(bad), config), "legacy_token_state"),
  );
});

describe("a state that is minted", () => {
  const mintLoosely = (bad: unknown): Promise<string> => mint(bad as ResumeState, config);

  test("with a thread in it is of an earlier format, whatever the thread is", async () => {
    await expectRefusal(mintLoosely({ ...state, thread: { id: "thread_1" } }), "legacy_token_state");
    await expectRefusal(mintLoosely({ ...state, thread: new Map() }), "legacy_token_state");
    await expect(mintLoosely({ ...state, thread: undefined })).resolves.toBe(good);
  });

  test("must be whole, and hold nothing that would be lost", async () => {
    const bads = [undefined, null, "run_1", [], {}, { ...state, phase: "paused" }, { ...state, context: undefined }];
    for (const bad of [...bads, { ...state, usage: 7 }, { ...state, runId: 7 }]) {
      await expectRefusal(mintLoosely(bad), "invalid_token_state");
    }
  });

  test.each([
    ["state.runId", { ...state, runId: "" }],
    ["state.requestId", { ...state, requestId: 7 }],
    ["state.phase", { ...state, phase: "paused" }],
    ["state.basis", { ...state, basis: [1] }],
    ["state.threadRef", { ...state, threadRef: { threadId: "thread_1" } }],
    ["state", { ...state, context: undefined }],
    ["state", { ...state, usage: 7 }],
  ])("is refused with the path of its invalid field: %s", async (path, bad) => {
    await expect(mintLoosely(bad)).rejects.toMatchObject({ code: "invalid_token_state", path });
  });

  test("names the place of what JSON cannot hold", async () => {
    const bad = mintLoosely({ ...state, context: { list: [1, () => 2] } });
    await expect(bad).rejects.toMatchObject({
      code: "invalid_token_state",
      message: "state.context.list[1] is a function, which JSON cannot hold.",
    });
  });

  test("that throws when it is read is refused", () => {
    const trap = { ...state };
    Object.defineProperty(trap, "thread", { enumerable: true, get: boom });
    return expectRefusal(mintLoosely(trap), "invalid_token_state");
  });
});

test("no message, field or cause of a refusal holds a secret, the token or anything of the state", async () => {
  const hidden = { password: "hunter2 hunter2" };
  const full = { ...payload, state: { context: hidden }, bind: "hunter2", configFingerprint: "hunter2" };
  const loose = { ...payload, state: { context: hidden } };
  const tokens = [
    ...[
      forge({ ...loose, phase: "hunter2" }),
      forge({ ...loose, basis: "hunter2" }),
      forge({ ...loose, threadRef: hidden }),
    ],
    ...[forge({ ...full, iss: "hunter2" }), forge({ ...full, expMs: 1 })],
    ...[forge(full), forge('{"hunter2": hunter2'), forge(full, OTHER_SECRET), forge({ ...full, v: "hunter2" })],
    ...[forge({ ...payload, state: { ...hidden, thread: hidden } }), "hunter2", "rt2.hunter2", "rt2.hunter2!.hunter2"],
  ];
  for (const token of tokens) {
    const error: unknown = await verify(token, config).catch((error: unknown) => error);
    expect(TokenError.isInstance(error)).toBe(true);
    const { message, stack, cause, ...fields } = error as TokenError;
    expect(cause).toBeUndefined();
    for (const secret of ["hunter2", SECRET, token])
      expect(`${message}${stack}${JSON.stringify(fields)}`).not.toContain(secret);
  }
});

function boom(): never {
  throw new Error("boom");
}
