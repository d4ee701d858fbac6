// Tokens of the released format, made once with node:crypto and node:zlib. They must verify for ever: tokens in the hands
// of users outlive an update. A new format is a new version in front, and a new test.
import { expect, test } from "vitest";
import type { ResumeState } from "../../src/checkpoint/payload.ts";
import { mint, verify } from "../../src/checkpoint/resume-tokens.ts";
import { NOW, SECRET } from "./support.ts";

const config = {
  tokenSecret: SECRET,
  tokenTtlMs: 60_000,
  tokenBind: { tenant: "acme" },
  configFingerprint: "of the agent",
  clock: () => NOW,
};

const state: ResumeState = {
  runId: "run_1",
  requestId: "req_1",
  phase: "after_tools",
  basis: { basisRev: 7 },
  threadRef: { threadId: "thread_1", rev: 9 },
  context: { messages: [{ role: "user", content: "Grüße 🧵" }] },
};

const plain = [
  "rt2.eyJ2IjoyLCJpc3MiOiJoZWRkbGUiLCJydW5JZCI6InJ1bl8xIiwicmVxdWVzdElkIjoicmVxXzEiLCJpYXRNcyI6MTcwMDAw",
  "MDAwMDAwMCwiZXhwTXMiOjE3MDAwMDAwNjAwMDAsImNvbmZpZ0ZpbmdlcnByaW50Ijoib2YgdGhlIGFnZW50IiwiYmluZCI6eyJ0",
  "ZW5hbnQiOiJhY21lIn0sInBoYXNlIjoiYWZ0ZXJfdG9vbHMiLCJiYXNpcyI6eyJiYXNpc1JldiI6N30sInRocmVhZFJlZiI6eyJ0",
  "aHJlYWRJZCI6InRocmVhZF8xIiwicmV2Ijo5fSwic3RhdGUiOnsiY29udGV4dCI6eyJtZXNzYWdlcyI6W3sicm9sZSI6InVzZXIi",
  "LCJjb250ZW50IjoiR3LDvMOfZSDwn6e1In1dfX19.uhd1ipOqieBk4l0nfi4Y4I1ojn6t0_2Elv1waZqRI7k",
].join("");

const deflated = [
  "rt2.Ae3LQQrCMBAF0KvIX2dh3QhzAMGFZ5BoxnYgTtpkqkLp3SW68A6SWbzhf_gLHqCdg5QCwsAhRIZDnvUYQPWfu5p5mrnYt-Pp",
  "04m3UwF1--3vHK5Jb9IfRHvOYxY1EOBwEQ0gnWN0GAdfGATjfBf1EQ7FvDFoqXPjVx09U4qbRqPRaPwVWNc3.osW14pw28tXdWGQ",
  "yvAeFv9r7tkPzp6akaZC-HtmruAE",
].join("");

test("a token is minted as it was at first, character for character", async () => {
  expect(await mint(state, config)).toBe(plain);
});

test("a token of the first day verifies, and has the id under which it was revoked", async () => {
  expect(await verify(plain, config)).toEqual({
    tokenId: "vws1ltz_t6tJSIhDAqVhA4SMfAzaI653FtxmCtYf87Q",
    iss: "heddle",
    iatMs: NOW,
    expMs: NOW + 60_000,
    configFingerprint: "of the agent",
    bind: { tenant: "acme" },
    state,
  });
});

test("a deflated token of the first day verifies; its bytes may differ by platform, what it says may not", async () => {
  const verified = await verify(deflated, { tokenSecret: SECRET, clock: () => NOW });
  expect(verified.state).toEqual({
    ...{ runId: "run_1", requestId: "req_1", phase: "terminal", context: "wool ".repeat(300) },
  });
});
