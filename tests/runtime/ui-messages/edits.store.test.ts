import { AgentHost, memoryStore, Thread, type ThreadStore } from "heddle";
import { type ChatTurn, chatTurn, messageSiblings, toUIMessages, type UIChatMessage } from "heddle/ai-sdk";
import { sqliteStore } from "heddle/sqlite";
import type { ScriptedStep } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { agentOf, anything, chunksOf } from "./chat.ts";
import { CLIENTS, type PageChat } from "./clients.ts";

const id = "thread_c";

function hostOn(store: ThreadStore, script: readonly ScriptedStep[], config: object = {}) {
  return AgentHost.create({ agent: agentOf(script, config), store, warn: () => undefined });
}

function wordsOf({ parts }: UIChatMessage): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

function words(messages: readonly UIChatMessage[]): string {
  return messages.map(wordsOf).join(" ");
}

async function loaded(store: ThreadStore, client: 6 | 7 = 7): Promise<UIChatMessage[]> {
  const thread = await store.load(id);
  return thread === undefined ? [] : toUIMessages(thread, { client });
}

const expecting = (text: string, ...messages: readonly string[]): ScriptedStep => ({
  expect: { messages: messages.map((said) => ({ text: said })) },
  text,
});

/** The id of the message with these words. */
function idOf(page: PageChat, said: string): string {
  const found = page.messages.find((message) => wordsOf(message) === said);
  if (found === undefined) throw new Error(`No message says ${said}`);
  return found.id;
}

const STORES = [
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
] as const;
const CASES = STORES.flatMap(([name, open]) => CLIENTS.map((client) => [name, client.version, open, client] as const));

describe.each(CASES)("a page on %s with AI SDK %i", (_name, _version, open, client) => {
  /** The page shows what a reload shows. */
  async function isAsLoaded(page: PageChat, store: ThreadStore): Promise<void> {
    expect(page.error).toBeUndefined();
    expect(JSON.parse(JSON.stringify(page.messages))).toEqual(await loaded(store, client.version));
  }

  test("an edit of the last message is a sibling, and the model is shown the new words only", async () => {
    const store = open();
    const host = hostOn(store, [
      expecting("A1", "U1"),
      expecting("A2", "U1", "A1", "U2"),
      expecting("A3", "U1", "A1", "U3"),
    ]);
    const page = client.open(host);
    await page.sendMessage({ text: "U1" });
    await page.sendMessage({ text: "U2" });
    const edited = idOf(page, "U2");
    await page.sendMessage({ text: "U3", messageId: edited });
    expect(words(page.messages)).toBe("U1 A1 U3 A3");
    await isAsLoaded(page, store);
    const siblings = messageSiblings(await host.thread(id));
    expect(siblings).toEqual({ [edited]: { index: 1, count: 2, lanes: ["default", expect.any(String)] } });
    await host.stop();
  });

  test("an edit of an early message leaves what followed on the old branch", async () => {
    const store = open();
    const host = hostOn(store, ["A1", "A2", expecting("A3", "U3")]);
    const page = client.open(host);
    await page.sendMessage({ text: "U1" });
    await page.sendMessage({ text: "U2" });
    await page.sendMessage({ text: "U3", messageId: idOf(page, "U1") });
    expect(words(page.messages)).toBe("U3 A3");
    await isAsLoaded(page, store);
    await host.switchBranch(id, "default");
    expect(words(await loaded(store))).toBe("U1 A1 U2 A2");
    await host.stop();
  });

  test("a regenerated answer is a sibling, of the last message and of an early one, and the old one can be chosen", async () => {
    const store = open();
    const host = hostOn(store, [
      "A1",
      "A2",
      expecting("A3", "U1", "A1", "U2"),
      expecting("A4", "U1"),
      expecting("A5", "U1", "A1", "U2", "A2", "U5"),
    ]);
    const page = client.open(host);
    await page.sendMessage({ text: "U1" });
    await page.sendMessage({ text: "U2" });
    await page.regenerate();
    expect(words(page.messages)).toBe("U1 A1 U2 A3");
    await isAsLoaded(page, store);
    const last = page.messages.at(-1)?.id ?? "";
    expect(messageSiblings(await host.thread(id))).toMatchObject({ [last]: { index: 1, count: 2 } });
    await page.regenerate({ messageId: idOf(page, "A1") });
    expect(words(page.messages)).toBe("U1 A4");
    await isAsLoaded(page, store);
    expect(Object.values(messageSiblings(await host.thread(id)))).toMatchObject([{ index: 1, count: 2 }]);
    await host.switchBranch(id, "default");
    const reloaded = client.open(host, await loaded(store, client.version));
    expect(words(reloaded.messages)).toBe("U1 A1 U2 A2");
    await reloaded.sendMessage({ text: "U5" });
    expect(words(reloaded.messages)).toBe("U1 A1 U2 A2 U5 A5");
    await isAsLoaded(reloaded, store);
    await host.stop();
  });

  test("a message after a chosen sibling joins the branch of the message before it", async () => {
    const store = open();
    const host = hostOn(store, ["A1", "A2", expecting("A3", "U1", "A1", "U3"), expecting("A4", "U2", "A2", "U4")]);
    const page = client.open(host);
    await page.sendMessage({ text: "U1" });
    const first = client.open(host, await loaded(store, client.version));
    await page.sendMessage({ text: "U2", messageId: idOf(page, "U1") });
    const second = client.open(host, await loaded(store, client.version));
    await first.sendMessage({ text: "U3" }); // a page that still shows the other branch
    expect(words(await loaded(store))).toBe("U1 A1 U3 A3");
    await isAsLoaded(first, store);
    await second.sendMessage({ text: "U4" });
    await isAsLoaded(second, store);
    expect(words(await loaded(store))).toBe("U2 A2 U4 A4");
    await host.stop();
  });

  test("a message after one that has a successor begins a branch", async () => {
    const store = open();
    const host = hostOn(store, ["A1", "A2", expecting("A3", "U1", "A1", "U3")]);
    const page = client.open(host);
    await page.sendMessage({ text: "U1" });
    const stale = client.open(host, await loaded(store, client.version));
    await page.sendMessage({ text: "U2" });
    await stale.sendMessage({ text: "U3" });
    await isAsLoaded(stale, store);
    expect(Object.values(messageSiblings(await host.thread(id)))).toMatchObject([{ index: 1, count: 2 }]);
    await host.stop();
  });

  test("a retry after an error of the provider has one answer and one question", async () => {
    const store = open();
    const host = hostOn(store, [{ error: { status: 400, message: "wrong" } }, expecting("A2", "U1")]);
    const page = client.open(host);
    await page.sendMessage({ text: "U1" });
    expect(page.status).toBe("error");
    await page.regenerate();
    expect(words(page.messages)).toBe("U1 A2");
    await isAsLoaded(page, store);
    await host.stop();
  });
});

