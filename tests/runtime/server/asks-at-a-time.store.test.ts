import { react, StoreError, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { defineAgent } from "../support/recovery-tools.ts";
import { spied } from "../support/spied-store.ts";
import { eventsOf, expectWhole, failureOf, proveAll, type Stage, stage, told } from "../support/stage.ts";

const HOUR = 3_600_000;
const NODE = { holder: "node" };
const slowly = (text: string, delayMs = 50) => ({ text, delayMs });

const STORES: readonly [string, () => ThreadStore | undefined][] = [
  ["in memory", () => undefined],
  ["on SQLite", () => sqliteStore(fastFile())],
];
const asksOf = async (on: Stage) => told(await on.log()).filter((line) => line.startsWith("ask"));

describe.each(STORES)("an ask with a time, %s", (_, open) => {
  const begin = (options: Parameters<typeof stage>[0] = {}): Promise<Stage> => {
    const store = open();
    return stage({ ...options, ...(store && { store }) });
  };

  test("is durable and listed at once, and starts at its time", async () => {
    const on = await begin();
    const server = await on.start({ script: ["Later.", "Now."] });
    const at = on.ports.clock() + HOUR;
    const later = await on.end(server.ask("Later?", { requestId: "later", at: new Date(at), refs: { chat: "c" } }));
    expect([later.id, later.state, later.runId]).toEqual(["later", "waiting", ""]);
    expect(await server.pending()).toEqual([{ id: "later", type: "ask", content: "Later?", at, refs: { chat: "c" } }]);
    expect([server.request, await on.log()]).toEqual([undefined, []]);
    await on.pass(HOUR - 1);
    expect(await on.log()).toEqual([]);
    await on.pass(1);
    expect((await on.end(later.result)).text).toBe("Later.");
    expect([later.state, await later.settled(), later.runId === ""]).toEqual(["done", "done", false]);
    const events = await eventsOf(later);
    expectWhole(events);
    expect(await server.pending()).toEqual([]);
    expect(await on.store.outcome(on.threadId, "later")).toMatchObject({ status: "delivered" });
    expect((await on.end((await on.end(server.ask("Now?"))).result)).text).toBe("Now.");
    await proveAll(on.store, on.threadId);
  });

  test("takes its time as a deadline does, and one that has passed starts at once", async () => {
    const on = await begin();
    const server = await on.start({ script: ["Past."] });
    await on.pass(2 * HOUR);
    for (const [at, expected] of [
      [HOUR, 3 * HOUR + 1_000],
      ["1970-01-02T00:00:00Z", 24 * HOUR],
    ] as const) {
      const { id } = await on.end(server.ask("Later?", { at }));
      expect((await server.pending()).map((one) => "at" in one && one.at)).toEqual([expected]);
      await on.end(server.withdraw(id));
    }
    const past = await on.end(server.ask("Past?", { at: new Date(HOUR) }));
    expect((await on.end(past.result)).text).toBe("Past.");
    for (const at of [0, -1, Number.NaN, "tomorrow", "1970-01-02", "1970-01-02T00:00", new Date("no"), true]) {
      const error = await failureOf(server.ask("Bad?", { at: at as never }));
      expect([error.code, error.message]).toEqual(["invalid_options", expect.stringMatching(/^at must be a date/)]);
    }
  });

  test("waits for the end of a request that runs then, also with busy: reject, and others are taken in their order", async () => {
    const on = await begin();
    const server = await on.start({ script: [slowly("Long.", 10_000), "One.", "Two."] });
    const two = await on.end(server.ask("Two?", { at: 6_000 }));
    const one = await on.end(server.ask("One?", { at: 5_000 }));
    const long = await on.end(server.ask("Long?"));
    expect((await on.end(failureOf(server.ask("No?")))).code).toBe("busy");
    await on.pass(9_000);
    expect(await asksOf(on)).toEqual(["ask Long?"]);
    await on.end(long.result);
    await on.end(Promise.all([one.result, two.result]));
    expect(await asksOf(on)).toEqual(["ask Long?", "ask Two?", "ask One?"]);
  });

  test("does not hold up asks that are due, and its deadline counts from its time", async () => {
    const on = await begin();
    const server = await on.start({ script: ["Now.", { hang: true }], busy: "queue" });
    const later = await on.end(server.ask("Later?", { at: HOUR, deadline: 60_000 }));
    expect((await on.end((await on.end(server.ask("Now?"))).result)).text).toBe("Now.");
    expect((await on.store.list({ status: "completed" })).threads).toHaveLength(1);
    await on.pass(HOUR + 59_000);
    expect(later.state).toBe("running");
    await on.pass(2_000);
    expect((await on.end(failureOf(later.result))).failure?.code).toBe("deadline_exceeded");
  });

  test("is amended and withdrawn, also its time", async () => {
    const on = await begin();
    const server = await on.start({ script: ["Sooner."] });
    const sooner = await on.end(server.ask("Later?", { requestId: "a", at: 2 * HOUR }));
    const never = await on.end(server.ask("Never?", { requestId: "b", at: HOUR }));
    const cancelled = await on.end(server.ask("Cancelled?", { requestId: "c", at: HOUR }));
    await on.end(server.amend("a", { at: 1_000 }));
    await on.end(server.amend("a", "Sooner?"));
    expect(await server.pending()).toMatchObject([
      { id: "a", content: "Sooner?", at: on.ports.clock() + 1_000 },
      { id: "b" },
      { id: "c" },
    ]);
    await on.end(server.withdraw("b"));
    expect(await on.end(server.cancel("c"))).toBe(true);
    expect((await failureOf(never.result)).code).toBe("request_cancelled");
    expect([(await failureOf(cancelled.result)).code, cancelled.state]).toEqual(["request_cancelled", "done"]);
    expect(await eventsOf(cancelled)).toEqual([]);
    await on.pass(1_000);
    expect((await on.end(sooner.result)).text).toBe("Sooner.");
    await on.pass(3 * HOUR);
    expect(await asksOf(on)).toEqual(["ask Sooner?"]);
    for (const change of [{}, { when: 5 }, { at: "soon" }, { at: -1 }])
      expect((await failureOf(server.amend("a", change as never))).code).toBe("invalid_options");
  });

  test("a steer has no time, and an ask that waits may get one", async () => {
    const on = await begin();
    const server = await on.start({ script: [slowly("One."), "Two."], busy: "queue" });
    const one = await on.end(server.ask("One?"));
    await on.end(server.steer("Hm.", { id: "hm" }));
    expect((await failureOf(on.end(server.amend("hm", { at: HOUR })))).code).toBe("invalid_options");
    const two = server.ask("Two?", { requestId: "two" });
    await on.settled();
    await on.end(server.amend("two", { at: HOUR }));
    await on.end(one.result);
    await on.pass(HOUR - 1_000);
    expect(await asksOf(on)).toEqual(["ask One?"]);
    await on.pass(1_000);
    await on.end(two);
    expect(await asksOf(on)).toEqual(["ask One?", "ask Two?"]);
  });

  test("is counted by maxPending, and does not refuse an ask that can start", async () => {
    const on = await begin();
    const server = await on.start({ script: ["Now.", "One.", "Two."], maxPending: 2 });
    await on.end(server.ask("One?", { requestId: "one", at: HOUR }));
    await on.end(server.ask("Two?", { at: HOUR }));
    expect((await on.end(failureOf(server.ask("Three?", { at: HOUR })))).code).toBe("queue_full");
    expect((await on.end(server.ask("One?", { requestId: "one", at: HOUR }))).id).toBe("one"); // repeated
    expect((await on.end((await on.end(server.ask("Now?"))).result)).text).toBe("Now.");
    expect(await server.pending()).toHaveLength(2);
    await on.pass(HOUR + 1_000);
    expect(await asksOf(on)).toEqual(["ask Now?", "ask One?", "ask Two?"]);
  });

  test("a repeated ask is the same request, with the time of the first, also after it has started", async () => {
    const on = await begin();
    const server = await on.start({ script: ["Later."] });
    const first = await on.end(server.ask("Later?", { requestId: "r", at: HOUR }));
    await on.pass(1_000);
    const again = await on.end(server.ask("Later?", { requestId: "r", at: HOUR }));
    expect((await failureOf(on.end(server.ask("Other?", { requestId: "r", at: HOUR })))).code).toBe(
      "request_id_reused",
    );
    await on.pass(HOUR - 1_000);
    expect([(await on.end(first.result)).text, (await on.end(again.result)).text]).toEqual(["Later.", "Later."]);
    expect((await on.end(server.ask("Later?", { requestId: "r", at: HOUR }))).state).toBe("done");
    expect(await asksOf(on)).toEqual(["ask Later?"]);
  });

  test("starts in the next process at its time, and at once when that has passed", async () => {
    const on = await begin();
    const first = await on.start({ script: [] }, NODE);
    const one = await on.end(first.ask("One?", { requestId: "one", at: HOUR }));
    const two = await on.end(first.ask("Two?", { requestId: "two", at: 2 * HOUR }));
    await on.end(first.stop());
    expect((await failureOf(one.result)).code).toBe("request_suspended");
    expect((await failureOf(two.result)).code).toBe("request_suspended");
    await on.pass(HOUR / 2);
    const second = await on.start({ script: ["One."] }, NODE);
    expect([second.request, (await second.pending()).length]).toEqual([undefined, 2]);
    await on.pass(HOUR / 2);
    expect((await on.end(second.result("one"))).text).toBe("One.");
    await on.end(second.stop());
    await on.pass(2 * HOUR);
    const third = await on.start({ script: ["Two."] }, NODE);
    await on.pass(10);
    expect((await on.end(third.result("two"))).text).toBe("Two.");
    expect(await asksOf(on)).toEqual(["ask One?", "ask Two?"]);
    await proveAll(on.store, on.threadId);
  });

  test("is taken once after a kill at any write", async () => {
    for (let write = 1; ; write++) {
      const on = await begin();
      const spy = spied(on.store);
      let writes = 0;
      let isDead = false;
      const error = () =>
        new StoreError({ code: "store_unavailable", message: "The process is dead.", retryable: true });
      spy.trouble = (method) => {
        if (!isDead && method === "append") writes += 1;
        const dies = !isDead && writes === write;
        const trouble = isDead ? { error } : dies ? { error, after: true } : undefined;
        if (dies) isDead = true;
        return trouble;
      };
      const first = await on.start({ script: ["Now.", "Later."] }, { store: spy.store, ...NODE });
      void first.ask("Later?", { requestId: "later", at: HOUR }).catch(() => undefined);
      await on.settled();
      void first.ask("Now?", { requestId: "now" }).catch(() => undefined);
      await on.pass(HOUR + 60_000);
      if (!isDead) break;
      const script = ["Now?", "Later?"].map(() => "Any.");
      const second = await on.start({ script }, NODE);
      await on.pass(HOUR + 60_000);
      expect((await asksOf(on)).toSorted(), `write ${write}`).toEqual(
        (await asksOf(on)).includes("ask Now?") ? ["ask Later?", "ask Now?"] : ["ask Later?"],
      );
      expect(await second.pending(), `write ${write}`).toEqual([]);
      expect((await on.end(second.result("later"))).text).toMatch(/Later|Any|Now/);
    }
  });

  test("may be posted by any process, and a time that is none is refused", async () => {
    const on = await begin();
    const at = new Date(on.ports.clock() + HOUR).toISOString();
    await on.store.post(on.threadId, { id: "posted", type: "ask", content: "Posted?", at });
    await on.store.post(on.threadId, { id: "bad", type: "ask", content: "Bad?", at: "soon" });
    const server = await on.start({ script: ["Posted."] });
    await on.settled();
    expect((await server.pending()).map(({ id }) => id)).toEqual(["posted"]);
    expect(await on.store.outcome(on.threadId, "bad")).toMatchObject({ status: "refused" });
    await on.pass(HOUR);
    expect((await on.end(server.result("posted"))).text).toBe("Posted.");
  });

  test("of continueRequest continues the request later", async () => {
    const on = await begin();
    const failing = { error: { status: 400, message: "Bad key." } } as const;
    const server = await on.start({ script: [failing, "Better."] });
    const { id, result } = await on.end(server.ask("Go."));
    await on.end(result.catch(() => undefined));
    const later = await on.end(server.continueRequest(id, { at: HOUR }));
    expect(later.state).toBe("waiting");
    await on.pass(HOUR);
    expect((await on.end(later.result)).text).toBe("Better.");
  });
});

test("its caller leaves with an aborted signal, and a run without a server takes no time", async () => {
  const on = await stage();
  const server = await on.start({ script: [] });
  const controller = new AbortController();
  const later = await on.end(server.ask("Later?", { at: HOUR, signal: controller.signal }));
  controller.abort();
  await on.settled();
  expect((await failureOf(later.result)).code).toBe("request_cancelled");
  expect(await server.pending()).toEqual([]);
  const agent = defineAgent({ model: scriptedModel([]) });
  await expect(react.run("Go.", agent, { at: HOUR } as never)).rejects.toMatchObject({ code: "invalid_options" });
});
