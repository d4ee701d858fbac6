import { describe, expect, test } from "vitest";
import type { ModelCall } from "../../../src/runtime/model/call.ts";
import { withRetries } from "../../../src/runtime/model/call.ts";
import { callOf, fake, fakeTime, finish, modelErrorOf, settled, text } from "./support/fakes.ts";

const busy = (headers: object = {}) => Object.assign(new Error("Busy"), { statusCode: 503, responseHeaders: headers });

/** Fails so often, then answers. */
function failing(times: number, error: unknown = busy(), said: readonly unknown[] = []) {
  return fake((call) => (call <= times ? [...said, { type: "error", error }] : [...text("0", "Hi"), finish]));
}

/** The defaults of agents. */
const WAITS = { modelRetryBackoffMs: 1000, modelRetryBackoffFactor: 2 };

function tried(model: ReturnType<typeof failing>, more: Partial<ModelCall> = {}, modelMaxRetries = 2, waits = WAITS) {
  const ports = fakeTime(0.5);
  const answer = withRetries(callOf(model, { ports, ...more }), { modelMaxRetries, ...waits });
  answer.catch(() => undefined);
  return { ports, answer };
}

describe("a call that failed and may work later", () => {
  test("is made again, twice, after longer and longer waits", async () => {
    const model = failing(2);
    const { ports, answer } = tried(model);
    await settled();
    expect(ports.waits()).toEqual([750]);
    await ports.pass(749);
    expect(model.calls).toHaveLength(1);
    await ports.pass(1);
    expect([model.calls.length, ports.waits()]).toEqual([2, [1500]]);
    await ports.pass(1500);
    expect((await answer).content).toBe("Hi");
  });

  test("fails with its last error when it has been tried often enough", async () => {
    const model = failing(9);
    const { ports, answer } = tried(model, {}, 1);
    await settled();
    await ports.pass(60_000);
    expect((await modelErrorOf(answer)).code).toBe("model_unavailable");
    expect(model.calls).toHaveLength(2);
  });

  test("waits as long as the provider asked", async () => {
    const { ports, answer } = tried(failing(1, busy({ "retry-after": "7" })));
    await settled();
    expect(ports.waits()).toEqual([7000]);
    await ports.pass(7000);
    expect((await answer).content).toBe("Hi");
  });

  test("fails at once when the provider asks for a wait longer than the limit", async () => {
    const model = failing(1, busy({ "retry-after": "3600" }));
    expect((await modelErrorOf(tried(model).answer)).retryAfterMs).toBe(3_600_000);
    expect(model.calls).toHaveLength(1);
  });

  test("ends at once when it is aborted while it waits, and leaves no timer", async () => {
    const controller = new AbortController();
    const model = failing(9);
    const { ports, answer } = tried(model, { signal: controller.signal });
    await settled();
    expect(ports.waits()).toHaveLength(1);
    controller.abort();
    expect((await modelErrorOf(answer)).code).toBe("model_aborted");
    expect([ports.waits(), model.calls.length]).toEqual([[], 1]);
  });
});

describe("a call is not made again", () => {
  test("when its error would come again", async () => {
    const model = failing(9, Object.assign(new Error("No"), { statusCode: 400 }));
    expect((await modelErrorOf(tried(model).answer)).code).toBe("model_bad_request");
    expect(model.calls).toHaveLength(1);
  });

  test("when the caller's own function threw", async () => {
    const model = failing(9, busy(), [{ type: "text-delta", id: "0", delta: "Half" }]);
    const onDelta = (): void => {
      throw new RangeError("mine");
    };
    await expect(tried(model, { onDelta }).answer).rejects.toThrow("mine");
    expect(model.calls).toHaveLength(1);
  });
});

test.each([
  [40, 3, [30, 90, 270, 810]],
  [40, 1, [30, 30, 30, 30]],
  [0, 2, [0, 0, 0, 0]],
  [20_000, 2, [15_000, 22_500, 22_500, 22_500]],
  [60_000, 2, [45_000, 45_000, 45_000, 45_000]],
])(
  "waits that begin with %i ms and grow by %i are these",
  async (modelRetryBackoffMs, modelRetryBackoffFactor, waits) => {
    const { ports, answer } = tried(failing(4), {}, 4, { modelRetryBackoffMs, modelRetryBackoffFactor });
    const seen: (number | undefined)[] = [];
    for (const wait of waits) {
      await settled();
      seen.push(ports.waits()[0]);
      await ports.pass(wait);
    }
    expect(seen).toEqual(waits);
    expect((await answer).content).toBe("Hi");
  },
);

test("the usage is that of all attempts, also when the last one fails or is aborted", async () => {
  const estimateUsage = (received: string) => ({ outputTokens: received.length });
  const half = [{ type: "text-delta", id: "0", delta: "Half" }];
  const once = tried(failing(2, busy(), half), { estimateUsage });
  for (let wait = 0; wait < 2; wait++) await once.ports.pass(60_000);
  expect((await once.answer).usage).toMatchObject({ outputTokens: 8 + 5, estimated: true });
  const failed = tried(failing(9, busy(), half), { estimateUsage });
  for (let wait = 0; wait < 2; wait++) await failed.ports.pass(60_000);
  expect((await modelErrorOf(failed.answer)).partial).toEqual({
    content: "Half",
    usage: { outputTokens: 12, estimated: true },
  });
  const stop = new AbortController();
  const aborted = tried(failing(9, busy(), half), { estimateUsage, signal: stop.signal });
  await settled();
  stop.abort();
  expect((await modelErrorOf(aborted.answer)).partial).toEqual({
    content: "",
    usage: { outputTokens: 4, estimated: true },
  });
});

test("a part of an answer does not prevent a retry", async () => {
  const model = failing(1, busy(), [{ type: "text-delta", id: "0", delta: "Half" }]);
  const { ports, answer } = tried(model);
  await ports.pass(60_000);
  expect((await answer).content).toBe("Hi");
});
