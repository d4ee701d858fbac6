import { defineAgent, project } from "heddle";
import { validateMessages } from "heddle/providers";
import { sqliteStore } from "heddle/sqlite";
import { demoAgent, startStudio } from "heddle/studio";
import { scriptedModel } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import { fastFile } from "../support/temp-folder.ts";
import { clientOf, isEnd } from "./support/client.ts";

/** A Studio on a file, as `npx heddle studio` starts it. */
async function studioOn(path: string, options: Parameters<typeof startStudio>[0] = {}) {
  const store = sqliteStore(path);
  const studio = await startStudio({ store, port: 0, ui: false, warn: () => undefined, ...options });
  const stop = async () => {
    await studio.stop({ graceMs: 0 });
    await store.close();
  };
  onTestFinished(stop);
  return { store, studio, api: clientOf(studio), stop };
}

test("stopped in the middle of an answer and started again, it continues, and a page that reconnects misses nothing", async () => {
  const path = fastFile();
  const hanging = scriptedModel([
    { calls: [{ id: "c1", name: "add", arguments: { a: 1, b: 2 } }] },
    { text: ["The", " sum"], hang: true },
  ]);
  const tools = {
    add: { inputSchema: { type: "object" } as const, execute: ({ a, b }: { a: number; b: number }) => a + b },
  };
  const first = await studioOn(path, { agent: defineAgent({ model: hanging, tools }) });
  const id = await first.api.newThread();
  const before = await first.api.events(`/threads/${id}/events`);
  const { body } = await first.api.post(`/threads/${id}/ask`, { content: "Add 1 and 2." });
  await before.until(({ data }) => data.data?.text === " sum");
  const { id: mark } = before.told.findLast((message) => message.id !== undefined) ?? {};
  expect(mark).toBe("e2");
  await first.stop();

  const second = await studioOn(path, { agent: defineAgent({ model: scriptedModel(["The sum is 3."]), tools }) });
  const after = await second.api.events(`/threads/${id}/events`, mark);
  await after.until(({ event, data }) => event === "thread" && data.status === "completed");
  await after.until(({ event, data }) => event === "thread" && data.live === false);
  // The stop, the resume and the answer.
  const told = after.told.filter(({ event }) => event === "entry").map(({ data }) => data.entry);
  expect(told.map(({ seq, kind }) => [seq, kind])).toEqual([
    [3, "note"],
    [4, "note"],
    [5, "ai_message"],
  ]);
  const { entries } = (await second.api.get(`/threads/${id}/entries`)).body;
  expect(entries.at(-1).payload.content).toBe("The sum is 3.");
  expect(new Set(entries.map(({ refs }: { refs: { requestId: string } }) => refs.requestId))).toEqual(
    new Set([body.requestId]),
  );
  const thread = await second.store.load(id);
  const { messages } = project({ thread: thread ?? expect.fail("the thread is gone") });
  for (const provider of ["openai-chat", "openai-responses", "anthropic", "gemini"] as const) {
    const broken = validateMessages(messages, provider).filter(({ rule }) => rule !== "trailing_assistant");
    expect(broken).toEqual([]);
  }
});

test("an approval waits across a restart, and the tool runs once", async () => {
  const path = fastFile();
  const first = await studioOn(path, { agent: demoAgent({ wordMs: 0 }) });
  const id = await first.api.newThread();
  const before = await first.api.events(`/threads/${id}/events`);
  await first.api.post(`/threads/${id}/ask`, { content: "Send 5 euros to Bo." });
  await before.until(({ data }) => data.status === "waiting");
  await first.stop();

  const second = await studioOn(path, { agent: demoAgent({ wordMs: 0 }) });
  const { body } = await second.api.get(`/threads/${id}`);
  expect(body).toMatchObject({ live: false, status: "waiting", request: { state: "waiting" } });
  const after = await second.api.events(`/threads/${id}/events?from=0`);
  await second.api.post(`/threads/${id}/approve`, { toolCallId: body.request.waiting[0].toolCallId });
  const end = await after.until(({ event, data }) => event === "agent" && isEnd(data.kind));
  expect(end.data.data.text).toMatch(/^Done: 5 euros for Bo/);
  const { entries } = (await second.api.get(`/threads/${id}/entries`)).body;
  expect(entries.filter(({ payload }: { payload: { role: string } }) => payload.role === "tool").length).toBe(1);
});

test("what another process writes into the file is shown as it comes", async () => {
  const path = fastFile();
  const { api } = await studioOn(path);
  const id = await api.newThread("Shared");
  const events = await api.events(`/threads/${id}/events`);
  const list = await api.events("/events");
  await list.next();
  const other = sqliteStore(path);
  onTestFinished(() => other.close());
  await other.append(id, { kind: "message", payload: { role: "user", content: "from outside" } });
  const { data } = await events.until(({ event }) => event === "entry");
  expect(data.entry.payload.content).toBe("from outside");
  await list.until(({ data }) => data.id === id && data.rev === 1);
});

test("a thread that another process runs is reported as such, and can still be read", async () => {
  const path = fastFile();
  const { api, store } = await studioOn(path);
  const id = await api.newThread();
  await store.claim(id, { holder: "another", ttlMs: 600_000 });
  const { status, body } = await api.post(`/threads/${id}/steer`, { content: "Hi" });
  expect([status, body.error]).toEqual([409, expect.objectContaining({ code: "thread_held", retryable: true })]);
  expect((await api.get(`/threads/${id}/entries`)).body).toEqual({ entries: [], rev: 0 });
});
