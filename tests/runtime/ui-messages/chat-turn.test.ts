import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from "ai";
import { AgentHost, memoryStore, RequestError, Thread, type ThreadStore, type Tools } from "heddle";
import { chatTurn, resumeTurn, toUIMessages, type UIStreamOptions, uiMessageStream } from "heddle/ai-sdk";
import type { ScriptedStep } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { agentOf, anything, chunksIn, logged, readBySdk } from "./chat.ts";

const user = (text: string): UIMessage => ({ id: "m1", role: "user", parts: [{ type: "text", text }] });

const tools: Tools = {
  pay: { inputSchema: anything, needsApproval: true, execute: () => ({ paid: true }) },
  look: { inputSchema: anything, execute: () => "seen" },
  locate: { inputSchema: anything },
};

function hostOn(store: ThreadStore, script: readonly ScriptedStep[]) {
  return AgentHost.create({ agent: agentOf(script, { tools }), store, warn: () => undefined });
}

/** What a browser does with an answer: it reads it into its last message, when that is the assistant's. */
async function post(host: AgentHost, messages: readonly UIMessage[], options: UIStreamOptions = {}) {
  const { request, ...turn } = await chatTurn(host, "thread_c", messages, { by: "ada" });
  const last = messages.at(-1);
  const { message, errors } = await readBySdk(
    uiMessageStream(request, { ...options, ...turn }),
    last?.role === "assistant" ? last : undefined,
  );
  expect(errors).toEqual([]);
  return { request, message };
}

/** What `addToolApprovalResponse` does. */
function decide(message: UIMessage, approved: boolean, reason?: string): UIMessage {
  const parts = message.parts.map((part) => {
    if (!("approval" in part) || part.state !== "approval-requested") return part;
    return {
      ...part,
      state: "approval-responded",
      approval: { id: part.approval.id, approved, ...(reason && { reason }) },
    };
  });
  return { ...message, parts } as UIMessage;
}

const paying = { text: "I pay.", calls: [{ name: "pay", arguments: { n: 1 } }, { name: "look" }] };

describe("a chat whose calls need approval", () => {
  test("streams up to the question, and after the answer what is new, into one message", async () => {
    const store = memoryStore();
    const host = hostOn(store, [paying, "Paid."]);
    const asked = user("Pay");
    const first = await post(host, [asked]);
    expect(first.request.state).toBe("waiting");
    // The call behind the one that waits has its result, so that the client knows that only the approval is missing.
    expect(first.message.parts).toEqual([
      { type: "step-start" },
      { type: "text", text: "I pay.", state: "done" },
      {
        type: "tool-pay",
        toolCallId: "call_1",
        state: "approval-requested",
        input: { n: 1 },
        approval: { id: expect.stringMatching(/:call_1$/) },
      },
      { type: "tool-look", toolCallId: "call_2", state: "output-available", input: {}, output: "seen" },
    ]);
    expect(await logged(store)).toEqual(first.message);
    const decided = decide(first.message, true);
    expect(lastAssistantMessageIsCompleteWithApprovalResponses({ messages: [asked, decided] })).toBe(true);
    const second = await post(host, [asked, decided]);
    expect(second.message.id).toBe(first.message.id);
    expect(second.message.parts.slice(2)).toEqual([
      {
        type: "tool-pay",
        toolCallId: "call_1",
        state: "output-available",
        input: { n: 1 },
        output: { paid: true },
        approval: { id: expect.any(String), approved: true },
      },
      { type: "tool-look", toolCallId: "call_2", state: "output-available", input: {}, output: "seen" },
      { type: "step-start" },
      { type: "text", text: "Paid.", state: "done" },
    ]);
    expect(await logged(store)).toEqual(second.message);
    const resolved = (await store.load("thread_c"))?.filterByKind("approval_resolved");
    expect(resolved?.[0]?.payload).toMatchObject({ approved: true, by: "ada" });
    await host.stop();
  });

  test("shows the model when they are denied", async () => {
    const store = memoryStore();
    const host = hostOn(store, [paying, "Not paid."]);
    const first = await post(host, [user("Pay")]);
    const { message } = await post(host, [user("Pay"), decide(first.message, false, "Too much.")]);
    expect(message.parts[2]).toEqual({
      type: "tool-pay",
      toolCallId: "call_1",
      state: "output-denied",
      input: { n: 1 },
      approval: { id: expect.any(String), approved: false, reason: "Too much." },
    });
    expect(message.parts.at(-1)).toMatchObject({ text: "Not paid." });
    expect(await logged(store)).toEqual(message);
    await host.stop();
  });

  test("continues in another process, with messages that came from the log", async () => {
    const store = memoryStore();
    const before = hostOn(store, [paying]);
    await post(before, [user("Pay")]);
    await before.stop();
    const thread = await store.load("thread_c");
    if (thread === undefined) throw new Error("There is no thread.");
    const messages = toUIMessages(thread) as UIMessage[];
    const decided = decide(messages[1] as UIMessage, true);
    const after = hostOn(store, ["Paid."]);
    const { message } = await post(after, [messages[0] as UIMessage, decided]);
    expect(message.parts.at(-1)).toMatchObject({ text: "Paid." });
    expect(await logged(store)).toEqual(message);
    await after.stop();
  });

  test("refuses what decides nothing that waits", async () => {
    const host = hostOn(memoryStore(), [paying, "Paid."]);
    const first = await post(host, [user("Pay")]);
    const decided = decide(first.message, true);
    const forged = JSON.parse(
      JSON.stringify(decided).replace(/"id":"[^"]*:call_1"/, '"id":"other:call_1"'),
    ) as UIMessage;
    const skipped = {
      ...first.message,
      parts: [{ type: "tool-pay", toolCallId: "call_1", state: "output-available", input: {}, output: 1 }],
    };
    for (const message of [forged, skipped, first.message, { ...first.message, parts: undefined }]) {
      await expect(chatTurn(host, "thread_c", [user("Pay"), message as UIMessage])).rejects.toMatchObject({
        code: "not_waiting",
      });
    }
    const { message } = await post(host, [user("Pay"), structuredClone(decided)]);
    const again = await chatTurn(host, "thread_c", [user("Pay"), decided]).catch((error: unknown) => error);
    expect(RequestError.isInstance(again) && again.code).toBe("not_waiting");
    const shown = await post(host, [user("Pay"), structuredClone(message)]);
    expect(shown.message.parts).toEqual([...message.parts, { type: "step-start" }]);
    await host.stop();
  });
});

