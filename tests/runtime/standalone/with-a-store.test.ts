import { AgentServer, memoryStore, react } from "heddle";
import { expect, test, vi } from "vitest";
import { adder, all, anything, CALL, cast, codeOf, stoppedAt, tokensIn } from "./support/runs.ts";

test("a call that has its result is not run again, and one with an unknown outcome is closed", async () => {
  const store = memoryStore();
  const ran: string[] = [];
  const begun = Promise.withResolvers<void>();
  const tools = {
    quick: { inputSchema: anything, execute: () => void ran.push("quick") },
    slow: {
      inputSchema: anything,
      execute: (_: unknown, { abortSignal }: { abortSignal: AbortSignal }) => {
        ran.push("slow");
        begun.resolve();
        return new Promise((_resolve, reject) =>
          abortSignal.addEventListener("abort", () => reject(new Error("gone"))),
        );
      },
    },
  };
  const calls = {
    calls: [
      { id: "c1", name: "quick" },
      { id: "c2", name: "slow" },
    ],
  };
  const first = cast([calls], { tools });
  const server = await AgentServer.start({ agent: first.agent, store, threadId: "thread_1" });
  const request = await server.ask("Go");
  await begun.promise;
  for await (const event of request.events()) if (event.kind === "tool_completed") break;
  await server.stop({ graceMs: 0 });
  const events = await all(request.events());
  const [token = ""] = tokensIn(events, "after_llm");
  const { agent, model } = cast(
    [
      {
        expect: {
          endsWith: [
            {
              results: [
                { id: "c1", isError: false },
                { id: "c2", isError: true, value: /outcome is unknown/ },
              ],
            },
          ],
        },
        text: "Done.",
      },
    ],
    { tools },
  );
  expect((await react.collect(token, agent, { store })).text).toBe("Done.");
  expect(ran).toEqual(["quick", "slow"]);
  model.assertComplete();
});

test("a call that was running is run again where it is repeatable", async () => {
  const store = memoryStore();
  const { tools, ran } = adder({ repeatable: true });
  const token = await stoppedAt("after_llm", cast([CALL], { tools }).agent, { store, threadId: "thread_1" });
  await store.append("thread_1", { kind: "note" }); // it did not stop where it was left
  expect((await react.collect(token, cast(["4"], { tools }).agent, { store })).text).toBe("4");
  expect(ran).toEqual(["call_a"]);
});

test("a thread that moved since it was left at a checkpoint still says that nothing was begun", async () => {
  const store = memoryStore();
  const { tools, ran } = adder();
  const token = await stoppedAt("after_llm", cast([CALL], { tools }).agent, { store, threadId: "thread_1" });
  await store.append("thread_1", { kind: "note" });
  const { agent } = cast(["4"], { tools });
  expect((await react.collect(token, agent, { store })).text).toBe("4");
  expect(ran).toHaveLength(1);
});

test.each(["refers to the store", "was carried into the store"])(
  "a process that continues a token that %s and dies in its tools leaves their outcome unknown",
  async (where) => {
    const store = memoryStore();
    const { tools, ran } = adder();
    const first = cast([CALL], { tools }).agent;
    const token = await stoppedAt("after_llm", first, where.startsWith("refers") ? { store } : {});
    const claim = vi.spyOn(store, "claim");
    const never = { add: { ...tools.add, execute: () => new Promise(() => undefined) } };
    const dying = await react.continue(token, cast([], { tools: never }).agent, { store });
    for await (const event of dying.events) if (event.kind === "tool_started") break;
    const [threadId, { holder }] = claim.mock.calls[0] ?? ["", { holder: "" }];
    const { epoch } = await store.claim(threadId, { holder, ttlMs: 1_000 }); // it is as good as dead: nothing it writes counts
    await store.release(threadId, epoch);
    const { agent } = cast([{ expect: { endsWith: [{ results: [{ isError: true }] }] }, text: "Unknown." }], { tools });
    expect((await react.collect(token, agent, { store })).text).toBe("Unknown.");
    expect(ran).toEqual([]);
  },
);

