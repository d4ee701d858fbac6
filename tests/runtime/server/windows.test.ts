import { ContextPolicy } from "heddle";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { anything, proveAll, type Stage, stage } from "../support/stage.ts";

const unknown = (script: Parameters<typeof scriptedModel>[0]) =>
  scriptedModel(script, { provider: "local", modelId: "llama-mine" });
const known = (script: Parameters<typeof scriptedModel>[0]) =>
  scriptedModel(script, { provider: "anthropic", modelId: "claude-sonnet-4" });

async function ask(on: Stage, server: Awaited<ReturnType<Stage["start"]>>, text: string, options = {}) {
  return on.end((await on.end(server.ask(text, options))).result);
}

/** The policy that the last call of a thread was made by. */
async function lastPolicy(on: Stage): Promise<unknown> {
  const entry = (await on.log()).findLast(({ payload }) => "call" in payload);
  const { call } = (entry ?? expect.fail("no call was made")).payload as { readonly call: { readonly policy: string } };
  return on.store.getBlob(call.policy);
}

describe("the window of an agent", () => {
  test("is 32,000 tokens for a model that is not known: twelve messages of 2 kB are all shown", async () => {
    const on = await stage();
    const model = unknown(Array.from({ length: 12 }, () => "Yes."));
    const server = await on.start({ model: model as never });
    for (let n = 1; n <= 12; n++) await ask(on, server, `Message ${n}. ${"word ".repeat(400)}`);
    expect(model.requests.at(-1)?.messages[0]?.text).toContain("Message 1.");
    expect(await lastPolicy(on)).toMatchObject({ maxInputTokens: 32_000 });
  });

  test("is warned of once for an agent whose model is not known, and names contextPolicy", async () => {
    const on = await stage();
    const { defineAgent, AgentServer } = await import("../support/heddle.ts");
    const warnings: string[] = [];
    const warn = (message: string) => void warnings.push(message);
    const agent = defineAgent({ name: "clerk", model: unknown([]) });
    for (const threadId of ["a", "b", "c"]) {
      await on.end((await on.end(AgentServer.start({ agent, store: on.store, threadId, warn }))).stop());
    }
    expect(warnings).toEqual([expect.stringMatching(/local:llama-mine.*"clerk".*32000.*contextPolicy/s)]);
    const quiet = [
      defineAgent({ model: unknown([]), contextPolicy: { maxInputTokens: 9000 } }),
      defineAgent({ model: known([]) }),
    ];
    for (const one of quiet) {
      await on.end((await on.end(AgentServer.start({ agent: one, store: on.store, threadId: "d", warn }))).stop());
    }
    expect(warnings).toHaveLength(1);
  });

  test("is the model's where a policy of the agent, of the request or set later names none", async () => {
    const on = await stage();
    const server = await on.start({
      model: known(["1.", "2.", "3."]) as never,
      contextPolicy: { autoSummarize: true },
    });
    await ask(on, server, "One?");
    expect(await lastPolicy(on)).toMatchObject({ autoSummarize: true, maxInputTokens: 100_000 });
    await ask(on, server, "Two?", { contextPolicy: { maxTurns: 2 } });
    expect(await lastPolicy(on)).toMatchObject({ maxTurns: 2, maxInputTokens: 100_000 });
    await on.end(server.setContextPolicy({ maxTurns: 3 }));
    await ask(on, server, "Three?");
    expect(await lastPolicy(on)).toMatchObject({ maxTurns: 3, maxInputTokens: 100_000 });
  });
});

describe("a result that is larger than the window", () => {
  test.each([
    ["an unknown model", unknown, 200_000],
    ["a known model", known, 700_000],
  ])("is shortened for %s, and kept whole in the log", async (_what, make, bytes) => {
    const on = await stage();
    const read = { inputSchema: anything, execute: () => "x".repeat(bytes) };
    const model = make([{ calls: [{ name: "read" }] }, "Read."]);
    const server = await on.start({ model: model as never, tools: { read } });
    expect((await ask(on, server, "Read it.")).text).toBe("Read.");
    expect(JSON.stringify(model.requests[1]?.messages)).toContain("left out");
    const result = (await on.log()).find(({ payload }) => "role" in payload && payload.role === "tool");
    expect(JSON.stringify(result?.payload).length).toBeGreaterThan(bytes);
    await proveAll(on.store, on.threadId);
  });

  test("is shortened also where only all results of an exchange together are", async () => {
    const on = await stage();
    const read = { inputSchema: anything, execute: () => "x".repeat(40_000) };
    const calls = Array.from({ length: 8 }, () => ({ name: "read" }));
    const server = await on.start({ model: unknown([{ calls }, "Read."]) as never, tools: { read } });
    expect((await ask(on, server, "Read them.")).text).toBe("Read.");
    await proveAll(on.store, on.threadId);
  });

  test("fails the request where a complete policy says nothing of shortening", async () => {
    const on = await stage();
    const read = { inputSchema: anything, execute: () => "x".repeat(200_000) };
    const model = unknown([{ calls: [{ name: "read" }] }]);
    const server = await on.start({ model: model as never, tools: { read }, contextPolicy: ContextPolicy.create() });
    await expect(ask(on, server, "Read it.")).rejects.toMatchObject({ failure: { code: "budget_overflow" } });
  });
});