describe("a chat that continues after an approval", () => {
  const pay = {
    inputSchema: anything,
    needsApproval: true,
    execute: (_: unknown, { context }: { context: unknown }) => context,
  };
  const hostWith = (store: ThreadStore, script: readonly ScriptedStep[]) =>
    AgentHost.create({ agent: agentOf(script, { tools: { pay } as never }), store, warn: () => undefined });
  const asking = { calls: [{ name: "pay" }] };
  const outputs = async (store: ThreadStore) => {
    const message = await logged(store);
    return message.parts.flatMap((part) => ("output" in part ? [part.output] : []));
  };

  test("gives the context of its post to the tools, in the process that asked", async () => {
    const store = memoryStore();
    const host = hostWith(store, [asking, "Paid."]);
    const { request } = await chatTurn(host, "thread_c", [user("Pay")], { context: { session: 1 } as never });
    await request.settled();
    const decided = decide(await logged(store), true);
    const turn = await chatTurn(host, "thread_c", [user("Pay"), decided], { context: { session: 2 } as never });
    await turn.request.result;
    expect(await outputs(store)).toEqual([{ session: 2 }]);
    await host.stop();
  });

  test("gives it also in a process that takes the request up, whose prompt needs it", async () => {
    const store = memoryStore();
    const before = hostWith(store, [asking]);
    const { request } = await chatTurn(before, "thread_c", [user("Pay")], { context: { session: 1 } as never });
    await request.settled();
    await before.stop();
    const systemPrompt = ((context: { session: number }) => `Session ${context.session.toFixed(0)}.`) as never;
    const agent = agentOf(["Paid."], { tools: { pay } as never, systemPrompt });
    const warnings: string[] = [];
    const after = AgentHost.create({ agent, store, warn: (message) => void warnings.push(message) });
    const decided = decide(await logged(store), true);
    const turn = await chatTurn(after, "thread_c", [user("Pay"), decided], { context: { session: 2 } as never });
    await turn.request.result;
    expect(await outputs(store)).toEqual([{ session: 2 }]);
    expect(warnings.filter((warning) => warning.includes("without one"))).toEqual([]);
    await after.stop();
  });
});

