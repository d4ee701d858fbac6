import { chatHandler, type UIChatMessage } from "heddle/ai-sdk";
import { ChatError, chatTransport, type FollowedState, followThread } from "heddle/client";
import { describe, expect, test } from "vitest";
import { HandClock } from "../browser/support/hand-clock.ts";
import { agentWith, isAsReloaded, slowly, TestServer, tabOn } from "./support/pages.ts";

describe.each([6, 7] as const)("a page with the client of AI SDK %i", (version) => {
  test("continues after a lost connection, without an error or a word twice", async () => {
    const clock = new HandClock();
    const server = new TestServer(agentWith([slowly("One ", "two ", "three.")], clock));
    const tab = tabOn(server, version);
    const sent = tab.chat.sendMessage({ text: "Count." });
    await expect.poll(tab.texts).toBe("Count. | One ");
    server.cut();
    clock.pass(1);
    await expect.poll(tab.texts).toBe("Count. | One two ");
    server.goDown();
    clock.pass(1);
    server.comeBack();
    await sent;
    expect(tab.texts()).toBe("Count. | One two three.");
    expect(new Set(tab.chat.statuses)).toEqual(new Set(["submitted", "streaming", "ready"]));
    await isAsReloaded(server, tab, version);
  });

  test("is sent again only the step in which the connection was lost", async () => {
    const clock = new HandClock();
    const looks = { text: "I look.", calls: [{ id: "c1", name: "see" }] };
    const server = new TestServer(agentWith([looks, slowly("One ", "two.")], clock));
    const tab = tabOn(server, version);
    const sent = tab.chat.sendMessage({ text: "Count." });
    await expect.poll(tab.texts).toBe("Count. | I look. / One ");
    const { length } = server.read;
    server.cut();
    const again = (): string => server.read.slice(length).join("");
    await expect.poll(again).toContain("One ");
    expect(again()).not.toContain("I look.");
    clock.pass(1);
    await sent;
    expect(tab.texts()).toBe("Count. | I look. / One two.");
    await isAsReloaded(server, tab, version);
  });

  test("shows an answer that ended while the connection was lost", async () => {
    const clock = new HandClock();
    const server = new TestServer(agentWith([slowly("One ", "two.")], clock));
    const tab = tabOn(server, version);
    const sent = tab.chat.sendMessage({ text: "Count." });
    await expect.poll(tab.texts).toBe("Count. | One ");
    const request = await server.host.resume("t");
    server.goDown();
    clock.pass(1);
    await request?.result;
    server.comeBack();
    await sent;
    expect(tab.texts()).toBe("Count. | One two.");
    expect(tab.chat.statuses).not.toContain("error");
  });

  test("continues after a restart of the server, with the answer of the new process", async () => {
    const server = new TestServer(agentWith([slowly("One ", "two.")]));
    const tab = tabOn(server, version);
    const sent = tab.chat.sendMessage({ text: "Count." });
    await expect.poll(tab.texts).toBe("Count. | One ");
    await server.restart(agentWith(["Uno, due."]));
    await sent;
    expect(tab.chat.statuses).not.toContain("error");
    await isAsReloaded(server, tab, version);
    expect(tab.texts()).toBe("Count. | Uno, due.");
  });

  test("posts again when the server was away, and is asked once", async () => {
    const server = new TestServer(agentWith(["Four."]));
    const tab = tabOn(server, version);
    server.goDown();
    const sent = tab.chat.sendMessage({ text: "2+2?" });
    await expect.poll(() => tab.chat.status).toBe("submitted");
    server.comeBack();
    await sent;
    expect(tab.texts()).toBe("2+2? | Four.");
    await isAsReloaded(server, tab, version);
  });

  test("follows live what another tab asks, and stops for both", async () => {
    const clock = new HandClock();
    const server = new TestServer(agentWith([slowly("One ", "two ", "three.")], clock));
    const [first, second] = [tabOn(server, version), tabOn(server, version)];
    await expect.poll(() => second.state()?.status).toBe(null);
    const sent = first.chat.sendMessage({ text: "Count." });
    await expect.poll(second.texts).toBe("Count. | One ");
    clock.pass(1);
    for (const { texts } of [first, second]) await expect.poll(texts).toBe("Count. | One two ");
    await second.thread.stop();
    await sent;
    for (const tab of [first, second]) await isAsReloaded(server, tab, version);
    expect(first.texts()).toBe("Count. | One two ");
    expect(first.chat.messages.at(-1)?.metadata).toMatchObject({ heddle: { status: "cancelled" } });
  });

  test("is busy from a message that is steered in until the end of the request", async () => {
    const clock = new HandClock();
    const script = [{ text: ["I look", "."], deltaDelayMs: 1, calls: [{ name: "see" }] }, "By train."];
    const server = new TestServer(agentWith(script, clock));
    const tab = tabOn(server, version);
    const first = tab.chat.sendMessage({ text: "Oslo?" });
    await expect.poll(tab.texts).toContain("I look");
    const from = tab.chat.statuses.length;
    const second = tab.chat.sendMessage({ text: "By train?" });
    await expect.poll(async () => (await server.host.pending("t")).length).toBe(1);
    clock.pass(5);
    await Promise.all([first, second]);
    const statuses = tab.chat.statuses.slice(from);
    expect(statuses.slice(0, statuses.indexOf("ready"))).not.toContain("ready");
    expect(statuses.slice(statuses.indexOf("ready"))).not.toContain("streaming");
    await isAsReloaded(server, tab, version);
    expect(JSON.stringify(tab.chat.messages.at(-1))).toContain("By train?");
  });

  test.each([
    ["a limit", { maxIterations: 1 }],
    ["stopWhen", { stopWhen: () => true }],
  ])("posts no more than once by itself after %s has ended the answer with a tool", async (_, config) => {
    const clock = new HandClock();
    const script = [{ text: ["I ", "look."], deltaDelayMs: 1, calls: [{ name: "see" }] }];
    const server = new TestServer(agentWith(script, clock, config));
    const [tab, other] = [tabOn(server, version), tabOn(server, version)];
    await expect.poll(() => other.state()?.status).toBe(null);
    const sent = tab.chat.sendMessage({ text: "Oslo?" });
    await expect.poll(other.texts).toBe("Oslo? | I ");
    clock.pass(5);
    await sent;
    for (const one of [tab, other]) {
      await expect.poll(() => one.state()?.status).toBe("completed");
      expect(one.chat.statuses).not.toContain("error");
      await isAsReloaded(server, one, version);
    }
    await expect.poll(() => server.posts.length).toBe(3); // the message, and one post of each tab by itself
    expect((await server.host.thread("t")).filterByKind("ai_message")).toHaveLength(3);
  });

  test("shows the title that another tab gave, also while an answer is streamed", async () => {
    const clock = new HandClock();
    const server = new TestServer(agentWith(["Four.", slowly("One ", "two.")], clock));
    const [first, second] = [tabOn(server, version), tabOn(server, version)];
    await first.chat.sendMessage({ text: "2+2?" });
    await expect.poll(() => second.state()?.status).toBe("completed");
    await first.thread.rename("Sums");
    for (const { state } of [first, second]) await expect.poll(() => state()?.title).toBe("Sums");
    const sent = first.chat.sendMessage({ text: "Count." });
    await expect.poll(second.texts).toBe("2+2? | Four. | Count. | One ");
    await first.thread.rename("Numbers");
    clock.pass(5);
    await sent;
    for (const { state } of [first, second]) await expect.poll(() => state()?.title).toBe("Numbers");
    await isAsReloaded(server, second, version);
    expect(first.texts()).toBe("2+2? | Four. | Count. | One two.");
  });

  test("shows that its thread was deleted, while an answer is streamed and when none is", async () => {
    const clock = new HandClock();
    const server = new TestServer(agentWith(["Four.", slowly("One ", "two ", "three.")], clock));
    const [first, second] = [tabOn(server, version), tabOn(server, version)];
    await first.chat.sendMessage({ text: "2+2?" });
    await expect.poll(second.texts).toBe("2+2? | Four.");
    await expect.poll(() => second.state()?.status).toBe("completed");
    await server.store.delete("t");
    for (const { chat, state } of [first, second]) {
      await expect.poll(() => [chat.messages, state()?.status]).toEqual([[], null]);
    }
    const sent = first.chat.sendMessage({ text: "Count." });
    await expect.poll(second.texts).toBe("Count. | One ");
    await server.store.delete("t");
    clock.pass(5);
    await sent;
    for (const { chat, state } of [first, second]) {
      await expect.poll(() => [chat.messages, state()?.status]).toEqual([[], null]);
    }
  });

  test("decides a call in all tabs", async () => {
    const server = new TestServer(agentWith([{ calls: [{ id: "c1", name: "pay" }] }, "Paid."]));
    const [first, second] = [tabOn(server, version), tabOn(server, version)];
    await first.chat.sendMessage({ text: "Pay." });
    await expect.poll(() => second.state()?.status).toBe("waiting");
    const call = (await server.host.waiting("t"))[0]?.toolCallId ?? "";
    await second.thread.approve(call, { reason: "Fine." });
    for (const tab of [first, second]) {
      await expect.poll(tab.texts).toBe("Pay. | Paid.");
      await isAsReloaded(server, tab, version);
    }
    const refused = await second.thread.deny(call).catch((error: unknown) => error);
    expect(ChatError.isInstance(refused) && [refused.code, refused.status]).toEqual(["not_waiting", 409]);
  });

  test("regenerates, edits and switches branches", async () => {
    const server = new TestServer(agentWith(["One.", "Two.", "Three.", "Four."]));
    const tab = tabOn(server, version);
    await tab.chat.sendMessage({ text: "Count." });
    await tab.chat.regenerate();
    await isAsReloaded(server, tab, version);
    expect(tab.texts()).toBe("Count. | Two.");
    const { lanes = [] } = Object.values(tab.state()?.siblings ?? {})[0] ?? {};
    await tab.thread.switchBranch(lanes[0] ?? "");
    expect(tab.texts()).toBe("Count. | One.");
    await tab.chat.sendMessage({ text: "More." });
    await isAsReloaded(server, tab, version);
    expect(tab.texts()).toBe("Count. | One. | More. | Three.");
    await tab.chat.sendMessage({ text: "Most.", messageId: tab.chat.messages[2]?.id ?? "" });
    await isAsReloaded(server, tab, version);
    expect(tab.texts()).toBe("Count. | One. | Most. | Four.");
  });
});

