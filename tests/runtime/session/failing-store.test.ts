import { ConflictError, StaleHolderError, StoreError, type ThreadStore } from "heddle";
import { StoreFullError } from "heddle/store";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { AgentServer } from "../../../src/runtime/server/agent-server.ts";
import { defineAgent } from "../support/recovery-tools.ts";
import { type Spied, spied } from "../support/spied-store.ts";
import {
  anything,
  eventsOf,
  expectWhole,
  failureOf,
  gate,
  proveAll,
  type Stage,
  stage,
  told,
} from "../support/stage.ts";

async function watched(): Promise<{ readonly on: Stage; readonly spy: Spied }> {
  const spies: Spied[] = [];
  const on = await stage({
    around: (store) => {
      spies.push(spied(store));
      return spies[0]?.store ?? store;
    },
  });
  const [spy] = spies;
  if (spy === undefined) throw new Error("no spy");
  return { on, spy };
}

const broken = () => new StoreError({ code: "store_failed", message: "The disk is on fire." });
const look = { inputSchema: anything, execute: () => "seen" };
const answer = (request: { messages: readonly { role: string; results?: unknown }[] }) =>
  request.messages.at(-1)?.results === undefined ? { calls: [{ name: "look" }, { name: "look" }] } : { text: "Seen." };
const script = Array.from({ length: 20 }, () => answer as never);

/** Writes of the first request, counted once without trouble. */
async function writes(): Promise<number> {
  const { on, spy } = await watched();
  let count = 0;
  spy.trouble = (_write, number) => {
    count = number;
    return undefined;
  };
  const server = await on.start({ script, tools: { look } });
  const { result } = await server.ask("Look.");
  await on.end(result);
  return count;
}

describe.each([false, true])("a write that fails, after it was done: %s", (after) => {
  test("ends the request with one terminal event, and the next ask works on an intact log", async () => {
    const all = await writes();
    expect(all).toBe(7); // the ask, two blobs, the calls, two results, the answer
    for (let fatal = 1; fatal <= all; fatal++) {
      const { on, spy } = await watched();
      const server = await on.start({ script, tools: { look } });
      spy.trouble = (_write, number) => (number === fatal ? { error: broken, after } : undefined);
      const asked = server.ask("Look.");
      const request = await on.end(asked).catch(() => undefined);
      if (request === undefined) {
        await expect(asked).rejects.toMatchObject({ code: "store_failed" });
      } else {
        // Of the last write only the acknowledgement was lost: the log has the end, and that end is emitted.
        const isInLog = after && fatal === all;
        const end = await on.end(request.result).catch(({ code, failure }) => [code, failure?.code]);
        if (isInLog) expect(end).toMatchObject({ text: "Seen." });
        else expect(end).toEqual(["request_failed", "store_failed"]);
        const events = await on.end(eventsOf(request));
        expectWhole(events);
        expect(events.at(-1)?.kind).toBe(isInLog ? "request_completed" : "request_failed");
      }
      expect(server.request).toBeUndefined();
      const again = await on.end(server.ask("Again."));
      expect((await on.end(again.result)).text).toBe("Seen.");
      const log = told(await on.log());
      expect(log.filter((line) => line.includes("end:")).length).toBe(
        log.filter((line) => line.startsWith("ask")).length,
      );
      expect((await on.store.verify(on.threadId)).ok).toBe(true);
      expect(await proveAll(on.store, on.threadId)).toBeGreaterThan(0);
    }
  });
});

test("every n-th write fails: nothing hangs, every ask ends, and what was accepted is in the log", async () => {
  for (const every of [2, 3, 5, 7]) {
    const { on, spy } = await watched();
    const server = await on.start({ script, tools: { look } });
    spy.trouble = (_write, number) => (number % every === 0 ? { error: broken, after: number % 2 === 0 } : undefined);
    const accepted: string[] = [];
    for (let ask = 0; ask < 6; ask++) {
      const request = await on.end(server.ask(`Look ${ask}.`)).catch(() => undefined);
      if (request === undefined) continue;
      accepted.push(`ask Look ${ask}.`);
      expectWhole(await on.end(eventsOf(request)));
    }
    spy.trouble = () => undefined;
    const last = await on.end(server.ask("Last."));
    await on.end(last.result);
    const log = told(await on.log());
    for (const line of accepted) expect(log).toContain(line);
    await proveAll(on.store, on.threadId);
  }
});

