import {
  convertToModelMessages,
  createIdGenerator,
  generateText,
  isStepCount,
  jsonSchema,
  type ModelMessage,
  streamText,
  ToolLoopAgent,
  tool,
  type UIMessage,
  wrapLanguageModel,
} from "ai";
import { memoryStore, project, type Thread, type ThreadStore } from "heddle";
import { threadLoop, toUIMessages } from "heddle/ai-sdk";
import { validateMessages } from "heddle/providers";
import { type ScriptedStep, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { runChild } from "../../support/child.ts";
import { Page, type Route } from "./page.ts";

const threadId = "thread_1";

interface App {
  readonly store: ThreadStore;
  readonly model: ReturnType<typeof scriptedModel>;
  readonly post: Route;
  readonly ran: string[];
  /** The page after a reload. */
  load(): Promise<UIMessage[]>;
}

interface AppOptions {
  readonly store?: ThreadStore;
  readonly look?: (city: string) => unknown;
  readonly idleMs?: number;
}

/** A route as the docs have it, with one tool, and one that needs approval. */
function app(
  script: readonly ScriptedStep[],
  { store = memoryStore(), look = (city) => `Sunny in ${city}.` }: AppOptions = {},
): App {
  const model = scriptedModel(script);
  const ran: string[] = [];
  const tools = {
    look: tool({
      inputSchema: jsonSchema<{ city: string }>({ type: "object" }),
      execute: ({ city }) => {
        ran.push(`look ${city}`);
        return look(city);
      },
    }),
    pay: tool({
      inputSchema: jsonSchema<{ euros: number }>({ type: "object" }),
      needsApproval: true,
      execute: ({ euros }) => {
        ran.push(`pay ${euros}`);
        return { paid: euros };
      },
    }),
  };
  const post: Route = async (request) => {
    const { id, messages } = (await request.json()) as { id: string; messages: UIMessage[] };
    const loop = threadLoop({ store, threadId: id, claimWaitMs: 0 });
    const result = streamText({
      model: loop.model(model),
      instructions: "Be brief.",
      messages: await convertToModelMessages(messages),
      tools: loop.tools(tools),
      stopWhen: isStepCount(5),
      maxRetries: 0,
      abortSignal: request.signal,
      onError: () => undefined,
    });
    return result.toUIMessageStreamResponse({
      originalMessages: messages,
      generateMessageId: createIdGenerator({ prefix: "msg" }),
      messageMetadata: ({ part }) => (part.type === "finish" ? { tokens: part.totalUsage.outputTokens } : undefined),
      onEnd: ({ messages }) => loop.save(messages),
      onError: (error) => (error as { code?: string }).code ?? "An error occurred.",
    });
  };
  const load = async (): Promise<UIMessage[]> =>
    JSON.parse(JSON.stringify(await threadLoop({ store, threadId }).messages())) as UIMessage[];
  return { store, model, post, ran, load };
}

async function threadOf({ store }: Pick<App, "store">): Promise<Thread> {
  const thread = await store.load(threadId);
  if (thread === undefined) throw new Error("There is no thread.");
  return thread;
}

/** The log in short: roles, calls, and what else was written. */
function logOf(thread: Thread): readonly string[] {
  return thread.toArray().map(({ kind, payload }) => {
    const { role, toolCalls } = payload as { role?: string; toolCalls?: readonly { name: string }[] };
    return kind === "ai_message" ? [role, ...(toolCalls ?? []).map(({ name }) => name)].join(" ") : kind;
  });
}

describe("a route with streamText on a thread", () => {
  test("writes the message, the answers and the results, and the page is the same after a reload", async () => {
    const own = app([{ text: "I look.", calls: [{ name: "look", arguments: { city: "Bern" } }] }, "It is sunny."]);
    const page = new Page(own.post);
    await page.sendMessage({ text: "How is Bern?", metadata: { from: "a page" } });
    expect(page.text).toBe("I look.It is sunny.");
    const thread = await threadOf(own);
    expect(logOf(thread)).toEqual(["user", "assistant look", "tool", "assistant", "note"]);
    expect(await own.load()).toEqual(page.shown);
    expect(page.shown[1]?.metadata).toEqual({ tokens: expect.any(Number) });
    expect(await own.store.usage()).toMatchObject([{ models: [{ model: "scripted:scripted-model", calls: 2 }] }]);
    expect(own.ran).toEqual(["look Bern"]);
  });

  test("continues: the next message, and an approval that runs its call once", async () => {
    const own = app([{ calls: [{ name: "pay", arguments: { euros: 5 } }] }, "Paid.", "Bye."]);
    const page = new Page(own.post);
    await page.sendMessage({ text: "Pay 5." });
    expect(own.ran).toEqual([]);
    expect(await own.load()).toEqual(page.shown);
    const again = new Page(own.post, await own.load());
    await again.addToolApprovalResponse({ id: page.approval?.id ?? "", approved: true });
    await expect.poll(() => again.status).toBe("ready");
    expect(again.text).toBe("Paid.");
    expect(own.ran).toEqual(["pay 5"]);
    expect(await own.load()).toEqual(again.shown);
    await again.sendMessage({ text: "Thanks." });
    expect(again.text).toBe("Bye.");
    expect(await own.load()).toEqual(again.shown);
    expect(logOf(await threadOf(own)).filter((word) => word !== "note")).toEqual([
      "user",
      "assistant pay",
      "tool",
      "assistant",
      "user",
      "assistant",
    ]);
    own.model.assertComplete();
  });

  test("a denied call never runs, and the model is shown the reason", async () => {
    const own = app([{ calls: [{ name: "pay", arguments: { euros: 5 } }] }, "I do not."]);
    const page = new Page(own.post);
    await page.sendMessage({ text: "Pay 5." });
    await page.addToolApprovalResponse({ id: page.approval?.id ?? "", approved: false, reason: "too much" });
    await expect.poll(() => page.text).toBe("I do not.");
    expect(own.ran).toEqual([]);
    expect(JSON.stringify(own.model.requests[1]?.options["prompt"])).toContain("too much");
    expect(await own.load()).toEqual(page.shown);
  });

  test("a message while an approval is open is asked, and the call is closed", async () => {
    const own = app([{ calls: [{ name: "pay", arguments: { euros: 5 } }] }, "Then not."]);
    const page = new Page(own.post);
    await page.sendMessage({ text: "Pay 5." });
    await page.sendMessage({ text: "Wait, do not." });
    expect(page.text).toBe("Then not.");
    expect(JSON.stringify(own.model.requests[1]?.options["prompt"])).toContain("interrupted");
    expect(await own.load()).toEqual(page.shown);
    expect(new Set((await threadOf(own)).toArray().map(({ payload }) => payload["contextRef"]))).toEqual(
      new Set(["default"]),
    );
  });

  test("regenerate and edit are branches, and a page that did not see them continues where it is", async () => {
    const own = app(["one", "two", "three", "four"]);
    const page = new Page(own.post);
    await page.sendMessage({ text: "Say a number." });
    const stale = new Page(own.post, page.shown);
    await page.regenerate();
    expect(page.text).toBe("two");
    expect(await own.load()).toEqual(page.shown);
    await stale.sendMessage({ text: "And the next?" });
    const [first] = page.messages;
    await page.sendMessage({ text: "Say another number.", messageId: first?.id ?? "" });
    const prompts = own.model.requests.map(({ messages }) => messages.map(({ text }) => text).join(" | "));
    expect(prompts).toEqual([
      "Say a number.",
      "Say a number.",
      "Say a number. | one | And the next?",
      "Say another number.",
    ]);
    expect(await own.load()).toEqual(page.shown);
  });

  test("a conversation that the app had before is taken over with its next message", async () => {
    const call = { toolCallId: "old_1", input: { city: "Rome" } };
    const before = [
      { id: "a", role: "user", metadata: { old: true }, parts: [{ type: "text", text: "How is Rome?" }] },
      {
        id: "b",
        role: "assistant",
        parts: [
          { type: "step-start" },
          { type: "tool-look", ...call, state: "output-available", output: "Rain." },
          { type: "step-start" },
          { type: "text", text: "It rains.", state: "done" },
        ],
      },
    ] as UIMessage[];
    const own = app(["Take a coat."]);
    const page = new Page(own.post, before);
    await page.sendMessage({ text: "What do I wear?" });
    expect(logOf(await threadOf(own))).toEqual([
      "user",
      "assistant look",
      "tool",
      "assistant",
      "user",
      "assistant",
      "note",
    ]);
    expect(await own.load()).toEqual(page.shown);
  });

  test("stop keeps the partial answer, marked, and the next call is shown it", async () => {
    const own = app([{ text: ["It ", "is ", "sunny"], hang: true }, "Sorry."]);
    const page = new Page(own.post);
    const asked = page.sendMessage({ text: "How is Bern?" });
    await expect.poll(() => page.text).toBe("It is sunny");
    await page.stop();
    await asked;
    await expect.poll(async () => logOf(await threadOf(own))).toContain("note");
    const [, answer] = (await threadOf(own)).toArray();
    expect(answer?.payload).toMatchObject({ role: "assistant", content: "It is sunny", partial: true });
    expect(await own.load()).toEqual(page.shown);
    await page.sendMessage({ text: "Why did you stop?" });
    expect(own.model.requests[1]?.messages.map(({ text }) => text)).toEqual([
      "How is Bern?",
      "It is sunny",
      "Why did you stop?",
    ]);
  });

  test("an answer is whole in the log when the page has closed", async () => {
    const own = app([{ text: ["It ", "is ", "sunny."], deltaDelayMs: 5 }]);
    const message = { id: "m1", role: "user", parts: [{ type: "text", text: "How is Bern?" }] };
    const body = JSON.stringify({ id: threadId, messages: [message] });
    await own.post(new Request("http://localhost/api/chat", { method: "POST", body })); // never read
    await expect.poll(async () => (await threadOf(own)).rev).toBe(2);
    expect((await own.load()).map(({ parts }) => parts.at(-1))).toMatchObject([
      { text: "How is Bern?" },
      { text: "It is sunny." },
    ]);
  });

  test("keeps what JSON has of values that are not JSON, as the page gets them", async () => {
    class Price {
      readonly euros = 5;
      toJSON(): string {
        return `${this.euros} euros`;
      }
    }
    const found = {
      at: new Date(0),
      price: new Price(),
      part: Number.NaN,
      list: [undefined],
      url: new URL("http://a/"),
    };
    const own = app([{ calls: [{ name: "look", arguments: { city: "Bern" } }] }, "It is sunny."], {
      look: () => found,
    });
    const page = new Page(own.post);
    await page.sendMessage({ text: "How is Bern?" });
    expect(page.error).toBeUndefined();
    expect(await own.load()).toEqual(page.shown);
    expect(page.shown[1]?.parts[1]).toMatchObject({ output: JSON.parse(JSON.stringify(found)) });
  });

  test("frees the thread when messages cannot be saved", async () => {
    const store = memoryStore();
    const look = tool({ inputSchema: jsonSchema({ type: "object" }), needsApproval: true, execute: () => "" });
    const loop = threadLoop({ store, threadId });
    await generateText({
      model: loop.model(scriptedModel([{ calls: [{ name: "look" }] }])),
      tools: { look },
      prompt: "Hi",
    });
    const parts: unknown[] = [];
    parts.push(parts); // a cycle
    await expect(loop.save([{ id: "m1", role: "assistant", parts }])).rejects.toMatchObject({ code: "not_json" });
    const next = threadLoop({ store, threadId, claimWaitMs: 0 });
    expect((await generateText({ model: next.model(scriptedModel(["Bye."])), prompt: "Bye" })).text).toBe("Bye.");
  });

  test("after an error of the provider the same message is asked once", async () => {
    const own = app([{ error: { status: 400, message: "No." } }, "Hello."]);
    const page = new Page(own.post);
    await page.sendMessage({ text: "Hi" });
    expect(page.status).toBe("error");
    await page.regenerate();
    expect(page.text).toBe("Hello.");
    expect(logOf(await threadOf(own)).filter((word) => word === "user")).toHaveLength(1);
    expect(await own.load()).toEqual(page.shown);
  });
});

describe("the log", () => {
  test("has the answer before its tools run, and a result before anything gets it", async () => {
    const store = memoryStore();
    const seen: (readonly string[])[] = [];
    const look = async (): Promise<string> => {
      seen.push(logOf(await threadOf({ store })));
      return "Sunny.";
    };
    const model = scriptedModel([{ calls: [{ name: "look" }] }, "Sunny."]);
    const loop = threadLoop({ store, threadId });
    const tools = loop.tools({ look: tool({ inputSchema: jsonSchema({ type: "object" }), execute: look }) });
    const { stream } = streamText({ model: loop.model(model), tools, prompt: "Look.", stopWhen: isStepCount(3) });
    for await (const { type } of stream) {
      if (type === "tool-call" || type === "tool-result" || type === "finish")
        seen.push(logOf(await threadOf({ store })));
    }
    const asked = ["user", "assistant look"];
    expect(seen).toEqual([asked, asked, [...asked, "tool"], [...asked, "tool", "assistant"]]);
  });

  test("no tool runs when its call cannot be committed", async () => {
    const store = memoryStore();
    const failing = new Proxy(store, {
      get: (target, name) => {
        if (name !== "append") return Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name);
        return async (...[id, entries, options]: Parameters<ThreadStore["append"]>) => {
          if (JSON.stringify(entries).includes("assistant")) throw new Error("The disk is full.");
          return target.append(id, entries, options);
        };
      },
    });
    const own = app([{ calls: [{ name: "look", arguments: { city: "Bern" } }] }], { store: failing });
    const page = new Page(own.post);
    await page.sendMessage({ text: "How is Bern?" });
    expect(page.status).toBe("error");
    expect(own.ran).toEqual([]);
    expect(logOf(await threadOf({ store }))).toEqual(["user"]);
  });

  test("another tab gets thread_held while the first one is answered, and writes nothing", async () => {
    let go = (): void => undefined;
    const waits = new Promise<void>((resolve) => {
      go = resolve;
    });
    const own = app(["one", { calls: [{ name: "look", arguments: { city: "Bern" } }] }, "Sunny."], {
      look: () => waits.then(() => "Sunny."),
    });
    const page = new Page(own.post);
    await page.sendMessage({ text: "Hi" });
    const other = new Page(own.post, page.shown);
    const asked = page.sendMessage({ text: "How is Bern?" });
    await expect.poll(() => own.ran).toEqual(["look Bern"]);
    const before = await threadOf(own);
    await other.sendMessage({ text: "Me too." });
    expect(other.error?.message).toBe("thread_held");
    expect((await threadOf(own)).rev).toBe(before.rev);
    go();
    await asked;
    expect(page.text).toBe("Sunny.");
    expect(await own.load()).toEqual(page.shown);
  });

  test("a wait for the claim keeps the process alive, and a claim that rests does not", async () => {
    expect(await runChild(new URL("./support/waiting-loop.ts", import.meta.url))).toBe("tool-calls");
  });

  test("an approval that two tabs give runs the call once", async () => {
    const own = app([{ calls: [{ name: "pay", arguments: { euros: 5 } }] }, "Paid.", "Paid before."]);
    const page = new Page(own.post);
    await page.sendMessage({ text: "Pay 5." });
    const other = new Page(own.post, page.shown);
    for (const tab of [page, other]) {
      await tab.addToolApprovalResponse({ id: tab.approval?.id ?? "", approved: true });
      await expect.poll(() => tab.text).not.toBe("");
    }
    expect(own.ran).toEqual(["pay 5"]);
  });

  test("the next message continues after a crash, wherever it was", async () => {
    let now = 0;
    const store = memoryStore({ clock: () => now });
    const never = new Promise<never>(() => undefined);
    const dead = app([{ text: "I look.", calls: [{ name: "look", arguments: { city: "Bern" } }] }], {
      store,
      look: () => never,
    });
    const page = new Page(dead.post);
    void page.sendMessage({ text: "How is Bern?" });
    await expect.poll(() => dead.ran).toEqual(["look Bern"]);
    now += 60_000; // the lease of the dead process
    const next = app(["It was sunny.", "You are welcome."], { store });
    const shown = await next.load();
    expect(shown[1]?.parts.at(-1)).toMatchObject({ type: "tool-look", state: "output-error" });
    const again = new Page(next.post, shown.slice(0, 1));
    await again.regenerate(); // the answer is not finished, so it goes on
    expect(again.text).toBe("It was sunny.");
    expect(next.model.requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    await again.sendMessage({ text: "Thanks." });
    expect(again.text).toBe("You are welcome.");
    const thread = await threadOf({ store });
    expect(new Set(thread.toArray().map(({ payload }) => payload["contextRef"]))).toEqual(new Set(["default"]));
    for (const provider of ["anthropic", "openai-chat", "gemini"] as const)
      expect(validateMessages(project({ thread, pending: "And now?" }).messages, provider)).toEqual([]);
  });
});

describe("what the model is shown", () => {
  test("the window of the policy, of the whole conversation", async () => {
    const store = memoryStore();
    const model = scriptedModel(Array.from({ length: 30 }, (_, index) => `Answer ${index}. ${"word ".repeat(60)}`));
    const messages: ModelMessage[] = [];
    for (let index = 0; index < 30; index++) {
      messages.push({ role: "user", content: `Question ${index}?` });
      const policy = { maxInputTokens: 1_000, reserveOutputTokens: 100 };
      const loop = threadLoop({ store, threadId, policy });
      const { responseMessages } = await generateText({ model: loop.model(model), messages });
      messages.push(...responseMessages);
    }
    expect((await threadOf({ store })).rev).toBe(60);
    const last = model.requests.at(-1)?.messages ?? [];
    expect(last.length).toBeLessThan(30);
    expect(last.at(-1)?.text).toBe("Question 29?");
    expect(model.requests.at(-1)?.options["prompt"]).toEqual(expect.any(Array));
  });

  test("what a step adds to a prompt that the app has cut", async () => {
    const store = memoryStore();
    const calls = [1, 2, 3].map((at) => ({ calls: [{ id: `c${at}`, name: "look" }] }));
    const model = scriptedModel([...calls, "Done."]);
    const loop = threadLoop({ store, threadId });
    const look = tool({ inputSchema: jsonSchema({ type: "object" }), execute: () => "Sunny." });
    const prepareStep = ({ messages }: { messages: ModelMessage[] }) => ({ messages: messages.slice(-2) });
    const result = await generateText({
      model: loop.model(model),
      tools: { look },
      prompt: "Look.",
      stopWhen: isStepCount(9),
      prepareStep,
    });
    expect(result.text).toBe("Done.");
    expect(logOf(await threadOf({ store }))).toEqual([
      "user",
      ...calls.flatMap(() => ["assistant look", "tool"]),
      "assistant",
    ]);
    expect(model.requests.at(-1)?.messages).toHaveLength(7);
  });

  test("a file that the provider of the model refuses is a text for the model, and whole in the log", async () => {
    const store = memoryStore();
    const model = scriptedModel(["A photo."]);
    const loop = threadLoop({ store, threadId });
    await generateText({
      model: loop.model(wrapLanguageModel({ model, middleware: {}, providerId: "anthropic.messages" })),
      messages: [{ role: "user", content: [{ type: "file", mediaType: "image/heic", data: "aGVsbG8=" }] }],
    });
    expect(JSON.stringify(model.requests[0]?.options["prompt"])).toContain("(image/heic) that cannot be shown here");
    expect(JSON.stringify((await threadOf({ store })).at(0)?.payload)).toContain("aGVsbG8=");
  });

  test("a ToolLoopAgent works with it", async () => {
    const store = memoryStore();
    const model = scriptedModel([{ calls: [{ name: "look" }] }, "Sunny.", "Bye."]);
    const look = tool({
      inputSchema: jsonSchema({ type: "object" }),
      toModelOutput: ({ output }) => ({ type: "text", value: `shown: ${output.sky}` }),
      async *execute() {
        yield { sky: "dark" };
        yield { sky: "blue" };
      },
    });
    const run = async (messages: ModelMessage[]) => {
      const loop = threadLoop({ store, threadId });
      const agent = new ToolLoopAgent({ model: loop.model(model), tools: loop.tools({ look }) });
      return agent.generate({ messages });
    };
    const first = await run([{ role: "user", content: "Look." }]);
    const second = await run([
      { role: "user", content: "Look." },
      ...first.responseMessages,
      { role: "user", content: "Bye." },
    ]);
    expect(second.text).toBe("Bye.");
    const thread = await threadOf({ store });
    expect(logOf(thread)).toEqual(["user", "assistant look", "tool", "assistant", "user", "assistant"]);
    expect(thread.at(2)?.payload).toMatchObject({ content: "shown: blue", details: { sky: "blue" } });
    expect(toUIMessages(thread).map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  });
});
