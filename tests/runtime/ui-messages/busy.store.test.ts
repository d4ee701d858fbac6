import { AgentHost, memoryStore, type ThreadStore } from "heddle";
import {
  type ChatTurn,
  type ChatTurnOptions,
  chatTurn,
  resumeTurn,
  toUIMessages,
  uiMessageStream,
} from "heddle/ai-sdk";
import { sqliteStore } from "heddle/sqlite";
import type { ScriptedStep } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { agentOf, anything, chunksOf, readBySdk } from "./chat.ts";

const id = "thread_c";
const said = (text: string, messageId: string) => ({ id: messageId, role: "user", parts: [{ type: "text", text }] });
const BOB = { id: "u2", name: "Bob" };
const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
const locate = { inputSchema: anything };

function hostOn(store: ThreadStore, script: readonly ScriptedStep[], config: object = {}) {
  return AgentHost.create({ agent: agentOf(script, config), store, warn: () => undefined });
}

function post(host: AgentHost, text: string, messageId: string, options: ChatTurnOptions = {}): Promise<ChatTurn> {
  return chatTurn(host, id, [said(text, messageId)], options);
}

/** A tool that runs until the test says so. */
function slowTool() {
  const running = Promise.withResolvers<void>();
  const result = Promise.withResolvers<string>();
  const execute = (): Promise<string> => {
    running.resolve();
    return result.promise;
  };
  return {
    running: running.promise,
    finish: () => result.resolve("seen"),
    tools: { look: { inputSchema: anything, execute } },
  };
}