test("a full disk is tried again and passes, or suspends the request with its code", async () => {
  const { on, spy } = await watched();
  const server = await on.start({ script, tools: { look } });
  let left = 2;
  spy.trouble = (write) =>
    write === "append" && left-- > 0 ? { error: () => new StoreFullError(undefined) } : undefined;
  const request = await on.end(server.ask("Look."));
  expect((await on.end(request.result)).text).toBe("Seen.");
  spy.trouble = (write, _number, [entry]) =>
    write === "append" && entry?.payload?.["role"] === "assistant"
      ? { error: () => new StoreFullError(undefined) }
      : undefined;
  const next = await on.end(server.ask("Look."));
  const error = await failureOf(on.end(next.result));
  expect(error).toMatchObject({ code: "request_suspended", suspension: { reason: "store" } });
  expect(error.failure?.code).toBe("store_full");
});

test("a store that takes no entries does not cause model calls without end: after some attempts the request fails", async () => {
  const { on, spy } = await watched();
  const server = await on.start({ script, tools: { look } });
  let answers = 0;
  spy.trouble = (write, _number, [entry]) => {
    if (write !== "append" || entry?.payload?.["role"] !== "assistant" || entry.payload["end"] !== undefined)
      return undefined;
    answers += 1;
    return { error: () => new StoreFullError(undefined) };
  };
  const request = await on.end(server.ask("Look."));
  expect((await failureOf(on.end(request.result))).code).toBe("request_suspended");
  await on.pass(600_000);
  expect((await on.log()).at(-1)?.payload).toMatchObject({
    end: { status: "failed", failure: { code: "store_full" } },
  });
  expect(answers).toBeLessThanOrEqual(4 * 9); // four attempts of the request, each append tried nine times
});

test.each([
  ["with a decision between them", true],
  ["while it only waits", false],
])("a request survives any number of short times in which the store is away, %s", async (_when, isDecided) => {
  const { on, spy } = await watched();
  const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
  const calls = [1, 2, 3, 4, 5].map((id) => ({ calls: [{ id: `pay_${id}`, name: "pay" }] }));
  const server = await on.start({ script: [...calls, "Paid."], tools: { pay } });
  let isAway = false;
  const error = () => new StoreError({ code: "store_unreachable", retryable: true, message: "It is away." });
  spy.trouble = () => (isAway ? { error } : undefined);
  const request = await on.end(server.ask("Pay."));
  await on.end(request.settled());
  for (let index = 1; index <= 5; index++) {
    isAway = true;
    await expect(on.end(server.approve(`pay_${isDecided ? index : 1}`))).rejects.toThrow("It is away.");
    isAway = false;
    if (isDecided) await on.end(server.approve(`pay_${index}`));
    else await on.pass(1_500); // after the first of the waits
    await on.settled();
  }
  if (!isDecided)
    for (let index = 1; index <= 5; index++) await on.end(server.approve(`pay_${index}`)).then(on.settled);
  expect((await on.end(server.result(request.id))).text).toBe("Paid.");
});

test("a request resumes in this process when the store is back, and its end is emitted once", async () => {
  const { on, spy } = await watched();
  const slowly = { calls: [{ name: "look" }], delayMs: 50 };
  const server = await on.start({ script: [slowly, ...script], tools: { look } });
  let isAway = false;
  spy.trouble = () =>
    isAway
      ? { error: () => new StoreError({ code: "store_unreachable", retryable: true, message: "It is away." }) }
      : undefined;
  const request = await on.end(server.ask("Look.", { requestId: "req_mine" }));
  isAway = true;
  const error = await failureOf(on.end(request.result));
  expect(error).toMatchObject({
    code: "request_suspended",
    retryable: true,
    suspension: { reason: "store" },
    failure: { code: "store_unreachable" },
  });
  const first = await on.end(eventsOf(request));
  expectWhole(first);
  expect(first.at(-1)).toMatchObject({ kind: "request_suspended", data: { reason: "store" } });
  isAway = false;
  const again = await on.end(server.ask("Look.", { requestId: "req_mine" }));
  expect(again.id).toBe(request.id);
  expect(again).not.toBe(request);
  expect((await on.end(again.result)).text).toBe("Seen.");
  const second = await on.end(eventsOf(again));
  expect(second.at(-1)?.kind).toBe("request_completed");
  expect(new Set([...first, ...second].map(({ id }) => id)).size).toBe(first.length + second.length);
  expect(told(await on.log()).filter((line) => line.includes("end:"))).toEqual(["says Seen. end:completed"]);
});

