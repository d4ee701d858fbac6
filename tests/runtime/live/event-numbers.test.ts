import { describe, expect, test } from "vitest";
import type { Step } from "../../../src/agent/react/agent.ts";
import { changedStatus, metadataOf, nextEventSeq } from "../../../src/runtime/live/thread-metadata.ts";
import type { JsonObject } from "../../../src/thread/json.ts";
import {
  answer,
  asking,
  calling,
  command,
  decided,
  decidedAt,
  find,
  fromTool,
  idle,
  NOW,
  prepared,
  restored,
  running,
  TAKEN,
  waiting,
  written,
} from "./live-thread.ts";

/** An open request, with its agent and its run. */
function openRequest() {
  const { agent, request } = running().live;
  const { run } = agent.state;
  if (run === undefined) throw new Error("The request is not open.");
  return { agent, request, run };
}

/** The number of the first event of the run, when the thread has this metadata. */
function firstSeq(metadata: JsonObject): number {
  const { agent, run } = openRequest();
  return nextEventSeq({ metadata } as typeof agent.thread, run);
}

describe("the first event of a run after a crash", () => {
  test("has the number after those that follow from the entries", () => {
    expect(openRequest().run.eventSeq).toBe(2);
    expect(firstSeq({})).toBe(3);
  });

  test("has the number after the one in the metadata, if that is of this request", () => {
    expect(firstSeq({ eventSeq: { requestId: "req_1", seq: 40 } })).toBe(41);
    expect(firstSeq({ eventSeq: { requestId: "req_0", seq: 40 } })).toBe(3);
    expect(firstSeq({ eventSeq: { requestId: "req_1", seq: 1 } })).toBe(3);
    expect(firstSeq({ eventSeq: { requestId: "req_1", seq: "40" } })).toBe(3);
    expect(firstSeq({ eventSeq: 40 })).toBe(3);
  });
});

describe("the metadata of an append", () => {
  type Live = Parameters<typeof metadataOf>[0];

  /** Directives of the open request, and the number that an append with these directives writes. */
  function appending() {
    const { agent, request, run } = openRequest();
    const ids = { requestId: "req_1", runId: run.runId, iteration: 1 } as const;
    return {
      request,
      emit: { type: "emit", ...ids, event: { kind: "request_started", data: { lane: "default" } } },
      mark: { type: "checkpoint", ...ids, reason: "after_llm" },
      abort: { type: "abort", ...ids, reason: "Why." },
      numbers: (eventSeq: number, directives: Step["directives"] = [], live: Pick<Live, "request"> = { request }) =>
        metadataOf({ ...running().live, ...live }, agent, { agent, directives }, { ...NOW, eventSeq })["eventSeq"],
    } as const;
  }

  test("has no number while the entries account for all events", () => {
    const { numbers, emit, mark, abort } = appending();
    expect(numbers(2)).toBeUndefined();
    expect(numbers(0, [emit, mark])).toBeUndefined();
    expect(numbers(2, [abort])).toBeUndefined();
  });

  test("has a number beyond the events that the entries do not account for", () => {
    const { numbers, emit, mark, abort } = appending();
    expect(numbers(3)).toEqual({ requestId: "req_1", seq: 11 });
    expect(numbers(2, [emit])).toEqual({ requestId: "req_1", seq: 11 });
    expect(numbers(5, [emit, mark, abort])).toEqual({ requestId: "req_1", seq: 15 });
  });

  test("counts the events of the current request only", () => {
    const { numbers, request } = appending();
    for (const phase of ["over", "suspended"] as const) {
      expect(numbers(90, [], { request: request && { ...request, phase } })).toBeUndefined();
    }
    expect(numbers(90, [], { request: undefined })).toBeUndefined();
    expect(numbers(90, [], { request: request && { ...request, phase: "waiting" } })).toEqual({
      requestId: "req_1",
      seq: 98,
    });
  });

  test("has no number when no request is open", () => {
    const open = running();
    const over = decidedAt({ eventSeq: 90 }, open, answer(open));
    expect(find(over, "append").metadata).toEqual({ status: "completed" });
  });

  test("comes with the entries of a step", () => {
    const open = running();
    const called = decidedAt({ eventSeq: 90 }, open, answer(open, ["look"]));
    expect(find(called, "append").metadata).toEqual({ eventSeq: { requestId: "req_1", seq: 100 } });
  });
});

describe("the status of a thread", () => {
  test("changes with the request", () => {
    const asked = decided(idle(), asking, prepared);
    expect(find(asked, "append").metadata).toEqual({ status: "running" });
    const open = written(asked, { type: "worked", id: "99" });
    const begun = running();
    expect(changedStatus(begun.live.agent, open.live.agent)).toEqual({});
    const called = calling(["sign"]);
    const asks = decided(called, fromTool(called, "approval_needed"));
    expect(find(asks, "append").metadata).toEqual({ status: "waiting" });
    const waits = waiting();
    const going = decided(waits, command({ type: "approve", toolCallId: "call_0" }));
    expect(find(going, "append").metadata).toEqual({ status: "running" });
    const cancelled = decided(waits, command({ type: "cancel" }));
    expect(find(cancelled, "append").metadata).toEqual({ status: "cancelled" });
    expect(changedStatus(idle().agent, idle().agent)).toEqual({});
    expect(changedStatus(begun.live.agent, idle().agent)).toEqual({});
  });
});

describe("a request that is opened again", () => {
  test("has the next number, also when the log was read again", () => {
    const { agent } = openRequest();
    const opened = decided(
      { ...idle(), agent: { ...agent, flight: idle().agent.flight } },
      { type: "opened", reply: "r", rows: [], first: undefined, given: undefined },
    );
    expect(opened.live.request).toBeUndefined();
    const first = { type: "resume" } as const;
    const resumed = decided(
      { ...idle(), agent: { ...agent, flight: idle().agent.flight } },
      { type: "opened", reply: "r", rows: [], first, given: undefined },
    );
    expect(find(resumed, "open_request").firstEventSeq).toBe(3);
    const lost = decided(running(), { type: "lost", error: new Error("Unknown.") });
    const read = decided(lost, restored(lost));
    expect(read.effects.some((effect) => effect.type === "open_request")).toBe(false);
    expect(decided(running(), { type: "lost", error: TAKEN }).live.request?.phase).toBe("suspended");
  });
});