/** The stream of a turn is the message that a reload shows. */
async function isAsLoaded(store: ThreadStore, { request, ...turn }: ChatTurn): Promise<void> {
  const { message, errors } = await readBySdk(uiMessageStream(request, turn));
  expect(errors).toEqual([]);
  const thread = await store.load(id);
  expect(message).toEqual(thread && toUIMessages(thread).at(-1));
}

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
] as const)("a message to a busy agent on %s", (_name, open) => {
  test("is taken at the next step of the same request, once", async () => {
    const store = open();
    const { running, finish, tools } = slowTool();
    const told = { expect: { lastUser: "By train." }, text: "The train." };
    const host = hostOn(store, [{ calls: [{ name: "look" }] }, told], { tools });
    const first = await post(host, "Oslo?", "m1");
    await running;
    const second = await post(host, "By train.", "m2");
    const again = await post(host, "By train.", "m2");
    expect([second, again].map(({ request, joined }) => [request.id, joined])).toEqual([
      [first.request.id, true],
      [first.request.id, true],
    ]);
    finish();
    expect((await first.request.result).text).toBe("The train.");
    await isAsLoaded(store, second);
    const late = await post(host, "By train.", "m2");
    expect(late.request.id).toBe(first.request.id);
    const parts = toUIMessages(await host.thread(id)).at(-1)?.parts ?? [];
    const steered = { type: "steering-message", id: "m2", parts: [{ type: "text", text: "By train." }] };
    expect(parts.filter(({ type }) => type === "steering-message")).toEqual([steered]);
    await host.stop();
  });

  test("keeps its metadata, data parts and fields for the page, and no model is shown them", async () => {
    const store = open();
    const { running, finish, tools } = slowTool();
    const told = { expect: { lastUser: "By train." }, text: "The train." };
    const host = hostOn(store, [{ calls: [{ name: "look" }] }, told], { tools });
    const first = await post(host, "Oslo?", "m1");
    await running;
    const text = { type: "text", text: "By train.", state: "done" };
    const parts = [text, { type: "data-map", id: "map", data: { zoom: 3 } }];
    const message = { ...said("", "m2"), parts, metadata: { sentFrom: "phone" } };
    const second = await chatTurn(host, id, [message]);
    finish();
    await isAsLoaded(store, second);
    await first.request.result;
    const shown = toUIMessages(await host.thread(id)).at(-1)?.parts ?? [];
    const at = shown.findIndex(({ type }) => type === "steering-message");
    expect(shown.slice(at, at + 3)).toEqual([
      { type: "steering-message", id: "m2", parts: [text] },
      { type: "data-map", id: "map", data: { zoom: 3 } },
      { type: "data-steering-metadata", id: "m2", data: { sentFrom: "phone" } },
    ]);
    await isAsLoaded(
      store,
      (await resumeTurn(host, id, { messageId: first.request.id })) ?? expect.fail("it is known"),
    );
    await host.stop();
  });

  test("is the reason for which waiting calls are denied", async () => {
    const store = open();
    const calls = [{ name: "pay" }, { name: "pay" }];
    const host = hostOn(store, [{ calls }, "Not paid."], { tools: { pay } });
    const first = await post(host, "Pay.", "m1");
    await chunksOf(first);
    const second = await post(host, "Too much!", "m2", { by: "ada" });
    expect([second.request.id, second.joined]).toEqual([first.request.id, true]);
    expect((await second.request.result).text).toBe("Not paid.");
    await isAsLoaded(store, second);
    const thread = await host.thread(id);
    expect(thread.filterByKind("approval_resolved").map(({ payload }) => payload)).toMatchObject([
      { approved: false, reason: "Too much!", by: "ada" },
      { approved: false, reason: "Too much!", by: "ada" },
    ]);
    const again = await post(host, "Too much!", "m2");
    expect(again.request.id).toBe(first.request.id);
    expect((await host.thread(id)).rev).toBe(thread.rev);
    await host.stop();
  });

  test("names the person who wrote it, for the model and on the page", async () => {
    const store = open();
    const { running, finish, tools } = slowTool();
    const host = hostOn(store, [{ calls: [{ name: "look" }] }, { expect: "From Bob:\nBy train.", text: "A1" }], {
      tools,
    });
    const first = await post(host, "Oslo?", "m1");
    await running;
    const second = await post(host, "By train.", "m2", { author: BOB });
    finish();
    expect((await first.request.result).text).toBe("A1");
    await isAsLoaded(store, second);
    const entries = (await store.load(id))?.toArray() ?? [];
    expect(entries.flatMap(({ payload }) => payload["author"] ?? [])).toEqual([BOB]);
    const parts = toUIMessages(await host.thread(id)).at(-1)?.parts ?? [];
    expect(parts.filter(({ type }) => type.includes("steering"))).toEqual([
      { type: "steering-message", id: "m2", parts: [{ type: "text", text: "By train." }] },
      { type: "data-steering-metadata", id: "m2", data: { heddle: { author: BOB } } },
    ]);
    await host.stop();
  });

  test.each(["here", "elsewhere"])("is a reason with its author for the model, decided %s", async (where) => {
    const store = open();
    const shownTo: unknown[] = [];
    const transformRequest = (request: { readonly messages: unknown }) => {
      shownTo.push(request.messages);
      return request;
    };
    const host = hostOn(store, [{ calls: [{ name: "pay" }] }, "Not paid."], { tools: { pay }, transformRequest });
    const other = hostOn(store, [], { tools: { pay } });
    const first = await post(host, "Pay.", "m1");
    await chunksOf(first);
    await post(where === "here" ? host : other, "Too much!", "m2", { by: "u2", author: BOB });
    expect((await first.request.result).text).toBe("Not paid.");
    expect(JSON.stringify(shownTo.at(-1))).toMatch(/did not run: From Bob:\\+nToo much!/);
    const thread = await host.thread(id);
    const decided = { approved: false, reason: "Too much!", by: "u2", author: BOB };
    expect(thread.filterByKind("approval_resolved").map(({ payload }) => payload)).toMatchObject([decided]);
    const call = toUIMessages(thread)
      .at(-1)
      ?.parts.find(({ type }) => type === "tool-pay");
    expect(call).toMatchObject({ state: "output-denied", approval: { approved: false, reason: "Too much!" } });
    await Promise.all([host.stop(), other.stop()]);
  });

  test("skips a call that waits for an answer", async () => {
    const told = { expect: { lastUser: "Never mind." }, text: "Fine." };
    const host = hostOn(open(), [{ calls: [{ name: "locate" }] }, told], { tools: { locate } });
    await chunksOf(await post(host, "Where?", "m1"));
    const { request } = await post(host, "Never mind.", "m2");
    expect((await request.result).text).toBe("Fine.");
    await host.stop();
  });

  test("waits for its end with queue", async () => {
    for (const busy of ["queue", { answering: "queue" }] as const) {
      const { running, finish, tools } = slowTool();
      const script = [{ calls: [{ name: "look" }] }, "A1", { expect: { lastUser: "And then?" }, text: "A2" }];
      const host = hostOn(open(), script, { tools });
      const first = await post(host, "Oslo?", "m1");
      await running;
      const second = post(host, "And then?", "m2", { busy });
      await expect.poll(async () => (await host.pending(id)).map(({ type }) => type)).toEqual(["ask"]);
      finish();
      const { request, joined } = await second;
      expect((await first.request.result).text).toBe("A1");
      expect([(await request.result).text, joined]).toEqual(["A2", undefined]);
      await host.stop();
    }
  });

  test.each(["queue", "cancel"] as const)("leaves an approval to a person, or cancels it, with %s", async (busy) => {
    const host = hostOn(open(), [{ calls: [{ name: "pay" }] }, "A1", "A2"], { tools: { pay } });
    const first = await post(host, "Pay.", "m1");
    await chunksOf(first);
    const second = post(host, "And then?", "m2", { busy });
    if (busy === "queue") {
      await expect.poll(async () => (await host.pending(id)).length).toBe(1);
      await host.approve(id, "call_1");
      expect((await first.request.result).text).toBe("A1");
    } else {
      await expect(first.request.result).rejects.toMatchObject({ code: "request_cancelled" });
    }
    expect((await (await second).request.result).text).toBe(busy === "queue" ? "A2" : "A1");
    await host.stop();
  });

  test("a wrong policy is refused", async () => {
    const host = hostOn(open(), []);
    for (const busy of ["deny", "steer", { answering: "deny" }, { waiting: "steer" }, 7]) {
      await expect(post(host, "Hi", "m1", { busy } as never)).rejects.toMatchObject({ code: "invalid_options" });
    }
    await expect(host.ask(id, "Hi", { queue: "yes" } as never)).rejects.toMatchObject({ code: "invalid_options" });
    await host.stop();
  });

  test("generateId makes the id of the answer, in the stream, the log and the messages", async () => {
    const store = open();
    const host = hostOn(store, ["A1", "A2"]);
    let ids = 0;
    const generateId = (): string => `00000000-0000-4000-8000-00000000000${++ids}`;
    const turn = await post(host, "Hi", "m1", { generateId });
    const { message } = await readBySdk(uiMessageStream(turn.request, turn));
    expect(message.id).toBe("00000000-0000-4000-8000-000000000001");
    const again = await chatTurn(host, id, [said("Hi", "m1")], { generateId, trigger: "regenerate-message" });
    expect((await again.request.result).requestId).toBe("00000000-0000-4000-8000-000000000002");
    expect(toUIMessages(await host.thread(id)).map((one) => one.id)).toEqual(["m1", again.request.id]);
    await host.stop();
  });
});