test("a request that failed with its store is closed in the log when the store works again, without a new ask", async () => {
  const { on, spy } = await watched();
  const server = await on.start({ script, tools: { look } });
  let isDown = true;
  spy.trouble = (write, number) => (isDown && write === "append" && number > 3 ? { error: broken } : undefined);
  const request = await on.end(server.ask("Look."));
  const error = await failureOf(on.end(request.result));
  expect([error.code, error.failure?.code]).toEqual(["request_suspended", "store_failed"]);
  isDown = false;
  await on.pass(60_000);
  await on.settled();
  expect((await on.log()).at(-1)?.payload).toMatchObject({ end: { status: "failed" } });
  expect((await on.store.list()).threads[0]?.status).toBe("failed");
});

test("a stale holder stops: the request is suspended for the new holder, and no further ask is accepted", async () => {
  const { on, spy } = await watched();
  const server = await on.start({ script, tools: { look } });
  spy.trouble = (write, number) =>
    write === "append" && number > 3 ? { error: () => new StaleHolderError(on.threadId, 1, 2) } : undefined;
  const request = await on.end(server.ask("Look."));
  expect((await failureOf(on.end(request.result))).code).toBe("request_suspended");
  const events = await on.end(eventsOf(request));
  expectWhole(events);
  expect(events.at(-1)).toMatchObject({ kind: "request_suspended", data: { reason: "lost" } });
  await on.settled();
  expect((await failureOf(server.ask("Again."))).code).toBe("server_stopped");
});

test("an ask that was written when another process held the thread is suspended: that process runs it", async () => {
  const hold = gate();
  const written = gate();
  const slow = (store: ThreadStore): ThreadStore => {
    const append = store.append.bind(store);
    store.append = async (...given) => {
      const result = await append(...given);
      written.resolve();
      await hold.promise; // its acknowledgement comes late
      return result;
    };
    return store;
  };
  const on = await stage({ around: slow });
  const server = await on.start({ script: ["Never."] }, { holder: "one name" });
  const asked = failureOf(server.ask("Hi."));
  await written.promise;
  await on.store.claim(on.threadId, { holder: "one name", ttlMs: 60_000 });
  await on.pass(4_000); // it wants to renew its claim
  hold.resolve();
  const { code, requestId } = await on.end(asked);
  expect([code, requestId]).toEqual(["request_suspended", (await on.log())[0]?.refs.requestId]);
});

test("a store that is closed under way suspends the request, and stopping is quiet", async () => {
  const on = await stage();
  const server = await on.start({ script: [{ text: "Hi.", delayMs: 50 }] });
  const request = await on.end(server.ask("Hello."));
  await on.store.close();
  expect((await failureOf(on.end(request.result))).failure?.code).toBe("store_closed");
  await on.end(server.stop());
});

test("a thread that is deleted during a request fails it instead of retrying the append forever", async () => {
  const on = await stage();
  const server = await on.start({ script: [{ text: "Hi.", delayMs: 50 }, "Hello again."] });
  const request = await on.end(server.ask("Hello."));
  await on.store.delete(on.threadId);
  const error = await failureOf(on.end(request.result));
  expect(error.failure?.code).toBe("thread_not_found");
  expect(ConflictError.isInstance(error)).toBe(false);
  const again = await on.end(server.ask("Again."));
  expect((await on.end(again.result)).text).toBe("Hello again.");
});

test("an operation that cannot be posted is refused, and the request continues", async () => {
  const { on, spy } = await watched();
  const server = await on.start({ script: [{ text: "Hi.", delayMs: 50 }] });
  const request = await on.end(server.ask("Hello."));
  spy.trouble = (write) => (write === "post" ? { error: broken } : undefined);
  await expect(on.end(server.reset())).rejects.toMatchObject({ code: "store_failed" });
  expect((await on.end(request.result)).text).toBe("Hi.");
  expect(told(await on.log())).toEqual(["ask Hello.", "says Hi. end:completed"]);
});

test("an operation whose post failed is withdrawn, and the one that waited before it is applied", async () => {
  const { on, spy } = await watched();
  const server = await on.start({ script: [{ text: "Hi.", delayMs: 50 }] });
  const request = await on.end(server.ask("Hello."));
  const first = await on.end(server.reset());
  let lost = false;
  spy.trouble = (write) => {
    if (write !== "post" || lost) return undefined;
    lost = true;
    return { error: broken, after: true };
  };
  await expect(on.end(server.reset())).rejects.toMatchObject({ code: "store_failed" });
  expect((await on.store.pending(on.threadId)).map(({ id }) => id)).toEqual([first.opId]);
  await on.end(request.result);
  expect(await on.end(first.settled)).toEqual({ status: "applied" });
  expect((await on.log()).at(-1)?.payload["opId"]).toBe(first.opId);
});

