import { defineAgent, memoryStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { type Body, isEnd, started, type Told } from "./support/client.ts";

const seqsOf = (told: readonly Told[]): readonly number[] =>
  told.filter(({ event }) => event === "entry").map(({ data }) => data.entry.seq);

test("a stream begins with the thread, and with the entries from the one that was asked for", async () => {
  const store = memoryStore();
  await store.append(
    "thread_1",
    Array.from({ length: 5 }, (_, n) => ({ kind: "note", payload: { n } })),
  );
  const { api } = await started({ store });
  const from2 = await api.events("/threads/thread_1/events?from=2");
  await from2.until(({ id }) => id === "e4");
  expect(from2.told[0]).toMatchObject({ event: "thread", id: "e1", data: { id: "thread_1", rev: 5 } });
  expect(seqsOf(from2.told)).toEqual([2, 3, 4]);
  const live = await api.events("/threads/thread_1/events");
  await store.append("thread_1", { kind: "note" });
  await live.until(({ id }) => id === "e5");
  expect(seqsOf(live.told)).toEqual([5]);
});

test("a reader that lost the connection continues after the last entry it got, also when it got none", async () => {
  const store = memoryStore();
  await store.append("thread_1", [{ kind: "note" }, { kind: "note" }]);
  const { api } = await started({ store });
  const before = await api.events("/threads/thread_1/events");
  const { id } = (await before.next()) ?? {};
  before.close();
  await store.append("thread_1", [{ kind: "note" }, { kind: "note" }]);
  const after = await api.events("/threads/thread_1/events", id);
  const last = await after.until((message) => message.id === "e3");
  expect(seqsOf(after.told)).toEqual([2, 3]);
  const empty = await api.events("/threads/thread_1/events", last.id);
  await store.append("thread_1", { kind: "note" });
  await empty.until((message) => message.id === "e4");
  expect(seqsOf(empty.told)).toEqual([4]);
  const strange = await api.events("/threads/thread_1/events", "e999");
  expect(await strange.next()).toMatchObject({ id: "e4" });
});

test("a reader that joins in the middle of a request gets it from its beginning, deltas included", async () => {
  const model = scriptedModel([{ text: ["Once", " upon", " a", " time"], hang: true }]);
  const { api } = await started({ agent: defineAgent({ model }) });
  const id = await api.newThread();
  const first = await api.events(`/threads/${id}/events`);
  await api.post(`/threads/${id}/ask`, { content: "A story." });
  const isLast = ({ data }: Told) => data.data?.text === " time";
  await first.until(isLast);
  const second = await api.events(`/threads/${id}/events`);
  await second.until(isLast);
  const agentOf = (told: readonly Told[]) => told.filter(({ event }) => event === "agent").map(({ data }) => data);
  expect(agentOf(second.told)).toEqual(agentOf(first.told));
  expect(agentOf(second.told).map(({ seq }: Body) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
  await api.post(`/threads/${id}/cancel`);
  const ends = await Promise.all([first, second].map((events) => events.until(({ data }) => isEnd(data.kind ?? ""))));
  expect(ends[0]).toEqual(ends[1]);
  // What is over is in the log: nobody is told it once more.
  const third = await api.events(`/threads/${id}/events?from=0`);
  await third.until(({ event }) => event === "entry");
  expect(third.told.some(({ event }) => event === "agent")).toBe(false);
});

test("a reader that falls behind misses no request", async () => {
  const { api } = await started();
  const id = await api.newThread();
  const slow = await api.events(`/threads/${id}/events`);
  for (const n of [1, 2, 3]) await api.asked(id, `Tell me chapter ${n} of the story.`);
  let ends = 0;
  await slow.until(({ data }) => data.kind === "request_completed" && ++ends === 3);
  const requests = slow.told.filter(({ event }) => event === "agent");
  expect(new Set(requests.map(({ data }) => data.requestId)).size).toBe(3);
  expect(requests.filter(({ data }) => data.kind === "llm_delta").length).toBeGreaterThan(1000);
});

test("behind the end of a request comes the thread as it stands then", async () => {
  const { api } = await started();
  const id = await api.newThread();
  const events = await api.events(`/threads/${id}/events`);
  await api.post(`/threads/${id}/ask`, { content: "What is 1 + 1?" });
  await events.until(({ data }) => data.kind === "request_completed");
  // A row that was read before the end may still come first.
  const { data } = await events.until(({ event, data }) => event === "thread" && !data.live && data.rev > 1);
  expect(data).toMatchObject({ status: "completed", rev: 4 });
});

test("the resume token of a request is not shown to pages", async () => {
  const agent = defineAgent({ model: scriptedModel(["Hi"]), tokenSecret: "a secret of at least 32 characters" });
  const { api } = await started({ agent });
  const id = await api.newThread();
  const events = await api.events(`/threads/${id}/events`);
  await api.post(`/threads/${id}/ask`, { content: "Hi" });
  const { data } = await events.until(({ data }) => data.kind === "checkpoint");
  expect(data.data.token).toBe("");
});

test("the list gets every change: threads made, asked, finished, deleted, and written by others", async () => {
  const store = memoryStore();
  const { api } = await started({ store });
  const events = await api.events("/events");
  expect(await events.next()).toMatchObject({ event: "ready" });
  const id = await api.newThread("Sums");
  const of = (is: (row: Body) => boolean) =>
    events.until(({ event, data }) => event === "thread" && data.id === id && is(data));
  await of(({ rev }) => rev === 0);
  await api.post(`/threads/${id}/ask`, { content: "What is 1 + 1?" });
  const { id: mark } = await of(({ status, live }) => status === "completed" && !live);
  await api.delete(`/threads/${id}`);
  expect((await events.until(({ event }) => event === "deleted")).data).toEqual({ id });
  await store.append("thread_other", { kind: "note" });
  await events.until(({ data }) => data.id === "thread_other");
  const resumed = await api.events("/events", mark);
  await resumed.until(({ data }) => data.id === "thread_other");
});

test("two clients on one thread get the same events, whichever asks", async () => {
  const { api } = await started();
  const id = await api.newThread();
  const [a, b] = await Promise.all([api.events(`/threads/${id}/events`), api.events(`/threads/${id}/events`)]);
  for (const content of ["What is 1 + 1?", "What is 2 + 2?"]) await api.asked(id, content);
  for (const events of [a, b]) await events.until(({ id }) => id === "e7");
  expect(seqsOf(a.told)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(seqsOf(b.told)).toEqual(seqsOf(a.told));
});

test("one stream carries the list and some threads, and resumes each where it was", async () => {
  const { api } = await started();
  const [a, b] = [await api.newThread("A"), await api.newThread("B")];
  const stream = await api.events(`/events?threads=${a},${b},thread_none`);
  await stream.until(({ event }) => event === "ready");
  await api.asked(a, "What is 1 + 1?");
  await api.asked(b, "What is 2 + 2?");
  const answered = await stream.until(
    ({ event, data }) => event === "entry" && data.threadId === b && data.entry.payload.role === "assistant",
  );
  const entriesOf = (told: typeof stream.told, id: string) =>
    told.filter(({ event, data }) => event === "entry" && data.threadId === id).map(({ data }) => data.entry.seq);
  expect(stream.told.some(({ event, data }) => event === "thread" && data.threadId === undefined)).toBe(true);
  stream.close();

  await api.asked(a, "And 3 + 3?");
  const resumed = await api.events(`/events?threads=${a},${b}`, answered.id);
  const { rev } = (await api.get(`/threads/${a}`)).body;
  await resumed.until(({ data }) => data.threadId === a && data.entry?.seq === rev - 1);
  await api.asked(b, "And 4 + 4?");
  const { rev: revOfB } = (await api.get(`/threads/${b}`)).body;
  await resumed.until(({ data }) => data.threadId === b && data.entry?.seq === revOfB - 1);
  const all = (id: string) => [...entriesOf(stream.told, id), ...entriesOf(resumed.told, id)];
  expect(all(a)).toEqual(Array.from({ length: rev }, (_, seq) => seq));
  expect(all(b)).toEqual(Array.from({ length: revOfB }, (_, seq) => seq));
});
