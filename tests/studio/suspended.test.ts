import { AgentServer, memoryStore } from "heddle";
import { expect, test } from "vitest";
import { chargingAgent, takeOver } from "./support/charging.ts";
import { isEnd, started, type Told } from "./support/client.ts";

const kindIs =
  (kind: string) =>
  ({ event, data }: Told) =>
    event === "agent" && data.kind === kind;
const isEntry = ({ event }: Told) => event === "entry";

/** A Studio whose request another process has taken over, while its tool ran. */
async function takenOver() {
  const store = memoryStore();
  const { agent, begun, charge } = chargingAgent();
  const { api } = await started({ store, agent });
  const id = await api.newThread();
  const events = await api.events(`/threads/${id}/events`);
  await api.post(`/threads/${id}/ask`, { content: "Charge." });
  await begun;
  await takeOver(store, id);
  charge();
  return { store, api, id, events };
}

test("a page learns that another process has the request, and gets its entries and end from the log", async () => {
  const { store, api, id, events } = await takenOver();
  const suspended = await events.until(kindIs("request_suspended"));
  expect(suspended.data.data).toEqual({ reason: "lost", holder: "two" });
  await events.until(({ event, data }) => event === "thread" && data.live === false);
  expect((await api.get(`/threads/${id}`)).body).toMatchObject({ live: false, request: { state: "running" } });

  await store.release(id, 2);
  const other = await AgentServer.start({ agent: chargingAgent({ isResuming: true }).agent, store, threadId: id });
  await other.request?.result;
  await other.stop();
  const { data } = await events.until((told) => isEntry(told) && told.data.entry.payload.content === "Charged.");
  expect(data.entry.payload.role).toBe("assistant");
  await events.until(({ event, data }) => event === "thread" && data.status === "completed");
  expect((await api.get(`/threads/${id}`)).body.request).toBeUndefined();
});

test("a suspended request is emitted to its end when the same Studio resumes it", async () => {
  const { store, api, id, events } = await takenOver();
  const { data: suspended } = await events.until(kindIs("request_suspended"));
  await store.release(id, 2);
  await api.post(`/threads/${id}/steer`, { content: "Now." });
  const { data: end } = await events.until(({ event, data }) => event === "agent" && isEnd(data.kind));
  expect(end.requestId).toBe(suspended.requestId);
});
