import { expect, test } from "vitest";
import { startChild } from "../support/child.ts";
import { fastFile } from "../support/temp-folder.ts";
import { clientOf, isEnd } from "./support/client.ts";

const SCRIPT = new URL("./support/killed-studio.ts", import.meta.url);

test("killed while it streams and started again on the same port, it continues at once, under the same request", async () => {
  const path = fastFile();
  const first = startChild(SCRIPT, path);
  await first.wrote(1);
  const url = first.lines[0] ?? "";
  const api = clientOf({ url });
  const id = await api.newThread();
  const before = await api.events(`/threads/${id}/events`);
  const { requestId } = (await api.post(`/threads/${id}/ask`, { content: "Tell me chapter 1 of the story." })).body;
  await before.until(({ data }) => data.kind === "llm_delta");
  await first.kill();
  const mark = before.told.findLast((message) => message.id !== undefined)?.id;

  const second = startChild(SCRIPT, path, new URL(url).port);
  await second.wrote(1);
  expect(new URL(second.lines[0] ?? "").origin).toBe(api.origin);
  const after = await api.events(`/threads/${id}/events`, mark);
  const end = await after.until(({ event, data }) => event === "agent" && isEnd(data.kind));
  expect(end.data).toMatchObject({ kind: "request_completed", requestId });
  const { entries } = (await api.get(`/threads/${id}/entries`)).body;
  const roles = entries.map(({ kind, payload }: { kind: string; payload: { role: string } }) => payload.role ?? kind);
  expect(roles).toEqual(["user", "note", "assistant"]);
  expect(entries[2].payload.content).toMatch(/^\*\*Chapter 1/);
  const { calls } = (await api.get(`/threads/${id}/calls`)).body;
  expect((await api.get(`/threads/${id}/calls/${calls[0].callId}`)).body.proven).toBe(true);
});