test("a message is posted with the id of the one before it, and without the others", async () => {
  const server = new TestServer(agentWith(["One.", "Two."]));
  const tab = tabOn(server);
  await tab.chat.sendMessage({ text: "A" });
  await tab.chat.sendMessage({ text: "B" });
  const [user, answer] = tab.chat.messages;
  expect(server.posts).toMatchObject([
    { id: "t", trigger: "submit-message", messages: [{ id: user?.id, parts: [{ text: "A" }] }] },
    { messages: [{ id: answer?.id, role: "assistant", parts: [] }, { parts: [{ text: "B" }] }] },
  ]);
});

test("people who write at once do not cut each other's answers", async () => {
  const server = new TestServer(agentWith(["Hello.", "One.", "Two.", "Three.", "Four."]));
  const tabs = [tabOn(server), tabOn(server), tabOn(server)];
  await tabs[0]?.chat.sendMessage({ text: "Hi" });
  for (const tab of tabs) await expect.poll(tab.texts).toBe("Hi | Hello.");
  await Promise.all(tabs.map(({ chat }, index) => chat.sendMessage({ text: `From ${index}` })));
  for (const tab of tabs) {
    await isAsReloaded(server, tab);
    const shown = JSON.stringify(tab.chat.messages); // a message that joins is a part of the answer
    for (const index of tabs.keys()) expect(shown).toContain(`From ${index}`);
  }
  expect(JSON.stringify((await server.host.thread("t")).toArray())).not.toContain("cancelled");
});