describe("a chat whose post brings tools and a signal", () => {
  const payBy = (how: string) => ({
    pay: { inputSchema: anything, needsApproval: true, execute: () => how },
  });
  const hostOf = (store: ThreadStore, script: readonly ScriptedStep[]) =>
    AgentHost.create({ agent: agentOf(script, { tools: {} }), store, warn: () => undefined });
  const asking = { calls: [{ name: "pay" }] };
  const outputs = async (store: ThreadStore) => {
    const message = await logged(store);
    return message.parts.flatMap((part) => ("output" in part ? [part.output] : []));
  };

  test.each([
    ["in the process that asked", true],
    ["in a process that takes the request up", false],
  ])("runs the tools of the post that approves, %s", async (_, isSame) => {
    const store = memoryStore();
    const first = hostOf(store, [asking, "Paid."]);
    const { request } = await chatTurn(first, "thread_c", [user("Pay")], { tools: payBy("card") });
    await request.settled();
    if (!isSame) await first.stop();
    const host = isSame ? first : hostOf(store, ["Paid."]);
    const decided = decide(await logged(store), true);
    const turn = await chatTurn(host, "thread_c", [user("Pay"), decided], { tools: payBy("cash") });
    await turn.request.result;
    expect(await outputs(store)).toEqual(["cash"]);
    await host.stop();
  });

  test("cancels the request by the signal of the post that approves", async () => {
    const store = memoryStore();
    const host = hostOf(store, [asking, { hang: true }]);
    const { request } = await chatTurn(host, "thread_c", [user("Pay")], { tools: payBy("card") });
    await request.settled();
    const decided = decide(await logged(store), true);
    const post = new AbortController();
    const options = { signal: post.signal };
    const turn = await chatTurn(host, "thread_c", [user("Pay"), decided], options);
    post.abort();
    await expect(turn.request.result).rejects.toMatchObject({ code: "request_cancelled" });
    await host.stop();
  });

  test("decides nothing by a post whose signal is aborted already", async () => {
    const store = memoryStore();
    const host = hostOf(store, [asking, "Paid."]);
    const { request } = await chatTurn(host, "thread_c", [user("Pay")], { tools: payBy("card") });
    await request.settled();
    const decided = decide(await logged(store), true);
    const late = chatTurn(host, "thread_c", [user("Pay"), decided], { signal: AbortSignal.abort() });
    await expect(late).rejects.toMatchObject({ code: "request_cancelled" });
    const turn = await chatTurn(host, "thread_c", [user("Pay"), decided]);
    expect((await turn.request.result).text).toBe("Paid.");
    await host.stop();
  });
});

test("a tool of the browser is answered by the browser, also when it failed there", async () => {
  for (const [outcome, shown] of [
    [
      { state: "output-available", output: { lat: 47 } },
      { state: "output-available", output: { lat: 47 } },
    ],
    [
      { state: "output-error", errorText: "No GPS." },
      { state: "output-error", errorText: "The tool failed." },
    ],
  ] as const) {
    const store = memoryStore();
    const host = hostOn(store, [{ calls: [{ name: "locate" }] }, "In Bern."]);
    const first = await post(host, [user("Where?")]);
    expect(first.message.parts.at(-1)).toMatchObject({ type: "tool-locate", state: "input-available" });
    const parts = first.message.parts.map((part) => ("toolCallId" in part ? { ...part, ...outcome } : part));
    const answered = { ...first.message, parts } as UIMessage;
    expect(lastAssistantMessageIsCompleteWithToolCalls({ messages: [answered] })).toBe(true);
    const { message } = await post(host, [user("Where?"), answered]);
    expect(message.parts).toMatchObject([{}, { type: "tool-locate", ...shown }, {}, { text: "In Bern." }]);
    expect(await logged(store)).toEqual(message);
    await host.stop();
  }
});

