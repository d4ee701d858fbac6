import type { AgentEvent } from "heddle";
import { expect, test } from "vitest";
import { FollowedLog, followBatch, followUpTo, type LiveBatch } from "../../../src/runtime/server/followed-events.ts";

const request = { id: "req_1", runId: "run_1" };

function event(seq: number, draft: object): AgentEvent {
  return { id: `live.${seq}`, seq, at: 0, runId: "run_1", requestId: "req_1", iteration: 1, ...draft } as AgentEvent; // a part of one kind
}

const started = (seq: number) => event(seq, { kind: "llm_started", callId: "c1", data: {} });
const delta = (seq: number, text: string) =>
  event(seq, { kind: "llm_delta", callId: "c1", data: { type: "text", id: "0", text } });
const batch = (n: number, rev: number, ...events: readonly AgentEvent[]): LiveBatch => ({ from: "a", n, rev, events });

async function kept({ events: log }: FollowedLog): Promise<readonly string[]> {
  log.close();
  const lines: string[] = [];
  for await (const { seq, kind, data } of log.iterate())
    lines.push(`${seq} ${kind} ${"text" in data ? data.text : ""}`.trim());
  return lines;
}

test("an event waits for the entries before it", async () => {
  const log = new FollowedLog(request);
  log.take((followed) => followUpTo(followed, 1));
  log.take((followed) => followBatch(followed, batch(0, 2, started(3))));
  log.take((followed) => followBatch(followed, batch(1, 3, delta(4, "Hi"))));
  expect(log.events.lastSeq).toBe(0);
  log.take((followed) => followUpTo(followed, 2));
  expect(log.events.lastSeq).toBe(1);
  log.take((followed) => followUpTo(followed, 3));
  expect(await kept(log)).toEqual(["1 llm_started", "2 llm_delta Hi"]);
});

test("after a lost batch a text stops until its call starts again", async () => {
  const log = new FollowedLog(request);
  log.take((followed) => followUpTo(followed, 1));
  log.take((followed) => followBatch(followed, batch(0, 1, started(3), delta(4, "To be "))));
  log.take((followed) => followBatch(followed, batch(2, 1, delta(6, "to be"))));
  log.take((followed) => followBatch(followed, { ...batch(0, 1, started(3), delta(6, "To be or not ")), from: "b" }));
  expect(await kept(log)).toEqual(["1 llm_started", "2 llm_delta To be", "3 llm_started", "4 llm_delta To be or not"]);
});

test("a text whose beginning was lost is not shown", async () => {
  const log = new FollowedLog(request);
  log.take((followed) => followUpTo(followed, 1));
  log.take((followed) => followBatch(followed, batch(1, 1, delta(5, "or not "))));
  expect(await kept(log)).toEqual([]);
});
