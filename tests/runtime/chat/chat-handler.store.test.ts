import { randomUUID } from "node:crypto";
import { memoryStore, type ThreadStore } from "heddle";
import { chatHandler, type MessageSiblings, resumeTurn, type ThreadChange } from "heddle/ai-sdk";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { openStore } from "../../stores/postgres/open.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { anything } from "../ui-messages/chat.ts";

import { chatOn, codeOf, last, type Shown, send, shown, textOf, user } from "./support/chat.ts";

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
  ["Postgres", () => openStore({ tenant: randomUUID() })],
])("a chat handler on %s", (_name, open) => {
  test("streams a turn, and shows the messages of the thread and its owner", async () => {
    const chat = chatOn({ store: open() });
    expect(await shown(chat)).toEqual({ texts: "", siblings: {}, status: null });
    expect(textOf(await send(chat, [user("m1", "2+2?")]))).toBe("4");
    expect(await shown(chat)).toEqual({ texts: "2+2? 4", siblings: {}, status: "completed" });
    expect((await chat.store.list({ owner: "ada" })).threads.map(({ id }) => id)).toEqual(["t"]);
  });

  test("takes messages that are posted at once as those to a busy agent", async () => {
    const chat = chatOn({ store: open(), script: ["one", "two", "three"] });
    const answers = await Promise.all(["m1", "m2", "m3"].map((id) => send(chat, [user(id, `from ${id}`)])));
    expect(answers.filter((answer) => answer !== undefined)).toHaveLength(3);
    const { texts, status } = await shown(chat);
    expect(status).toBe("completed");
    const entries = (await chat.store.load("t"))?.toArray() ?? [];
    expect(
      entries
        .filter(({ payload }) => payload["role"] === "user")
        .map(({ payload }) => payload["content"])
        .sort(),
    ).toEqual(["from m1", "from m2", "from m3"]);
    expect(texts).toContain("from m1");
  });

  test("shows a message that is queued, in any process, until its turn", async () => {
    const store = open();
    const script = [{ calls: [{ id: "c1", name: "pay" }] }, "Paid.", "Four."];
    const chat = chatOn({ store, script, ask: () => ({ busy: "queue" }) });
    const reloaded = chatOn({ store });
    const page = async () => (await (await reloaded.get("t/messages")).json()) as { readonly queued: unknown } & Shown;
    await send(chat, [user("m1", "Pay.")]);
    expect((await page()).queued).toEqual([]);
    const second = send(chat, [user("m2", "2+2?")]);
    await expect.poll(async () => (await page()).queued).toEqual([user("m2", "2+2?")]);
    await chat.host.ask("t", "Later.", { at: 3_600_000 });
    const { messages, queued } = await page();
    expect([messages.map(textOf).join(" "), queued]).toEqual(["Pay. ", [user("m2", "2+2?")]]);
    await chat.post("t/approve", { toolCallId: "c1" });
    expect(textOf(await second)).toBe("Four.");
    const after = await page();
    expect([after.messages.map(textOf).join(" "), after.queued]).toEqual(["Pay. Paid. 2+2? Four.", []]);
  });

  test("shows the title of the thread, and renames it", async () => {
    const chat = chatOn({ store: open() });
    const titleIn = async () => ((await (await chat.get("t/messages")).json()) as { readonly title: unknown }).title;
    await send(chat, [user("m1", "2+2?")]);
    expect(await titleIn()).toBeNull();
    await chat.store.append("t", [], { metadata: { generatedTitle: "A sum" } });
    expect(await titleIn()).toBe("A sum");
    expect((await chat.post("t/rename", { title: "Mine" })).status).toBe(204);
    expect(await titleIn()).toBe("Mine");
    expect(await codeOf(await chat.post("t/rename", { title: "" }))).toBe("400 invalid_request");
    expect(await codeOf(await chat.post("u/rename", { title: "Mine" }))).toBe("404 thread_not_found");
    expect((await chat.store.list()).threads.map(({ id }) => id)).toEqual(["t"]);
  });

  test("refuses the thread of another owner, and one without an owner", async () => {
    const store = open();
    await send(chatOn({ store }), [user("m1", "2+2?")]);
    const other = chatOn({ store, authorize: () => ({ owner: "eve" }) });
    expect(await codeOf(await other.get("t/messages"))).toBe("403 owner_mismatch");
    expect(await codeOf(await other.post("", { id: "t", messages: [user("m2", "Hi")] }))).toBe("403 owner_mismatch");
    await store.append("u", { kind: "note" });
    expect(await codeOf(await other.post("", { id: "u", messages: [user("m2", "Hi")] }))).toBe("403 owner_mismatch");
    expect(await codeOf(await other.post("t/stop", {}))).toBe("403 owner_mismatch");
  });

  test("gives a chat that is deleted while it is posted to its owner", async () => {
    const store = open();
    const ask = async (_request: Request, { id }: { readonly id?: unknown }) => {
      await store.delete(String(id));
      return undefined;
    };
    await send(chatOn({ store }), [user("m1", "2+2?")]);
    await send(chatOn({ store, ask }), [user("m2", "And?")]);
    expect((await store.list()).threads).toMatchObject([{ id: "t", owner: "ada", firstWords: "And?" }]);
  });

  test("leaves no chat when a post is refused or its process ends", async () => {
    const store = open();
    const full = new Proxy(store, {
      get: (target, name) =>
        name === "append" ? () => Promise.reject(new Error("killed")) : Reflect.get(target, name).bind?.(target),
    });
    const killed = chatOn({ store: full, onError: () => undefined });
    expect((await killed.post("", { id: "t", messages: [user("m1", "2+2?")] })).ok).toBe(false);
    await killed.host.stop(); // or the next one waits for the end of its claim
    const picky = chatOn({ store, accept: () => "Come back tomorrow." });
    expect(await codeOf(await picky.post("", { id: "t", messages: [user("m1", "2+2?")] }))).toBe("409 not_accepted");
    expect(await codeOf(await picky.post("", { id: "t", messages: "nothing" }))).toBe("400 invalid_message");
    expect((await store.list()).threads).toEqual([]);
    await picky.host.stop();
    expect(textOf(await send(chatOn({ store }), [user("m1", "2+2?")]))).toBe("4");
  });

  test("gives a new chat to one of two owners who post to it at once", async () => {
    const store = open();
    const slow = [{ text: "One.", delayMs: 20 }];
    const chats = ["ada", "eve"].map((owner) => chatOn({ store, script: slow, authorize: () => ({ owner }) }));
    const all = chats.map(({ post }, at) => post("", { id: "t", messages: [user(`m${at}`, `Of ${at}`)] }));
    const answers = await Promise.all(all.map(async (one) => ((await one).ok ? "ok" : codeOf(await one))));
    expect(answers.toSorted()).toEqual(["403 owner_mismatch", "ok"]);
    const { threads } = await store.list();
    const at = answers.indexOf("ok");
    expect(threads).toMatchObject([{ owner: ["ada", "eve"][at], firstWords: `Of ${at}` }]);
    expect(JSON.stringify((await store.load("t"))?.toArray())).not.toContain(`Of ${1 - at}`);
  });

  test.each([
    ["a page that had not seen it", 2, "One? 4 Two? 5 Three? 6"],
    ["a page that goes back on purpose", 4, "One? 4 Three? 6"],
    ["a page that does not say it", undefined, "One? 4 Three? 6"],
  ])("puts a message behind one that has a successor where it belongs, from %s", async (_who, nextSeq, texts) => {
    const chat = chatOn({ store: open() });
    const first = await send(chat, [user("m1", "One?")]);
    await send(chat, [user("m2", "Two?")]);
    const before = { id: first?.id, role: "assistant", parts: [] };
    const answer = await chat.post("", { id: "t", messages: [before, user("m3", "Three?")], nextSeq });
    expect(await answer.text()).toContain('"finish"');
    expect((await shown(chat)).texts).toBe(texts);
  });

  test("edits and regenerates on branches, and shows the one that is chosen", async () => {
    const chat = chatOn({ store: open() });
    const first = await send(chat, [user("m1", "2+2?")]);
    await send(chat, [user("m1", "2+2?")], { trigger: "regenerate-message", messageId: first?.id });
    const regenerated = await shown(chat);
    expect(regenerated).toMatchObject({ texts: "2+2? 5", status: "completed" });
    const [{ index, count, lanes }] = Object.values(regenerated.siblings) as [MessageSiblings];
    expect([index, count]).toEqual([1, 2]);
    const chosen = (await (await chat.post("t/branch", { lane: lanes[0] })).json()) as Shown;
    expect(chosen.messages.map(textOf)).toEqual(["2+2?", "4"]);
    await send(chat, [user("m1", "3+3?")]);
    expect((await shown(chat)).texts).toBe("3+3? 6");
  });

  test("refuses to switch while a call waits, and says that a switch waits for the end of an answer", async () => {
    const looking = Promise.withResolvers<void>();
    const found = Promise.withResolvers<string>();
    const execute = () => {
      looking.resolve();
      return found.promise;
    };
    const script = ["4", { calls: [{ name: "find" }] }, { calls: [{ id: "c1", name: "pay" }] }, "Paid."];
    const chat = chatOn({ store: open(), script, more: { find: { inputSchema: anything, execute } } });
    const first = await send(chat, [user("m1", "2+2?")]);
    const again = send(chat, [user("m1", "2+2?")], { trigger: "regenerate-message", messageId: first?.id });
    await looking.promise;
    const [{ lanes }] = Object.values((await shown(chat)).siblings) as [MessageSiblings];
    const [before, active] = lanes;
    const page = (await (await chat.post("t/branch", { lane: before })).json()) as Shown;
    expect(page).toMatchObject({ deferred: true, status: "running" });
    expect(await (await chat.post("t/branch", { lane: active })).json()).toMatchObject({ deferred: true });
    found.resolve("found");
    await again;
    const { rev } = await chat.host.thread("t");
    expect(await codeOf(await chat.post("t/branch", { lane: before }))).toBe("409 busy");
    expect((await chat.host.thread("t")).rev).toBe(rev);
    expect((await chat.post("t/branch", { lane: active })).status).toBe(200); // it is shown already
    await chat.post("t/approve", { toolCallId: "c1" });
    await last(await chat.transport.reconnectToStream({ chatId: "t" }));
    const switched = (await (await chat.post("t/branch", { lane: before })).json()) as Shown;
    expect(switched.messages.map(textOf)).toEqual(["2+2?", "4"]);
    expect(switched).not.toHaveProperty("deferred");
  });

  test("sends each entry to those who follow the thread, from the last event that they got", async () => {
    const chat = chatOn({ store: open() });
    const left = new AbortController();
    onTestFinished(() => left.abort());
    const followed = await chat.get("t/events", { signal: left.signal });
    await send(chat, [user("m1", "2+2?")]);
    const [ask, answer] = await changes(followed, 2);
    expect(ask).toMatchObject({ seq: 0, kind: "ai_message", requestId: expect.any(String) });
    expect(answer?.requestId).toBe(ask?.requestId);
    const again = await chat.get("t/events", { signal: left.signal, headers: { "last-event-id": "0" } });
    expect((await changes(again, 1))[0]).toEqual(answer);
  });

  test("follows a thread from its messages on, also what another host writes, until the server stops", async () => {
    const store = open();
    const chat = chatOn({ store });
    await send(chat, [user("m1", "2+2?")]);
    const { nextSeq } = (await (await chat.get("t/messages")).json()) as { readonly nextSeq: number };
    await chat.host.stop(); // it held the thread
    const [idle, other] = [chatOn({ store }), chatOn({ store, script: ["Six."] })];
    await send(other, [user("m2", "3+3?")]);
    const followed = await idle.get(`t/events?fromSeq=${nextSeq}`);
    expect((await changes(followed.clone(), 2)).map(({ seq }) => seq)).toEqual([2, 3]);
    await idle.host.stop();
    expect(await followed.text()).toContain("id: 3");
    expect(await (await idle.get("t/events")).text()).toBe("");
  });

  test("ends a stream without an end when the server stops, and another process resumes it", async () => {
    const store = open();
    const chat = chatOn({ store, script: [{ text: ["Four"], hang: true }] });
    const { body } = await chat.post("", { id: "t", messages: [user("m1", "2+2?")] });
    const reader = (body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("Four")) text += (await reader.read()).value ?? "";
    await chat.host.stop({ graceMs: 0 });
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
    expect(text).not.toMatch(/finish|error|abort|DONE/);
    const next = chatOn({ store, script: ["Four."] });
    expect(textOf(await last(await next.transport.reconnectToStream({ chatId: "t" })))).toBe("Four.");
    expect((await shown(next)).texts).toBe("2+2? Four.");
  });

  test("continues an answer at the step of the last event id, in any process, also when it has ended", async () => {
    const store = open();
    const looks = { text: "I look.", calls: [{ id: "c1", name: "look" }] };
    const chat = chatOn({ store, script: [looks, { text: ["Four"], hang: true }] });
    const { body } = await chat.post("", { id: "t", messages: [user("m1", "2+2?")] });
    const reader = (body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("Four")) text += (await reader.read()).value ?? "";
    const lastId = [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? "";
    expect(lastId).toMatch(/\/1$/);
    const other = chatOn({ store });
    const headers = { "last-event-id": lastId };
    const streams = await Promise.all([other.get("t/stream", { headers }), other.get(`t/stream?after=${lastId}`)]);
    await other.post("t/stop", {});
    const ended = await other.get("t/stream", { headers });
    for (const stream of [...streams, ended]) {
      const again = await stream.text();
      expect(again).not.toContain("I look.");
      expect(again).toContain("Four");
      expect(again.match(/^id: .*$/gm)).toEqual([`id: ${lastId}`, `id: ${lastId}`]); // of its start and of its step
    }
    expect(await (await other.get("t/stream", { headers: { "last-event-id": "17" } })).text()).toBe(""); // nothing runs
  });

  test("decides calls that wait, and records who did", async () => {
    const script = [
      { calls: [{ id: "c1", name: "pay" }] },
      "Paid.",
      { calls: [{ id: "c2", name: "pay" }] },
      "Not paid.",
    ];
    const chat = chatOn({ store: open(), script });
    await send(chat, [user("m1", "Pay")]);
    const call = (await chat.host.waiting("t"))[0]?.toolCallId;
    expect((await chat.post("t/approve", { toolCallId: call, reason: "Fine." })).status).toBe(204);
    await last(await chat.transport.reconnectToStream({ chatId: "t" }));
    const decided = (await chat.host.thread("t")).toArray().find(({ kind }) => kind === "approval_resolved");
    expect(decided?.payload).toMatchObject({ approved: true, reason: "Fine.", by: "ada" });
    expect(await codeOf(await chat.post("t/approve", { toolCallId: call }))).toBe("409 not_waiting");
  });

  test("records the person that authorize names, beside the owner of a shared thread", async () => {
    const script = [{ calls: ["pay", "pay", "locate"].map((name, at) => ({ id: `c${at}`, name })) }, "One."];
    const by: string[] = ["bob"];
    const chat = chatOn({ store: open(), script, authorize: () => ({ owner: "team", by: by[0] }) });
    await send(chat, [user("m1", "Pay")]);
    await chat.post("t/approve", { toolCallId: "c0" });
    by[0] = "eve";
    await chat.post("t/deny", { toolCallId: "c1" });
    by.pop();
    expect((await chat.post("t/answer", { toolCallId: "c2", output: "Bern" })).status).toBe(204);
    const log = (await chat.store.load("t"))?.toArray() ?? [];
    expect(log.flatMap(({ payload }) => ("by" in payload ? [payload["by"]] : []))).toEqual(["bob", "eve", "team"]);
    expect((await chat.store.list({ owner: "team" })).threads).toHaveLength(1);
  });

  test("records the person of a turn that decides", async () => {
    const script = [{ calls: [{ id: "c1", name: "pay" }] }, "No.", { calls: [{ id: "c2", name: "pay" }] }, "Nor."];
    const ask = (_request: Request, { as }: { readonly as?: unknown }) => (as === undefined ? {} : { by: String(as) });
    const chat = chatOn({ store: open(), script, ask, authorize: () => ({ owner: "team", by: "bob" }) });
    await send(chat, [user("m1", "Pay")]);
    await send(chat, [user("m2", "Stop.")]);
    await send(chat, [user("m3", "Pay")]);
    await send(chat, [user("m4", "Stop.")], { body: { as: "eve" } });
    const decided = (await chat.host.thread("t")).filterByKind("approval_resolved");
    expect(decided.map(({ payload }) => payload.by)).toEqual(["bob", "eve"]);
  });

  test("stops a request", async () => {
    const chat = chatOn({ store: open(), script: [{ calls: [{ name: "pay" }] }, "Paid."] });
    await send(chat, [user("m1", "Pay")]);
    expect(await (await chat.post("t/stop", {})).json()).toEqual({ stopped: true });
    expect(await (await chat.post("t/stop", {})).json()).toEqual({ stopped: false });
    expect((await shown(chat)).status).toBe("cancelled");
  });

  test("resumes a stream, and answers 204 when nothing runs", async () => {
    const chat = chatOn({ store: open(), script: [{ calls: [{ name: "pay" }] }, "Paid."] });
    expect((await chat.get("t/stream")).status).toBe(204);
    await send(chat, [user("m1", "Pay")]);
    const message = await last(await chat.transport.reconnectToStream({ chatId: "t" }));
    expect(message?.parts.at(-1)).toMatchObject({ type: "tool-pay", state: "approval-requested" });
  });
});

describe("a chat handler", () => {
  test("asks with the options of the route, which reads the body", async () => {
    const ask = (_request: Request, body: object) => ({ refs: { voice: `${(body as { voice?: string }).voice}` } });
    const chat = chatOn({ ask });
    await (await chat.post("", { id: "t", messages: [user("m1", "2+2?")], voice: "low" })).text();
    expect((await chat.host.thread("t")).toArray()[0]?.refs).toMatchObject({ voice: "low", messageId: "m1" });
  });

  test("refuses pages of other sites, and takes those that it names", async () => {
    const chat = chatOn({ origins: ["https://app.example.com"] });
    const turn = { id: "t", messages: [user("m1", "2+2?")] };
    const from = async (headers: Record<string, string>) => {
      const response = await chat.post("", turn, headers);
      return response.ok ? "ok" : codeOf(response);
    };
    expect(await from({ origin: "https://evil.example.com" })).toBe("403 origin_refused");
    expect(await from({ "sec-fetch-site": "cross-site" })).toBe("403 origin_refused");
    expect(await from({ origin: "null" })).toBe("403 origin_refused");
    expect(await from({ origin: "http://localhost", "sec-fetch-site": "same-origin" })).toBe("ok");
    expect(await from({ origin: "https://app.example.com", "sec-fetch-site": "cross-site" })).toBe("ok");
    expect(await from({})).toBe("ok");
  });

  test("refuses bodies that are too large, of other types, or no JSON", async () => {
    const chat = chatOn({ maxBodyBytes: 100 });
    const send = (body: string, type = "application/json") =>
      chat.get("", { method: "POST", body, headers: { "content-type": type } }).then(codeOf);
    expect(await send(JSON.stringify({ id: "t", text: "x".repeat(100) }))).toBe("413 body_too_large");
    expect(await send("{}", "text/plain")).toBe("415 content_type_refused");
    expect(await send("{")).toBe("400 invalid_request");
    expect(await send("[]")).toBe("400 invalid_request");
    expect(await send("{}")).toBe("400 invalid_request");
    expect(await send(JSON.stringify({ id: "t" }))).toBe("400 invalid_message");
    expect(await chat.get("t/nothing").then(codeOf)).toBe("404 route_not_found");
    expect(await chat.get("%E0%A4%A/messages").then(codeOf)).toBe("404 route_not_found");
    expect(await chat.get("t/stop", { method: "DELETE" }).then(codeOf)).toBe("405 method_not_allowed");
    expect((await chat.store.list()).threads).toEqual([]);
  });

  test("gives a page no text of an unknown error, and reports it once", async () => {
    const errors: unknown[] = [];
    const secret = new Error("password");
    const authorize = () => Promise.reject(secret);
    const chat = chatOn({ authorize, onError: (error) => errors.push(error) });
    const response = await chat.get("t/messages");
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("password");
    expect(errors).toEqual([secret]);
    const refused = chatOn({ authorize: () => false });
    expect(await codeOf(await refused.get("t/messages"))).toBe("403 access_refused");
    for (const access of [{ owner: "ada", person: "ada" }, { by: "ada" }, { owner: "ada", by: 5 }, { owner: 5 }]) {
      const wrong = chatOn({ authorize: () => access as never });
      expect(await codeOf(await wrong.get("t/messages"))).toMatch(/^400 invalid_(options|id)$/);
    }
  });

  test("answers with a response that authorize or ask throws", async () => {
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const login = chatOn({ onError, authorize: () => Promise.reject(Response.json({ login: "/" }, { status: 401 })) });
    const refused = await login.get("t/messages");
    expect([refused.status, await refused.json()]).toEqual([401, { login: "/" }]);
    const limited = chatOn({ onError, ask: () => Promise.reject(new Response("Tomorrow", { status: 429 })) });
    expect((await limited.post("", { id: "t", messages: [user("m1", "Hi")] })).status).toBe(429);
    expect(errors).toEqual([]);
    expect((await limited.store.list()).threads).toEqual([]);
  });

  test("needs authorize, and refuses unknown options", () => {
    const { host } = chatOn();
    expect(() => chatHandler({ host } as never)).toThrow("chatHandler needs `authorize`");
    expect(() => chatHandler({ host, authorize: () => true, origin: "x" } as never)).toThrow("origin");
    for (const origin of ["app.example.com", "https://app.example.com/", "https://App.example.com", "*"])
      expect(() => chatHandler({ host, authorize: () => true, origins: [origin] })).toThrow("as browsers send it");
  });
});

describe("a wrong option of a chat handler is refused", () => {
  const options: readonly (readonly [object, string])[] = [
    [{ stream: { sendsReasoning: true } }, "sendReasoning?"],
    [{ stream: { client: 5 } }, "client must be 6 or 7"],
    [{ stream: { onError: "x" } }, "onError must be a function"],
    [{ stream: { after: 3 } }, 'no option "after"'],
    [{ maxBodyBytes: "1" }, "maxBodyBytes"],
    [{ ask: { by: 5 } }, "ask must be a function"],
    [{ onError: "log" }, "onError must be a function"],
  ];
  test.each(options)("%j", (wrong, message) => {
    const { host } = chatOn();
    const make = () => chatHandler({ host, authorize: () => true, ...wrong } as never);
    expect(make).toThrow(
      expect.objectContaining({ code: "invalid_options", message: expect.stringContaining(message) }),
    );
  });

  const turns = [{ busy: { waits: "queue" } }, { by: 5 }, { generateId: "x" }];
  test.each(turns)("of a turn: %j", async (wrong) => {
    const chat = chatOn({ ask: () => wrong as never });
    expect(await codeOf(await chat.post("", { id: "t", messages: [user("m1", "Hi")] }))).toBe("400 invalid_options");
    await expect(resumeTurn(chat.host, "t", { messageID: "a1" } as never)).rejects.toThrow("messageId");
    expect((await chat.host.thread("t")).rev).toBe(0);
  });
});

const opening =
  <Place>(open: (place: Place) => ThreadStore, place: Place) =>
  () =>
    open(place);

test.each([
  ["memory", () => opening((store) => store, memoryStore())],
  ["SQLite", () => opening(sqliteStore, fastFile())],
  ["Postgres", () => opening(openStore, { tenant: randomUUID() })],
])("events end when another process deletes the thread, and begin anew, on %s", async (_name, place) => {
  const open = place();
  const chat = chatOn({ store: open() });
  await send(chat, [user("m1", "2+2?")]);
  const [followed, late] = [await chat.get("t/events?fromSeq=2"), (await chat.get("t/events?fromSeq=1")).clone()];
  expect(await changes(late, 1)).toMatchObject([{ seq: 1 }]);
  await open().delete("t");
  expect(await followed.text()).toContain('event: change\nid: -1\ndata: {"seq":-1,"kind":"deleted"}\n\n');
  expect(await changes(await chat.get("t/events?fromSeq=2"), 1)).toEqual([{ seq: -1, kind: "deleted" }]); // it was away
  expect(await (await chat.get("t/messages")).json()).toMatchObject({ messages: [], status: null, nextSeq: 0 });
  const again = await chat.get("t/events", { headers: { "last-event-id": "-1" } });
  await chatOn({ store: open() }).host.ask("t", "3+3?");
  expect(await changes(again, 1)).toMatchObject([{ seq: 0 }]);
});

/** The first changes of a stream of events. */
async function changes({ body }: Response, count: number): Promise<readonly ThreadChange[]> {
  const found: ThreadChange[] = [];
  let text = "";
  for await (const part of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    text += part;
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data: ")) found.push(JSON.parse(line.slice("data: ".length)));
    if (found.length >= count) break;
  }
  return found.slice(0, count);
}