test("a chat longer than its loaded part continues after an approval, and that part is not taken for all of it", async () => {
  const store = memoryStore();
  const words = (_: unknown, index: number) => {
    const role = index % 2 === 0 ? "user" : "assistant";
    return {
      kind: "ai_message",
      payload: { role, content: `So it goes on, ${index}. ${"And on. ".repeat(30)}`, contextRef: "default" },
    };
  };
  await store.append("thread_c", Array.from({ length: 600 }, words));
  const host = hostOn(store, [paying, "Paid."]);
  const first = await post(host, [user("Pay")]);
  await post(host, [user("Pay"), decide(first.message, true)]);
  const thread = await (await host.get("thread_c")).thread();
  expect(thread.firstSeq).toBeGreaterThan(0);
  expect(() => toUIMessages(thread)).toThrow(expect.objectContaining({ code: "entry_not_loaded", seq: 0 }));
  expect(toUIMessages(thread, { partial: true }).at(-1)?.id).toBe(first.message.id);
  const all = await store.load("thread_c");
  expect(all && toUIMessages(all)).toHaveLength(602);
  const explained = await (await host.get("thread_c")).explain();
  const before = { seq: 0, fromSeq: 0, toSeq: thread.firstSeq - 1, status: "not_loaded", rule: "before_loaded" };
  expect(explained[0]).toMatchObject(before);
  expect(explained[1]?.seq).toBe(thread.firstSeq);
  await host.stop();
});

describe("a reader who comes back", () => {
  const steps = (text: string) => ({ thinking: "Hm.", text, calls: [{ name: "look" }] });

  test("gets the events before a restart, and then the new ones", async () => {
    const store = memoryStore();
    const before = hostOn(store, [steps("I look."), paying]);
    await post(before, [user("Pay")]);
    await before.stop();
    const after = hostOn(store, ["Paid."]);
    const turn = await resumeTurn(after, "thread_c");
    if (turn === undefined) throw new Error("It is open.");
    const first = await readBySdk(uiMessageStream(turn.request, turn));
    expect(first).toEqual({ message: await logged(store), errors: [] });
    await (await after.get("thread_c")).approve("call_2");
    const { message, errors } = await readBySdk(uiMessageStream(turn.request, turn));
    expect(errors).toEqual([]);
    expect(message.parts.at(-1)).toMatchObject({ text: "Paid." });
    expect(message).toEqual(await logged(store));
    await after.stop();
  });

  test("gets every event once, where the process is still the same", async () => {
    const store = memoryStore();
    const host = hostOn(store, [steps("I look."), paying]);
    const { message } = await post(host, [user("Pay")]);
    const turn = await resumeTurn(host, "thread_c");
    if (turn === undefined) throw new Error("It is open.");
    const chunks = await chunksIn(uiMessageStream(turn.request, turn));
    expect(chunks.filter(({ type }) => type === "start-step")).toHaveLength(2);
    expect(chunks.filter(({ type }) => type === "tool-approval-request")).toHaveLength(1);
    expect((await readBySdk(uiMessageStream(turn.request, turn))).message).toEqual(message);
    await host.stop();
  });

  test("gets each answer of the wrong shape once", async () => {
    const store = memoryStore();
    const config = { tools, outputRetries: 2, output: { type: "object", required: ["euros"] } as const };
    const agent = agentOf(["Five.", "5.", paying], config);
    const host = AgentHost.create({ agent, store, warn: () => undefined });
    const { message } = await post(host, [user("Pay")]);
    const turn = await resumeTurn(host, "thread_c");
    if (turn === undefined) throw new Error("It is open.");
    const chunks = await chunksIn(uiMessageStream(turn.request, turn));
    expect(chunks.filter(({ type }) => type === "reset-step")).toHaveLength(2);
    expect((await readBySdk(uiMessageStream(turn.request, turn))).message).toEqual(message);
    await host.stop();
  });

  test("finds nothing where no request is open", async () => {
    const host = hostOn(memoryStore(), ["4"]);
    await post(host, [user("Hi")]);
    expect(await resumeTurn(host, "thread_c")).toBeUndefined();
    await host.stop();
  });
});