test("a message that is sent during a stop is sent after it", async () => {
  const server = new TestServer(agentWith([slowly("One ", "two."), "New."]));
  const tab = tabOn(server);
  const first = tab.chat.sendMessage({ text: "Count." });
  await expect.poll(tab.texts).toBe("Count. | One ");
  const stopped = tab.thread.stop();
  await tab.chat.stop();
  await Promise.all([stopped, first, tab.chat.sendMessage({ text: "Again." })]);
  await isAsReloaded(server, tab);
  expect(tab.texts()).toBe("Count. | One  | Again. | New.");
});

test("a message that is queued is in the state of the page until its turn", async () => {
  const server = new TestServer(agentWith([{ calls: [{ id: "c1", name: "pay" }] }, "Paid.", "Four."]));
  const tab = tabOn(server);
  await tab.chat.sendMessage({ text: "Pay." });
  const queued = server.host.ask("t", "2+2?", { queue: true });
  await expect.poll(async () => (await server.host.pending("t")).length).toBe(1);
  tab.thread.refresh();
  await expect.poll(() => tab.state()?.queued).toMatchObject([{ role: "user", parts: [{ text: "2+2?" }] }]);
  await tab.thread.approve("c1");
  await (await queued).result;
  await expect.poll(tab.texts).toBe("Pay. | Paid. | 2+2? | Four.");
  expect(tab.state()?.queued).toEqual([]);
});