test("calls that had not begun are run only by the first process that continues", async () => {
  const store = memoryStore();
  const { tools, ran } = adder();
  const token = await stoppedAt("after_llm", cast([CALL], { tools }).agent, { store });
  const { agent } = cast([CALL, "unused"], {
    tools: { add: { ...tools.add, execute: () => new Promise(() => undefined) } },
  });
  const controller = new AbortController();
  const handle = await react.continue(token, agent, { store, signal: controller.signal });
  for await (const event of handle.events) if (event.kind === "tool_started") break;
  controller.abort();
  expect(await codeOf(handle.result)).toBe("request_cancelled");
  expect(await codeOf(react.continue(token, cast([], { tools }).agent, { store }))).toBe("token_superseded");
  expect(ran).toEqual([]);
});

test("a token is superseded when the model was called again, the request has ended, or another was asked", async () => {
  const store = memoryStore();
  const threadId = "thread_1";
  const warn = () => undefined; // of tools that change
  const { tools } = adder();
  const token = await stoppedAt("after_llm", cast([CALL], { tools }).agent, { store, threadId });
  const second = { calls: [{ id: "call_b", name: "ask" }] };
  const both = { ...tools, ask: { inputSchema: anything } };
  const handle = await react.continue(token, cast([second], { tools: both }).agent, { store, warn });
  expect(await codeOf(handle.result)).toBe("request_waiting");
  const old = await react.continue(token, cast([]).agent, { store }).catch((error: unknown) => error);
  expect(old).toMatchObject({ code: "token_superseded", message: expect.stringContaining("called again") });
  await react.cancel(token, cast([]).agent, { store }); // ending it is possible from any of its tokens
  const ended = await react.continue(handle.token ?? "", cast([]).agent, { store }).catch((error: unknown) => error);
  expect(ended).toMatchObject({ code: "token_superseded", message: expect.stringContaining("ended") });
  await react.run("Next", cast(["5"]).agent, { store, threadId, warn });
  const later = await react.continue(token, cast([]).agent, { store }).catch((error: unknown) => error);
  expect(later).toMatchObject({ code: "token_superseded", message: expect.stringContaining("another request") });
  expect(await codeOf(react.cancel(token, cast([]).agent, { store }))).toBe("token_superseded");
});

test("a terminal token returns its own result, whatever was asked since", async () => {
  const store = memoryStore();
  const threadId = "thread_1";
  const handle = await react.start("What's 2+2?", cast(["4"]).agent, { store, threadId });
  await handle.result;
  await react.run("And 2+3?", cast(["5"]).agent, { store, threadId });
  const server = await AgentServer.start({ agent: cast([]).agent, store, threadId }); // nothing is claimed for it
  const { text, thread } = await react.collect(handle.token ?? "", cast([]).agent, { store });
  expect([text, thread.entryCount]).toEqual(["4", 2]);
  await server.stop();
});

test("a token that carries its run may move into a store, where it is good for one way only", async () => {
  const store = memoryStore();
  const { tools, ran } = adder();
  const token = await stoppedAt("after_llm", cast([CALL], { tools }).agent);
  expect((await react.collect(token, cast(["4"], { tools }).agent, { store })).text).toBe("4");
  expect(await codeOf(react.continue(token, cast([]).agent, { store }))).toBe("token_superseded");
  expect(ran).toEqual(["call_a"]);
});

test("nothing stays claimed, whatever becomes of a run", async () => {
  const store = memoryStore();
  const threadId = "thread_1";
  const { tools } = adder({ needsApproval: true });
  const warn = () => undefined; // of tools that change
  const free = async () => {
    const { epoch } = await store.claim(threadId, { holder: "test", ttlMs: 1_000 });
    await store.release(threadId, epoch);
  };
  await react.run("Hi", cast(["4"]).agent, { store, threadId });
  await free();
  expect(await codeOf(react.run("Hi", cast([{ error: { status: 401 } }]).agent, { store, threadId }))).toBe(
    "request_failed",
  );
  await free();
  expect(await codeOf(react.run("", cast([]).agent, { store, threadId }))).toBe("empty_ask");
  await free();
  const waiting = await react.start("Hi", cast([CALL], { tools }).agent, { store, threadId, warn });
  expect(await codeOf(waiting.result)).toBe("request_waiting");
  await free();
  expect(await codeOf(react.run("Hi", cast(["4"]).agent, { store, threadId }))).toBe("busy");
  await free();
  await react.cancel(waiting.token ?? "", cast([]).agent, { store });
  await free();
  expect((await react.run("Hi", cast(["5"]).agent, { store, threadId, warn })).text).toBe("5");
});