describe("a message that is posted again", () => {
  test("is not asked again: its request is streamed while it is open, and when it has ended", async () => {
    const store = memoryStore();
    const host = hostOn(store, [paying, "Paid."]);
    const first = await post(host, [user("Pay")]);
    const second = await post(host, [user("Pay")]);
    expect(second.request.id).toBe(first.request.id);
    expect(second.message).toEqual(first.message);
    await post(host, [user("Pay"), decide(first.message, true)]);
    const { request, message } = await post(host, [user("Pay")]);
    expect([request.id, message]).toEqual([first.request.id, await logged(store)]);
    await host.stop();
  });

  test.each([0, 600, 2_600])("is the first request in another process, %i entries later", async (later) => {
    const store = memoryStore();
    const before = hostOn(store, ["4"]);
    const { request, message } = await post(before, [user("2+2?")]);
    await before.stop();
    const words = (_: unknown, index: number) => {
      const role = index % 2 === 0 ? "user" : "assistant";
      return { kind: "ai_message", payload: { role, content: `So it goes on, ${index}.`, contextRef: "default" } };
    };
    await store.append("thread_c", Array.from({ length: later }, words));
    const { rev } = (await store.load("thread_c")) ?? {};
    const after = hostOn(store, []);
    const again = await post(after, [user("2+2?")]);
    expect([again.request.id, again.message]).toEqual([request.id, message]);
    expect((await store.load("thread_c"))?.rev).toBe(rev);
    await after.stop();
  });

  test.each(["reject", "queue"] as const)("also where both come at once, with busy: %s", async (busy) => {
    const store = memoryStore();
    const agent = agentOf(["4", "5"], { busy });
    const host = AgentHost.create({ agent, store, warn: () => undefined });
    const turns = await Promise.all([1, 2].map(() => chatTurn(host, "thread_c", [user("2+2?")])));
    expect(new Set(turns.map(({ request }) => request.id)).size).toBe(1);
    for (const { request } of turns) expect((await request.result).text).toBe("4");
    await host.stop();
  });

  test("an answer to a message that the thread lacks is not regenerated", async () => {
    const host = hostOn(memoryStore(), ["4"]);
    const options = { trigger: "regenerate-message" };
    await expect(chatTurn(host, "thread_c", [user("Hi")], options)).rejects.toMatchObject({
      code: "message_not_found",
    });
    expect((await host.thread("thread_c")).rev).toBe(0);
    const { request } = await chatTurn(host, "thread_c", [user("Hi")], { trigger: "submit-message" });
    expect((await request.result).text).toBe("4");
    const { rev } = await host.thread("thread_c");
    const unknown = chatTurn(host, "thread_c", [user("Hi")], { ...options, messageId: "no_answer" });
    await expect(unknown).rejects.toMatchObject({ code: "message_not_found" });
    expect((await host.thread("thread_c")).rev).toBe(rev);
    await host.stop();
  });

  test("a regenerate may name an answer that only the page has, to a message without one, or a continued one", async () => {
    const store = memoryStore();
    const message = { ...user("Hi"), id: "m1" };
    await store.append("thread_c", Thread.fromMessages([message], { format: "ui-messages" }).toArray());
    const failing = { error: { status: 400 } };
    const host = hostOn(store, [failing, { calls: [{ name: "look" }] }, failing, "4", "5"]);
    const regenerate = async (messageId: string) =>
      (await chatTurn(host, "thread_c", [message], { trigger: "regenerate-message", messageId })).request;
    await (await regenerate("of_the_page")).result.catch(() => undefined);
    const failed = await regenerate((await host.thread("thread_c")).toArray().at(-1)?.refs.requestId ?? "");
    await failed.result.catch(() => undefined);
    const continued = await host.continueRequest("thread_c", failed.id);
    expect((await continued.result).text).toBe("4");
    expect((await (await regenerate(continued.id)).result).text).toBe("5");
    await expect(regenerate("of_the_page")).rejects.toMatchObject({ code: "message_not_found" });
    await host.stop();
  });
});

describe("a post whose process loses the thread while it asks", () => {
  const suspension = { reason: "lost" } as const;
  const lost = new RequestError({ code: "request_suspended", message: "Another process has it.", suspension });

  /** A host whose first ask is in the log, and is then lost. */
  function losing(host: AgentHost): AgentHost {
    let asks = 0;
    const ask = async (...given: Parameters<AgentHost["ask"]>) => {
      const request = await host.ask(...given);
      if (asks++ === 0) throw lost;
      return request;
    };
    return new Proxy(host, {
      get: (target, name) => {
        const value: unknown = name === "ask" ? ask : Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  test("looks again, and streams the request of its message", async () => {
    const store = memoryStore();
    const { message } = await post(losing(hostOn(store, ["Hello."])), [user("Hi")]);
    expect(message.parts.at(-1)).toMatchObject({ text: "Hello." });
    expect((await store.load("thread_c"))?.rev).toBe(2);
  });

  test("fails where its message has no id, because it may be in the log", async () => {
    const { id: _none, ...nameless } = user("Hi");
    const turn = chatTurn(losing(hostOn(memoryStore(), ["Hello."])), "thread_c", [nameless as UIMessage]);
    await expect(turn).rejects.toBe(lost);
  });
});
