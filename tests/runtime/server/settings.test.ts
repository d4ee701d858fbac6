import { AgentServer, defineAgent, loadExactCounter, memoryStore, RequestError, type Thread } from "heddle";
import { recordedCall } from "heddle/core";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { anything, failureOf, gate, proveAll, stage } from "../support/stage.ts";

const ask = async (
  on: Awaited<ReturnType<typeof stage>>,
  server: Awaited<ReturnType<typeof on.start>>,
  ...texts: string[]
) => {
  for (const text of texts) await on.end((await on.end(server.ask(text))).result);
};

describe("the system prompt", () => {
  test("may be changed, with one warning", async () => {
    const on = await stage();
    const script = ["Be A.", "Be B.", "Be D."].map((system) => ({ expect: { system }, text: "Ok." }));
    const server = await on.start({ script, systemPrompt: "Be A." });
    await ask(on, server, "1?");
    await on.end(server.setSystemPrompt("Be B."));
    await ask(on, server, "2?");
    await on.end(server.setSystemPrompt("Be D."));
    await ask(on, server, "3?");
    expect(on.warnings).toHaveLength(1);
    expect(on.warnings[0]).toContain("prompt cache");
    await expect(on.end(server.setSystemPrompt(7 as never))).rejects.toThrow(RequestError);
    await proveAll(on.store, on.threadId);
  });

  test("that changed since the last process is warned of too", async () => {
    const on = await stage();
    const first = await on.start({ script: ["1."], systemPrompt: "Be A." });
    await ask(on, first, "1?");
    await on.end(first.stop());
    const second = await on.start({ script: ["2."], systemPrompt: "Be B." });
    await ask(on, second, "2?");
    expect(on.warnings).toHaveLength(1);
  });

  test("that changes with every process is warned of once", async () => {
    const on = await stage();
    for (const [at, systemPrompt] of ["Be A.", "Be B.", "Be A.", "Be C."].entries()) {
      const server = await on.start({ script: [`${at}.`], systemPrompt });
      await ask(on, server, `${at}?`);
      await on.end(server.stop());
    }
    expect(on.warnings.filter((warning) => warning.includes("prompt cache"))).toHaveLength(1);
  });

  test("that changes in many threads of an agent is warned of once, and once for another agent", async () => {
    const store = memoryStore();
    const warnings: string[] = [];
    const agentOf = (name: string) =>
      defineAgent({ name, model: scriptedModel(["1.", "2."].flatMap((text) => [text, text, text])) });
    for (const agent of [agentOf("first"), agentOf("second")]) {
      for (const threadId of ["a", "b", "c"]) {
        const warn = (message: string): void => void warnings.push(message);
        await using server = await AgentServer.start({ agent, store, threadId: `${agent.name}_${threadId}`, warn });
        await (await server.ask("1?")).result;
        await server.setSystemPrompt("Be brief.");
        await (await server.ask("2?")).result;
      }
    }
    expect(warnings).toEqual([
      expect.stringMatching(/^Agent "first", thread first_a: .* prompt cache/),
      expect.stringMatching(/^Agent "second", thread second_a: .* prompt cache/),
    ]);
  });

  test("whose function throws or gives no text refuses the ask", async () => {
    for (const systemPrompt of [() => Promise.reject(new Error("no")), () => 7]) {
      const on = await stage();
      const server = await on.start({ script: [], systemPrompt } as never);
      expect((await failureOf(on.end(server.ask("1?")))).code).toBe("system_prompt_failed");
      expect(await on.log()).toEqual([]);
    }
  });
});

test("the policy can be set on the running server, also while something is written", async () => {
  const on = await stage();
  const server = await on.start({ script: ["1.", "2.", "3.", { expect: { messages: [{ text: "4?" }] }, text: "4." }] });
  await ask(on, server, "1?", "2?");
  const asked = server.ask("3?");
  const set = server.setContextPolicy({ maxTurns: 1, keepLastTurns: 1 });
  const { result } = await on.end(asked);
  expect((await on.end(result)).text).toBe("3.");
  expect((await on.end((await on.end(set)).settled)).status).toBe("applied");
  await ask(on, server, "4?");
  await expect(on.end(server.setContextPolicy({ maxInputTokens: -1 }))).rejects.toThrow();
  await proveAll(on.store, on.threadId);
});

