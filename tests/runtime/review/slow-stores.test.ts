import { StoreError, type ThreadStore } from "heddle";
import { expect, test } from "vitest";
import { anything, eventsOf, expectWhole, type Stage, stage } from "../support/stage.ts";

const gone = () => new StoreError({ code: "store_failed", message: "No connection.", retryable: true });

/** A store that nobody reaches while `isDown` says so, and whose every answer takes `ms`. */
async function far(
  isDown: (method: string) => boolean,
  ms: () => number,
): Promise<Stage & { readonly bare: ThreadStore }> {
  const later: { stage?: Stage; bare?: ThreadStore } = {};
  const wait = (): Promise<void> =>
    new Promise((resolve) => void (ms() > 0 ? later.stage?.ports.after(ms(), resolve) : resolve()));
  const on = await stage({
    around: (inner: ThreadStore) => {
      later.bare = inner;
      return new Proxy(inner, {
        get(target, key) {
          const value: unknown = Reflect.get(target, key);
          if (typeof value !== "function") return value;
          if (key === "read" || key === "watch") {
            return (...args: unknown[]) => {
              if (isDown(String(key))) throw gone();
              return Reflect.apply(value, target, args);
            };
          }
          return async (...args: unknown[]) => {
            await wait();
            if (isDown(String(key))) throw gone();
            const answer: unknown = await Reflect.apply(value, target, args);
            await wait();
            return answer;
          };
        },
      });
    },
  });
  later.stage = on;
  return { ...on, bare: later.bare ?? on.store };
}

const look = { inputSchema: anything, execute: () => "seen" };
const script = [{ calls: [{ name: "look" }, { name: "look" }], delayMs: 10 }, "Seen."];

test("a store that is away for three seconds costs a request only time", async () => {
  let down = false;
  const on = await far(
    () => down,
    () => 0,
  );
  const server = await on.start({ script, tools: { look } });
  const request = await on.end(server.ask("Look."));
  down = true;
  on.ports.after(3_000, () => {
    down = false;
  });
  expect((await on.end(request.result)).text).toBe("Seen.");
  expectWhole(await eventsOf(request));
});

test("a store that cannot be read for a moment does not end a request that waits", async () => {
  let down = false;
  const on = await far(
    (method) => down && method !== "watch",
    () => 0,
  );
  const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
  const server = await on.start({ script: [{ calls: [{ name: "pay" }] }, "Paid."], tools: { pay } });
  const request = await on.end(server.ask("Pay."));
  await on.settled();
  down = true;
  const asked = (await on.log()).find(({ kind }) => kind === "approval_requested");
  const payload = { contextRef: "default", toolCallId: "call_1", approved: true };
  on.ports.after(500, () => {
    down = false;
  });
  await on.bare.append(on.threadId, {
    kind: "approval_resolved",
    payload,
    refs: asked?.refs ?? {},
  });
  expect((await on.end(request.result)).text).toBe("Paid.");
});

test.each([0, 15, 25, 45, 65, 85])(
  "a server that stops %i ms after an ask lets it end, as far as it was taken",
  async (ms) => {
    const on = await far(
      () => false,
      () => 10,
    );
    const server = await on.start({ script: ["Hi."] });
    const asked = server.ask("Hello.").then(
      async ({ result }) => (await result).text,
      (error: { code: string }) => error.code,
    );
    if (ms > 0) await on.pass(ms);
    await on.end(server.stop());
    expect(await on.end(asked)).toBe("Hi.");
  },
);
