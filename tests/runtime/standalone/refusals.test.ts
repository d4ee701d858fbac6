import { memoryStore, react, resumeTokens, Thread, TokenError } from "heddle";
import { type ScriptedStep, scriptedModel } from "heddle/testing";
import { describe, expect, test, vi } from "vitest";
import { adder, all, anything, CALL, type Config, cast, codeOf, SECRET, stoppedAt, tokensIn } from "./support/runs.ts";

const OTHER = "another secret of at least 32 bytes";

describe("a token is refused, and the error says why", () => {
  test("when its time is over", async () => {
    let now = 1_000;
    const ports = { clock: () => now };
    const config = { tokenTtlMs: 500 };
    const handle = await react.start("Hi", cast(["4"], config).agent, { ports });
    await handle.result;
    const token = handle.token ?? "";
    now += 500;
    expect((await react.collect(token, cast([], config).agent, { ports })).text).toBe("4");
    now += 1;
    expect(await codeOf(react.continue(token, cast([], config).agent, { ports }))).toBe("token_expired");
    expect(await codeOf(react.collect(token, cast([], config).agent, { ports }))).toBe("token_expired");
    expect(await codeOf(react.cancel(token, cast([], config).agent, { ports }))).toBe("token_expired");
  });

  test("when it is for another user, or of another agent", async () => {
    const token = await stoppedAt("after_llm", cast([CALL], { tokenBind: { user: "u1" } }).agent);
    for (const config of [{ tokenBind: { user: "u2" } }, {}, { tokenBind: { user: "u1" }, name: "other" }]) {
      expect(await codeOf(react.continue(token, cast([], config).agent))).toBe("token_config_mismatch");
    }
  });

  test("when it was changed, cut or signed with another secret; a rotated secret still verifies", async () => {
    const { tools } = adder();
    const token = await stoppedAt("after_llm", cast([CALL], { tools }).agent);
    const [prefix, payload = "", signature] = token.split(".");
    const changed = `${prefix}.${payload.slice(0, -2)}${payload.endsWith("AA") ? "BB" : "AA"}.${signature}`;
    const { agent } = cast([], { tools });
    expect(await codeOf(react.continue(changed, agent))).toMatch(/^invalid_(token_signature|base64)$/);
    expect(await codeOf(react.continue(`${prefix}.${payload}`, agent))).toBe("invalid_token_format");
    expect(await codeOf(react.continue("rt1.abc.def", agent))).toBe("invalid_token_prefix");
    const others = cast([], { tools, tokenSecret: OTHER }).agent;
    expect(await codeOf(react.continue(token, others))).toBe("invalid_token_signature");
    const rotated = cast(["It is 4."], { tools, tokenSecret: [OTHER, SECRET] }).agent;
    const handle = await react.continue(token, rotated);
    expect((await handle.result).text).toBe("It is 4.");
    expect((await react.collect(handle.token ?? "", others)).text).toBe("It is 4."); // the first of the list signed
  });

  test("when its context is not that of a run", async () => {
    const config = { tokenSecret: SECRET, configFingerprint: "clerk" };
    const token = await resumeTokens.mint(
      { runId: "r", requestId: "q", phase: "after_llm", context: { mine: 1 } },
      config,
    );
    expect(await codeOf(react.continue(token, cast([]).agent))).toBe("invalid_token_state");
  });

  test("when its store is not passed, or is another", async () => {
    const token = await stoppedAt("after_llm", cast([CALL]).agent, { store: memoryStore(), threadId: "thread_1" });
    expect(await codeOf(react.continue(token, cast([]).agent))).toBe("invalid_options");
    expect(await codeOf(react.continue(token, cast([]).agent, { store: memoryStore() }))).toBe("thread_not_found");
    const other = memoryStore();
    await other.append("thread_1", { kind: "note" });
    expect(await codeOf(react.continue(token, cast([]).agent, { store: other }))).toBe("thread_not_found");
    await react.run("Hi", cast(["4"]).agent, { store: other, threadId: "thread_1" });
    expect(await codeOf(react.continue(token, cast([]).agent, { store: other }))).toBe("invalid_token_state");
  });

  test("when it was revoked, and all of a run when it was cancelled", async () => {
    const revocations = resumeTokens.revocations(memoryStore());
    const { tools, ran } = adder();
    const events = await all(react.stream("What's 2+2?", cast([CALL, "4"], { tools }).agent));
    const [first = "", second = ""] = tokensIn(events);
    await revocations.revoke(resumeTokens.id(first));
    expect(await codeOf(react.continue(first, cast([]).agent, { revocations }))).toBe("token_revoked");
    await react.cancel(second, cast([]).agent, { revocations });
    for (const token of [first, second]) {
      expect(await codeOf(react.continue(token, cast([]).agent, { revocations }))).toBe("token_revoked");
    }
    const terminal = tokensIn(events, "terminal")[0] ?? "";
    expect((await react.collect(terminal, cast([]).agent, { revocations })).text).toBe("4"); // it says what was, and does nothing
    expect(ran).toEqual(["call_a"]);
  });

  test("when who is to say whether it was revoked cannot", async () => {
    const token = await stoppedAt("after_llm", cast([CALL]).agent);
    const revocations = { isRevoked: () => Promise.reject(new Error("down")) };
    await expect(react.continue(token, cast([]).agent, { revocations })).rejects.toThrow("down");
  });

  test("when the one that says whether it was revoked never answers", async () => {
    const token = await stoppedAt("after_llm", cast([CALL]).agent);
    const revocations = { isRevoked: () => new Promise<never>(() => undefined) };
    const { agent } = cast([], { hookTimeoutMs: 1 });
    expect(await codeOf(react.continue(token, agent, { revocations }))).toBe("revocations_failed");
  });
});