test("a message that the server refuses stays in the page with its error", async () => {
  const server = new TestServer(agentWith([]));
  const tab = tabOn(server);
  await expect.poll(() => tab.state()?.status).toBe(null);
  await tab.chat.sendMessage({ text: "" });
  expect(tab.chat.error).toMatchObject({ name: "ChatError", code: "empty_ask" });
  tab.thread.refresh();
  const before = tab.state();
  await server.store.append("t", { kind: "note" });
  await expect.poll(() => tab.state() === before).toBe(false);
  expect(tab.chat.messages.map(({ role }) => role)).toEqual(["user"]);
});

test("a thread of another user is an error of the page, which asks no more", async () => {
  const server = new TestServer(agentWith(["One."]));
  const refused = chatHandler({ host: server.host, authorize: () => false });
  let calls = 0;
  const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    calls += 1;
    return refused(new Request(input, init));
  };
  const states: FollowedState[] = [];
  const thread = followThread<UIChatMessage>({
    transport: chatTransport({ api: "http://localhost/api/chat", fetch, retryDelayMs: () => 0 }),
    id: "t",
    setMessages: () => undefined,
    resumeStream: async () => undefined,
    onState: (state) => states.push(state),
  });
  await expect.poll(() => states).toMatchObject([{ error: { code: "access_refused", status: 403 } }]);
  thread.close();
  expect(calls).toBe(1);
});

test("an option that chatTransport does not have is refused with the names that it has", () => {
  const open = () => chatTransport({ url: "/api/chat" } as object);
  expect(open).toThrow('chatTransport has no option "url". It has: api, headers, body,');
  expect(open).toThrow(expect.objectContaining({ name: "ChatError", code: "invalid_options" }));
});

describe("a page of a long chat", () => {
  /** Each load is compared with that of a page that was just opened. */
  async function loaded(server: TestServer) {
    const transport = chatTransport({ api: "http://localhost/api/chat", fetch: server.fetch });
    const load = async () => {
      const { messages } = await transport.messages("t");
      const fresh = chatTransport({ api: "http://localhost/api/chat", fetch: server.fetch });
      const bytes = server.read.at(-1)?.length ?? 0;
      expect(messages).toEqual((await fresh.messages("t")).messages);
      return { messages, bytes };
    };
    for (const content of ["x".repeat(10_000), "Two?", "Three?"]) await (await server.host.ask("t", content)).result;
    return { load };
  }

  test("loads only the messages that it does not have", async () => {
    const server = new TestServer(agentWith(["1", "2", "3", "4"]));
    const { load } = await loaded(server);
    const first = await load();
    expect(first.bytes).toBeGreaterThan(10_000);
    await (await server.host.ask("t", "Four?")).result;
    const second = await load();
    expect(second.messages.map(({ parts }) => JSON.stringify(parts)).at(-2)).toContain("Four?");
    expect(second.messages).toHaveLength(8);
    expect(second.bytes).toBeLessThan(3000);
  });

  test("loads all of them after a change of an earlier one", async () => {
    const server = new TestServer(agentWith(["1", "2", "3", "4"]));
    const { load } = await loaded(server);
    const { messages } = await load();
    await server.host.branch("t", { before: (await server.host.thread("t")).toArray()[2]?.id ?? "" });
    expect((await load()).messages).toHaveLength(2);
    await server.host.switchBranch("t", "default");
    expect((await load()).messages).toEqual(messages);
  });
});
