import { expect, test } from "vitest";
import { StaleHolderError, StoreError } from "../../../src/stores/errors.ts";
import { calling, decided, find, replace, restored, types } from "./live-thread.ts";

const AWAY = new StoreError({ code: "store_unreachable", retryable: true, message: "The store is away." });
const OUT_OF_SPACE = new StoreError({ code: "store_failed", message: "The disk is full." });
const TAKEN = new StaleHolderError("thread_t", 1, 2);

test("a waiting operation that is taken before the request is resumed does not let the request wait", () => {
  const lost = decided(calling(["look"]).live, { type: "lost", error: AWAY });
  const reading = decided(lost.live, { type: "timer", name: "mend" });
  const resumed = decided(reading.live, restored(reading, { operation: replace }));
  expect(types(resumed)).not.toContain("rest");
  expect(resumed.live.request?.phase).toBe("running");
  expect(find(resumed, "append").after.thread.last()?.payload).toMatchObject({ toolCallId: "call_0" });
});

test("when the store is away and then another process has the thread, nothing is tried any more", () => {
  const away = decided(calling(["look"]).live, { type: "lost", error: AWAY });
  const taken = decided(away.live, { type: "lost", error: TAKEN });
  expect(taken.live.broken).toMatchObject({ error: TAKEN, isForGood: true, suspension: { reason: "lost" } });
  expect(find(taken, "timer")).toEqual({ type: "timer", name: "mend", ms: undefined });
  expect(find(taken, "lost")).toEqual({ type: "lost", error: TAKEN });
});

test("a request that failed keeps the error as its cause", () => {
  const { live } = decided(calling(["look"]).live, { type: "lost", error: OUT_OF_SPACE });
  expect(live.request?.thrown).toEqual({ error: OUT_OF_SPACE, code: "store_failed" });
});
