import { AgentServer, ConflictError, memoryStore, react, Thread } from "heddle";
import { expect, test } from "vitest";
import { adder, all, anything, CALL, cast, codeOf } from "./support/runs.ts";

test("the thread of a result goes into the next run, here and in a store", async () => {
  const { agent, model } = cast(["4", "Because.", "Yes."]);
  const first = await react.run("What's 2+2?", agent);
  const second = await react.run("Why?", agent, { thread: first.thread });
  expect(first.thread.entryCount).toBe(2);
  const store = memoryStore();
  const third = await react.run("Sure?", agent, { thread: second.thread, store });
  expect(third.thread.id).toBe(first.thread.id);
  expect((await store.load(first.thread.id))?.entryCount).toBe(6);
  expect(model.requests[2]?.messages.map(({ text }) => text)).toEqual([
    "What's 2+2?",
    "4",
    "Why?",
    "Because.",
    "Sure?",
  ]);
});

test("a list of messages is a thread to continue", async () => {
  const list = [
    { role: "user", content: "My name is Ada." },
    { role: "assistant", content: "Hello, Ada." },
  ];
  const { agent, model } = cast(["Ada."]);
  const { text, thread } = await react.run("Who am I?", agent, {
    thread: Thread.fromMessages(list, { format: "openai-chat" }),
  });
  expect([text, thread.entryCount]).toEqual(["Ada.", 4]);
  expect(model.requests[0]?.messages.map(({ text }) => text)).toEqual(["My name is Ada.", "Hello, Ada.", "Who am I?"]);
});

test("a thread that another process has continued is a conflict, and the model is not called", async () => {
  const store = memoryStore();
  const { agent, model } = cast(["4", "5"]);
  const { thread } = await react.run("What's 2+2?", agent, { store, threadId: "thread_1" });
  await react.run("And 2+3?", agent, { store, thread });
  const error: unknown = await react.run("Why?", agent, { store, thread }).catch((e) => e);
  expect(ConflictError.isInstance(error) && [error.expected, error.actual]).toEqual([2, 4]);
  expect(model.requests).toHaveLength(2);
});

test("an open request is continued only by its owner", async () => {
  const store = memoryStore();
  const threadId = "thread_1";
  const tools = { ask: { inputSchema: anything } };
  const server = await AgentServer.start({
    agent: cast([{ calls: [{ name: "ask" }] }], { tools }).agent,
    store,
    threadId,
  });
  await all((await server.ask("Hi")).events({ until: "waiting" }));
  const thread = await server.thread();
  await server.stop();
  expect(await codeOf(react.run("Hi", cast([]).agent, { store, threadId }))).toBe("busy");
  expect(await codeOf(react.run("Hi", cast([]).agent, { thread }))).toBe("busy");
  expect((await store.load(threadId))?.rev).toBe(thread.rev);
});

test("two names for one thread are refused", async () => {
  const options = { thread: Thread.create({ id: "thread_a" }), threadId: "thread_b" };
  expect(await codeOf(react.run("Hi", cast([]).agent, options))).toBe("invalid_options");
});

test("an event iterator that comes late, and a second one, get everything", async () => {
  const { tools } = adder();
  const handle = await react.start("Hi", cast([CALL, "4"], { tools }).agent);
  await handle.result;
  const events = await all(handle.events);
  expect(events.at(-1)?.kind).toBe("request_completed");
  expect(await all(handle.events)).toEqual(events);
});

test("context reaches tools and prompt, also when a run resumes, and is stored nowhere", async () => {
  const seen: unknown[] = [];
  const tools = {
    add: { inputSchema: anything, execute: (_: unknown, { context }: { context: unknown }) => void seen.push(context) },
  };
  const systemPrompt = (context: { secret: string }) => `For ${context.secret.length}`;
  const context = { secret: "shhh-nobody" };
  const config = { tools, systemPrompt: systemPrompt as never };
  let token = "";
  for await (const event of react.stream("Hi", cast([CALL], config).agent, { context: context as never })) {
    if (event.kind !== "checkpoint") continue;
    token = event.data.token;
    break;
  }
  const { agent, model } = cast(["4"], config);
  const { thread } = await react.collect(token, agent, { context: context as never });
  expect(seen).toEqual([context]);
  expect(model.requests[0]?.system).toBe("For 11");
  expect(JSON.stringify(thread.toJSON())).not.toContain("shhh");
});