test("an operation that was deferred is applied after a failure of the store too", async () => {
  const { on, spy } = await watched();
  const server = await on.start({ script: [{ text: "Hi.", delayMs: 50 }, "Two."] });
  const request = await on.end(server.ask("Hello."));
  const reset = await on.end(server.reset());
  spy.trouble = (write, _number, [entry]) =>
    write === "append" && entry?.kind === "ai_context_operation" ? { error: broken } : undefined;
  await on.end(request.result);
  await on.settled();
  spy.trouble = () => undefined;
  const again = await on.end(server.ask("Again."));
  expect(await on.end(reset.settled)).toEqual({ status: "applied" });
  await on.end(again.result);
  expect(told(await on.log())).toEqual([
    "ask Hello.",
    "says Hi. end:completed",
    "ai_context_operation",
    "ask Again.",
    "says Two. end:completed",
  ]);
});

test("a token that cannot be minted fails the request, and nothing more is done for it", async () => {
  const on = await stage();
  let ran = 0;
  const work = { inputSchema: anything, execute: () => ++ran };
  const model = scriptedModel([{ calls: [{ name: "work" }] }]);
  const { store, threadId, ports } = on;
  const contentOf = () => {
    throw broken();
  };
  const tokens = { config: { tokenSecret: "s".repeat(32) }, contentOf } as never;
  const server = await on.end(
    AgentServer.open({ agent: defineAgent({ model, tools: { work } }), store, threadId, ports }, { tokens }),
  );
  const request = await on.end(server.ask("Go."));
  expect((await failureOf(on.end(request.result))).failure?.code).toBe("store_failed");
  const events = await eventsOf(request);
  expectWhole(events);
  expect({ ran, started: events.some(({ kind }) => kind === "tool_started") }).toEqual({ ran: 0, started: false });
});

test("an operation whose acknowledgement was lost is tried again, and applied once", async () => {
  const { on, spy } = await watched();
  const server = await on.start({ script });
  let lost = false;
  spy.trouble = () => {
    if (lost) return undefined;
    lost = true;
    return { error: () => new StoreFullError(undefined), after: true };
  };
  expect((await on.end(server.reset())).status).toBe("applied");
  expect(told(await server.thread())).toEqual(["ai_context_operation"]);
  expect(told(await on.log())).toEqual(["ai_context_operation"]);
});

test("entries of other writers between two of its own are read, and the request continues", async () => {
  const { on, spy } = await watched();
  const bare = on.store;
  let slipped = false;
  spy.trouble = (write, _number, [entry]) => {
    if (slipped || write !== "append" || entry?.payload?.["role"] !== "assistant") return undefined;
    slipped = true;
    return { error: () => new ConflictError(on.threadId, 1, 2) };
  };
  const slowly = [...script.slice(0, 1), { text: "Seen.", delayMs: 50 }];
  const server = await on.start({ script: slowly, tools: { look } });
  const asked = server.ask("Look.");
  const request = await on.end(asked);
  expect(slipped).toBe(true);
  // Nothing new was there: the conflict is a failure, and not a reason to try for ever.
  expect((await failureOf(on.end(request.result))).failure?.code).toBe("conflict");
  spy.trouble = () => undefined;
  const next = await on.end(server.ask("Slowly."));
  await bare.append(on.threadId, { kind: "note", payload: { text: "mine" } });
  expect((await on.end(next.result)).text).toBe("Seen.");
  await proveAll(on.store, on.threadId);
});

test("an end of a wait that cannot be written is tried again after longer and longer times", async () => {
  const { on, spy } = await watched();
  const pass = (ms: number) => on.end(new Promise<void>((resolve) => on.ports.after(ms, resolve)));
  const tools = { pay: { inputSchema: anything, needsApproval: true, execute: () => "paid" } };
  const server = await on.start({
    script: [{ calls: [{ name: "pay" }] }, "Done."],
    approval: { timeoutMs: 5000 },
    tools,
  });
  const request = await on.end(server.ask("Go."));
  request.result.catch(() => undefined);
  await pass(100);
  let writes = 0;
  spy.trouble = () => {
    writes++;
    return { error: () => new StoreError({ code: "store_read_only", message: "No.", retryable: true }) };
  };
  await pass(10 * 60_000);
  expect(writes).toBeGreaterThan(5);
  expect(writes).toBeLessThan(300);
  spy.trouble = () => undefined;
  await pass(2 * 60_000);
  expect(told(await on.log()).at(-1)).toBe("says Done. end:completed");
  await on.end(server.stop());
});