test("a policy that wants exact counts gets them, also for a single request", async () => {
  const on = await stage();
  const model = "openai:gpt-4o";
  const { scriptedModel } = await import("heddle/testing");
  await loadExactCounter(model); // loaded by now: virtual time does not wait for a module
  const [provider = "", modelId = ""] = model.split(":");
  const server = await on.start({ model: scriptedModel(["1.", "2."], { provider, modelId }) });
  const one = await on.end(server.ask("1?", { contextPolicy: { tokenEstimator: "exact" } }));
  await on.end(one.result);
  await on.end(server.setContextPolicy({ tokenEstimator: "exact" }));
  await ask(on, server, "2?");
  const counters = (await on.log()).flatMap((entry) => recordedCall(entry)?.counter?.id ?? []);
  expect(counters).toHaveLength(2);
  expect(counters).not.toContain("heuristic");
});

test("a policy that wants exact counts while a request runs is counted exactly from the next request on", async () => {
  const on = await stage();
  const { scriptedModel } = await import("heddle/testing");
  await loadExactCounter("openai:gpt-4o"); // loaded by now: virtual time does not wait for a module
  const hold = gate();
  const tools = { wait: { inputSchema: anything, execute: () => hold.promise } };
  const script = [{ calls: [{ name: "wait" }] }, "Done.", "Again."];
  const server = await on.start({ model: scriptedModel(script, { provider: "openai", modelId: "gpt-4o" }), tools });
  const request = await on.end(server.ask("Go."));
  await on.settled();
  await on.end(server.setContextPolicy({ tokenEstimator: "exact" }));
  hold.resolve();
  await on.end(request.result);
  await ask(on, server, "Again.");
  const counters = (await on.log()).flatMap((entry) => recordedCall(entry)?.counter?.id ?? []);
  expect(counters).toEqual(["heuristic", "heuristic", expect.not.stringMatching("heuristic")]);
});

test("explain says what became of every entry in the view of the last call", async () => {
  const on = await stage();
  const look = { inputSchema: anything, execute: () => "seen" };
  const server = await on.start({
    script: ["1.", { calls: [{ name: "look" }] }, "2."],
    tools: { look },
    contextPolicy: { maxTurns: 1, keepLastTurns: 1 },
  });
  expect(await server.explain()).toEqual([]);
  await ask(on, server, "1?", "2?");
  expect((await server.explain()).map(({ seq, status }) => [seq, status])).toEqual([
    [0, "cut"],
    [1, "cut"],
    [2, "shown"],
    [3, "shown"],
    [4, "shown"],
  ]);
});

test("explain covers a long thread before its first call here, however little of it was loaded at first", async () => {
  const on = await stage();
  const entries = Array.from({ length: 3_000 }, (_, index) => ({
    kind: "message",
    payload: { role: index % 2 === 0 ? "user" : "assistant", content: `Word ${index}.` },
  }));
  await on.store.append(on.threadId, entries);
  const contextPolicy = { maxInputTokens: 12_000, reserveOutputTokens: 1_000 };
  const server = await on.start({ script: ["Hi."], contextPolicy });
  const shown = async () => (await server.explain()).filter(({ status }) => status === "shown").length;
  const before = await shown();
  expect(before).toBeGreaterThan(200);
  expect((await server.thread()).firstSeq).toBeGreaterThan(0);
  await ask(on, server, "Go on.");
  expect(Math.abs((await shown()) - before)).toBeLessThan(100);
});

test("a long thread is not kept in memory: after many requests only its end is loaded", async () => {
  const on = await stage();
  let thread: Thread | undefined;
  const script = Array.from({ length: 8 }, (_, index) => `${index}.`);
  const entries = Array.from({ length: 4_500 }, (_, index) => ({
    kind: "ai_message",
    payload: { contextRef: "default", role: index % 2 === 0 ? "user" : "assistant", content: `Word ${index}.` },
  }));
  await on.store.append(on.threadId, entries);
  const server = await on.start({ script });
  for (let index = 0; index < 4; index++) {
    await ask(on, server, `${index}?`);
    await on.settled();
    thread = await server.thread();
    expect(thread.rev).toBe(4_500 + 2 * (index + 1));
  }
  expect((thread?.rev ?? 0) - (thread?.firstSeq ?? 0)).toBeLessThan(4_096);
  await ask(on, server, "Last?");
  await proveAll(on.store, on.threadId);
});

test("a thread with no name gets one, and an agent that was not defined is refused", async () => {
  const on = await stage({ store: memoryStore() });
  const server = await on.start({ script: ["Hi."] }, { threadId: undefined });
  expect(server.threadId).toMatch(/^thread_/);
  await expect(on.start({}, { agent: {} as never })).rejects.toMatchObject({ code: "invalid_agent" });
});
