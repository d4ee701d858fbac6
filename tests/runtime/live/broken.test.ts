import { expect, test } from "vitest";
import { StoreError } from "../../../src/stores/errors.ts";
import { calling, decided, find, replace, restored, types } from "./live-thread.ts";

const AWAY = new StoreError({ code: "store_unreachable", retryable: true, message: "The store is away." });

test("a waiting operation that is taken before the request is resumed does not let the request wait", () => {
  const lost = decided(calling(["look"]).live, { type: "lost", error: AWAY });
  const reading = decided(lost.live, { type: "timer", name: "mend" });
  const resumed = decided(reading.live, restored(reading, { operation: replace }));
  expect(types(resumed)).not.toContain("rest");
  expect(resumed.live.request?.phase).toBe("running");
  expect(find(resumed, "append").after.thread.last()?.payload).toMatchObject({ toolCallId: "call_0" });
});