/** Waits until the answer has begun. */
async function firstWord({ request }: ChatTurn): Promise<void> {
  for await (const { kind } of request.events()) if (kind === "llm_delta") return;
}

const said = (text: string, messageId = "m1") => ({ id: messageId, role: "user", parts: [{ type: "text", text }] });

describe.each(STORES)("posts on %s", (_name, open) => {
  test.each([
    ["a message", [said("U1")], {}, "U1 A1"],
    ["an edit", [said("U2")], {}, "U2 A2"],
    ["a regenerate", [said("U1")], { trigger: "regenerate-message" }, "U1 A2"],
  ] as const)("%s that is sent twice is one ask", async (name, messages, options, expected) => {
    const host = hostOn(open(), ["A1", "A2", "A3"]);
    if (name !== "a message") await (await chatTurn(host, id, [said("U1")])).request.result;
    const turns = await Promise.all([1, 2].map(() => chatTurn(host, id, messages, options)));
    expect(new Set(turns.map(({ request }) => request.id)).size).toBe(1);
    for (const { request } of turns) await request.result;
    expect(words(toUIMessages(await host.thread(id)))).toBe(expected);
    const { rev } = await host.thread(id);
    if (name === "a regenerate") return void (await host.stop()); // sent later, it is another one
    const late = await chatTurn(host, id, messages, options);
    expect(late.request.id).toBe(turns[0]?.request.id);
    expect(await chunksOf(late)).not.toEqual([]);
    expect((await host.thread(id)).rev).toBe(rev);
    await host.stop();
  });

  test("an unchanged edit of the last message is a repeated post, and one of an early message another answer", async () => {
    const host = hostOn(open(), ["A1", "A2", "A3"]);
    const first = await (await chatTurn(host, id, [said("U1")])).request.result;
    await (await chatTurn(host, id, [said("U2", "m2")])).request.result;
    const { request } = await chatTurn(host, id, [said("U2", "m2")]);
    expect((await request.result).text).toBe("A2");
    const again = await chatTurn(host, id, [said("U1")], { messageId: "m1" });
    expect((await again.request.result).text).toBe("A3");
    expect(again.request.id).not.toBe(first.requestId);
    expect(words(toUIMessages(await host.thread(id)))).toBe("U1 A3");
    await host.stop();
  });

  test("a page that posts only its last message edits one far before the loaded entries", async () => {
    const store = open();
    const contextPolicy = { maxInputTokens: 6_000, reserveOutputTokens: 1_000 };
    const long = Array.from({ length: 1200 }, (_, n) => ({
      role: n % 2 ? "assistant" : "user",
      content: `Word ${n}.`,
    }));
    const host = hostOn(store, ["A1", "A2"], { contextPolicy });
    await (await chatTurn(host, id, [said("U1")])).request.result;
    await host.stop();
    await store.append(
      id,
      long.map((payload) => ({ kind: "message", payload })),
    );
    const next = hostOn(store, ["A2", expecting("A3", "U3")], { contextPolicy });
    await (await chatTurn(next, id, [said("U2", "m2")])).request.result;
    expect((await next.thread(id)).firstSeq).toBeGreaterThan(0);
    await (await chatTurn(next, id, [said("U3")])).request.result;
    expect(words(await loaded(store))).toBe("U3 A3");
    expect(messageSiblings(await next.thread(id, { whole: true }))).toMatchObject({ m1: { index: 1, count: 2 } });
    await next.stop();
  });

  test("an imported message can be edited and answered again", async () => {
    const store = open();
    const imported = [said("Old"), { id: "m2", role: "assistant", parts: [{ type: "text", text: "Answer" }] }];
    await store.append(id, Thread.fromMessages(imported, { format: "ui-messages" }).toArray());
    const host = hostOn(store, [expecting("A1", "New"), expecting("A2", "Old")]);
    await (await chatTurn(host, id, [said("New")])).request.result;
    expect(words(await loaded(store))).toBe("New A1");
    await host.switchBranch(id, "default");
    const again = await chatTurn(host, id, [said("Old")], { trigger: "regenerate-message", messageId: "m2" });
    await again.request.result;
    expect(words(await loaded(store))).toBe("Old A2");
    const siblings = messageSiblings(await host.thread(id));
    expect(siblings["m1"]).toMatchObject({ index: 0, count: 2 });
    expect(siblings[again.request.id]).toMatchObject({ index: 1, count: 2 });
    await host.stop();
  });

  test("an edit and a regenerate cancel a running answer first", async () => {
    const half = { text: "Half", hang: true };
    const host = hostOn(open(), [half, half, expecting("A3", "U2")]);
    const first = await chatTurn(host, id, [said("U1")]);
    await firstWord(first);
    const second = await chatTurn(host, id, [said("U1")], { trigger: "regenerate-message" });
    await expect(first.request.result).rejects.toMatchObject({ code: "request_cancelled" });
    await firstWord(second);
    const third = await chatTurn(host, id, [said("U2")], { messageId: "m1" });
    await expect(second.request.result).rejects.toMatchObject({ code: "request_cancelled" });
    expect((await third.request.result).text).toBe("A3");
    expect(words(toUIMessages(await host.thread(id)))).toBe("U2 A3");
    await host.switchBranch(id, "default");
    const [, stopped] = toUIMessages(await host.thread(id));
    expect([stopped && wordsOf(stopped), stopped?.metadata?.heddle]).toMatchObject(["Half", { status: "cancelled" }]);
    await host.stop();
  });

  test("an edit while a call waits for approval cancels the request", async () => {
    const tools = { pay: { inputSchema: anything, needsApproval: true, execute: () => "paid" } };
    const host = hostOn(open(), [{ calls: [{ name: "pay" }] }, expecting("A2", "U2")], { tools });
    const first = await chatTurn(host, id, [said("U1")]);
    await chunksOf(first);
    const second = await chatTurn(host, id, [said("U2")]);
    expect((await second.request.result).text).toBe("A2");
    await expect(first.request.result).rejects.toMatchObject({ code: "request_cancelled" });
    await host.stop();
  });
});
