import { describe, expect, test } from "vitest";
import type { ModelCall } from "../../../src/runtime/model/call.ts";
import { withRetries } from "../../../src/runtime/model/call.ts";
import { callOf, fake, fakeTime, finish, modelErrorOf, settled, text } from "./support/fakes.ts";

const busy = (headers: object = {}) => Object.assign(new Error("Busy"), { statusCode: 503, responseHeaders: headers });

/** Fails so often, then answers. */
function failing(times: number, error: unknown = busy(), said: readonly unknown[] = []) {
  return fake((call) => (call <= times ? [...said, { type: "error", error }] : [...text("0", "Hi"), finish]));
}

function tried(model: ReturnType<typeof failing>, more: Partial<ModelCall> = {}, modelMaxRetries = 2) {
  const ports = fakeTime(0.5);
  const answer = withRetries(callOf(model, { ports, ...more }), { modelMaxRetries });
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

test("a part of an answer does not prevent a retry", async () => {
  const model = failing(1, busy(), [{ type: "text-delta", id: "0", delta: "Half" }]);
  const { ports, answer } = tried(model);
  await ports.pass(60_000);
  expect((await answer).content).toBe("Hi");
});