describe("agents without a name", () => {
  const unnamed = (script: readonly ScriptedStep[], who: string, config: Config = {}) => {
    const { tools, ran } = adder();
    return { agent: cast(script, { name: undefined, systemPrompt: who, tools, ...config }).agent, ran };
  };

  test("continue their own runs, and not each other's", async () => {
    const token = await stoppedAt("after_llm", unnamed([CALL], "You are the clerk.").agent);
    const admin = unnamed(["Done."], "You are the admin.");
    const rich = unnamed(["Done."], "You are the clerk.", {
      tools: { ...adder().tools, pay: { inputSchema: anything } },
    });
    for (const { agent } of [admin, rich]) {
      await expect(react.continue(token, agent)).rejects.toMatchObject({
        code: "token_config_mismatch",
        path: "configFingerprint",
        message: expect.stringContaining("an agent of another name"),
      });
    }
    expect(admin.ran).toEqual([]);
    expect((await react.collect(token, unnamed(["Done."], "You are the clerk.").agent)).text).toBe("Done.");
  });

  test("with a name may have other tools and another prompt by the time a token comes back", async () => {
    const token = await stoppedAt("after_llm", cast([CALL], { tools: adder().tools }).agent);
    const tools = { ...adder().tools, pay: { inputSchema: anything } };
    const { agent } = cast(["Done."], { tools, systemPrompt: "Be brief." });
    expect((await react.collect(token, agent)).text).toBe("Done.");
  });
});

test("without a secret there is one warning in the life of the process, and tokens are good in it", async () => {
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  vi.resetModules(); // a test before this one may have had the warning of this process
  const { defineAgent, react } = await import("heddle");
  const agent = defineAgent({ model: scriptedModel(["1", "2"]) });
  await react.run("Hi", agent, { warn });
  expect(warnings, "nobody was handed a token").toEqual([]);
  const handle = await react.start("Hi", agent, { warn });
  await handle.result;
  expect((await react.collect(handle.token ?? "", agent, { warn })).text).toBe("2");
  expect(warnings).toEqual([expect.stringContaining("No tokenSecret is set")]);
});

test("a big context is compressed; above the limit a run without a store continues without tokens, and says so once", async () => {
  const { tools } = adder({ execute: () => Array.from({ length: 300 }, (_, n) => Math.sin(n)).join(" ") });
  const big = cast([CALL, "4"], { tools });
  const tokens = tokensIn(await all(react.stream("x".repeat(6_000), big.agent)));
  expect(tokens[0]?.length).toBeLessThan(3_000);
  expect(tokens).toHaveLength(4);
  const warnings: string[] = [];
  const small = cast([CALL, "4"], { tools, tokenMaxBytes: 3_000 });
  const events = await all(react.stream("Hi", small.agent, { warn: (message) => void warnings.push(message) }));
  expect(events.at(-1)?.kind).toBe("request_completed");
  expect(tokensIn(events)).toHaveLength(1);
  expect(warnings).toEqual([expect.stringContaining("with a store")]);
  const stored = await all(
    react.stream("Hi", cast([CALL, "4"], { tools, tokenMaxBytes: 3_000 }).agent, { store: memoryStore() }),
  );
  expect(tokensIn(stored)).toHaveLength(4);
});

test("no refusal shows the token, the secret or the messages", async () => {
  const handle = await react.start("A thing nobody may read", cast(["4"]).agent);
  await handle.result;
  const error: unknown = await react
    .continue(handle.token ?? "", cast([], { tokenSecret: OTHER }).agent)
    .catch((e) => e);
  expect(TokenError.isInstance(error)).toBe(true);
  const shown = JSON.stringify(error) + String(error);
  for (const secret of [SECRET, OTHER, handle.token?.slice(4) ?? "", "nobody"]) expect(shown).not.toContain(secret);
});

test("a token of a long run carries all of it, also what its model was not shown", async () => {
  const list = Array.from({ length: 1000 }, (_, n) => ({ role: n % 2 === 0 ? "user" : "assistant", content: `m${n}` }));
  const thread = Thread.fromMessages(list, { format: "openai-chat" });
  const config = { contextPolicy: { maxInputTokens: 400, reserveOutputTokens: 100 } };
  const { agent, model } = cast(["4", "5"], config);
  const handle = await react.start("And now?", agent, { thread });
  const result = await handle.result;
  expect(model.requests[0]?.messages.length).toBeLessThan(50);
  expect([result.thread.firstSeq, result.thread.entryCount]).toEqual([0, 1002]);
  const again = await react.collect(handle.token ?? "", agent);
  expect(again.thread.toArray()).toEqual(result.thread.toArray());
  expect((await react.run("And then?", agent, { thread: again.thread })).thread.entryCount).toBe(1004);
});
