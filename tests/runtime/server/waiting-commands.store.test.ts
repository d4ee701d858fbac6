import { AgentHost, defineAgent, memoryStore, type SteerAnswer, StoreError, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { Random } from "../../../src/testing/random.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { failureOf, proveAll, type Stage, stage, told } from "../support/stage.ts";

/** A process with the same name as the one before takes the thread over at once. */
const NODE = { holder: "node" };
const hanging = { script: [{ hang: true }] };

describe.each([
  ["memory", (options: object) => memoryStore(options)],
  ["SQLite", (options: object) => sqliteStore(fastFile(), options)],
])("commands that wait on %s", (_name, open) => {
  async function taken(options: object = {}): Promise<Stage> {
    return stage({ store: await open(options) });
  }

  test("are delivered once by the process that takes the thread over, in order", async () => {
    const on = await taken();
    const first = await on.start(hanging, NODE);
    await on.end(first.ask("Go."));
    for (const words of ["One.", "Two."]) {
      expect((await on.end(first.steer(words, { id: `id_${words.length}_${words}` }))).accepted).toBe(true);
    }
    const second = await on.start({ script: ["Ok."] }, NODE);
    await on.pass(100);
    expect(second.request).toBeUndefined();
    expect(told(await on.log())).toEqual(["ask Go.", "note", "steer One.", "steer Two.", "says Ok. end:completed"]);
    expect(await on.store.pending(on.threadId)).toEqual([]);
    await proveAll(on.store, on.threadId);
  });

  test("are known under their id in another process, also when their outcome was purged", async () => {
    const on = await taken({ keepOutcomesMs: 0 });
    const first = await on.start({ script: [{ text: "One.", delayMs: 50 }, "Two."] }, NODE);
    const asked = await on.end(first.ask("Go."));
    const { receipt } = await on.end(first.steer("Be brief.", { id: "brief" }));
    await on.end(asked.result);
    const delivered = await on.end(receipt);
    await on.pass(10);
    await on.store.post("thread_other", { id: "later", type: "note" }); // purges
    const second = await on.start({ script: [{ text: "Three.", delayMs: 50 }] }, NODE);
    const next = await on.end(second.ask("More."));
    const again = await on.end(second.steer("Be brief.", { id: "brief" }));
    expect(await on.end(again.receipt)).toEqual(delivered);
    await on.end(next.result);
    expect(told(await on.log()).filter((line) => line.startsWith("steer"))).toHaveLength(1);
  });

  test("that were accepted are delivered or dropped, each once, wherever they came", async () => {
    const seen = new Set<string>();
    for (let seed = 1; seed <= 5; seed++) {
      const on = await taken();
      const random = new Random(seed);
      const answers: SteerAnswer[] = [];
      const script = Array.from({ length: 40 }, (_, index) => ({ text: `Answer ${index}.`, delayMs: 30 }));
      let server = await on.start({ script, maxIterations: 4 }, NODE);
      for (let act = 0; act < 20; act++) {
        const kind = random.below(6);
        if (kind === 0) server = await on.start({ script, maxIterations: 4 }, NODE);
        else if (kind === 1) await on.end(server.ask("Go.").catch(() => undefined));
        else if (kind === 2) await on.end(server.cancel().catch(() => false));
        else {
          const id = `words_${random.below(8)}`;
          const answer = random.oneIn(2) ? server.steer("Hm.", { id }) : server.followUp("Hm.", { id });
          const words = await on.end(answer.catch(() => undefined)); // the id may wait with other words
          if (words?.accepted) answers.push(words);
        }
        await on.pass(random.below(40));
      }
      const last = server.request;
      if (last !== undefined) await on.end(last.result.catch(() => undefined));
      expect(await on.store.pending(on.threadId), `seed ${seed}`).toEqual([]);
      const log = await on.log();
      for (const { id } of answers) {
        const entries = log.filter(({ refs }) => refs.signalId === id);
        const { status } = await on.store.outcome(on.threadId, id);
        seen.add(status);
        expect([status, entries.length], `seed ${seed}, ${id}`).toEqual([status, status === "delivered" ? 1 : 0]);
      }
    }
    expect([...seen].sort()).toEqual(["delivered", "dropped"]);
  });
});

describe.each([
  ["memory", (options: object) => memoryStore(options)],
  ["SQLite", (options: object) => sqliteStore(fastFile(), options)],
])("asks that wait on %s", (_name, open) => {
  const slowly = (text: string) => ({ text, delayMs: 50 });
  const asksOf = async (on: Stage) => told(await on.log()).filter((line) => line.startsWith("ask"));
  const pendingOf = async (on: Stage) => (await on.store.pending(on.threadId)).map(({ id, type }) => [id, type]);

  test("are rows until they are taken, and their entries take their ids from them", async () => {
    const on = await stage({ store: await open({}) });
    const server = await on.start({ script: [slowly("One."), "Two."], busy: "queue" }, NODE);
    await on.end(server.ask("One?"));
    const two = server.ask("Two?", { requestId: "two", refs: { chat: "c" } });
    await on.settled();
    expect(await pendingOf(on)).toEqual([["two", "ask"]]);
    await on.end((await on.end(two)).result);
    expect(await pendingOf(on)).toEqual([]);
    const [, , entry] = await on.log();
    expect(entry).toMatchObject({ id: "two/0", refs: { requestId: "two", chat: "c" } });
    expect(await on.store.outcome(on.threadId, "two")).toEqual({ status: "delivered", seq: 2 });
    await proveAll(on.store, on.threadId);
  });

  test("are taken in order by the process that takes the thread over, also behind a request that is resumed", async () => {
    const on = await stage({ store: await open({}) });
    const first = await on.start({ script: [{ hang: true }], busy: "queue" }, NODE);
    await on.end(first.ask("One?"));
    const others = ["Two?", "Three?"].map((text) => failureOf(first.ask(text)));
    await on.settled();
    const second = await on.start({ script: ["One.", "Two.", "Three."], busy: "queue" }, NODE);
    await on.pass(200);
    expect(second.request).toBeUndefined();
    expect(await asksOf(on)).toEqual(["ask One?", "ask Two?", "ask Three?"]);
    expect((await on.log()).filter(({ payload }) => "end" in payload)).toHaveLength(3);
    expect(await pendingOf(on)).toEqual([]);
    await on.end(first.stop());
    for (const { code } of await Promise.all(others)) expect(code).toBe("request_suspended");
    await proveAll(on.store, on.threadId);
  });

  test("are the request of the next server when no other is open, and a host recovers their thread", async () => {
    const on = await stage({ store: await open({}) });
    const first = await on.start({ script: [slowly("One.")], busy: "queue" }, NODE);
    const one = await on.end(first.ask("One?"));
    const two = failureOf(first.ask("Two?", { requestId: "two" }));
    await on.settled();
    const stopped = first.stop();
    await on.end(one.result);
    await on.end(stopped);
    expect(await two).toMatchObject({ code: "request_suspended", requestId: "two" });
    expect((await on.store.list({ status: "running" })).threads).toHaveLength(1);
    const agent = defineAgent({ model: scriptedModel(["Two."], { after: on.ports.after }) });
    const host = AgentHost.create({ agent, store: on.store, ports: on.ports });
    host.work();
    await on.pass(1_500);
    expect(told(await on.log()).slice(2)).toEqual(["ask Two?", "says Two. end:completed"]);
    expect((await on.store.list({ status: "running" })).threads).toEqual([]);
    await on.end(host.stop());
  });

  test("have one outcome each, with accept and overflow decided when they are taken", async () => {
    const on = await stage({ store: await open({}) });
    const accept = (_: unknown, { content }: { content: unknown }) => (content === "No?" ? "Not now." : undefined);
    const first = await on.start({ script: [{ hang: true }], busy: "queue", accept: () => undefined }, NODE);
    await on.end(first.ask("One?"));
    for (const text of ["No?", " ", "Two?"]) void failureOf(first.ask(text, { requestId: `id_${text.length}` }));
    await on.settled();
    expect(await on.store.pending(on.threadId)).toHaveLength(3);
    const { length } = await on.log();
    await on.start({ script: ["One.", "Two."], busy: "queue", accept } as never, NODE);
    await on.pass(200);
    expect(await asksOf(on)).toEqual(["ask One?", "ask Two?"]);
    expect(await on.store.outcome(on.threadId, "id_3")).toMatchObject({ status: "refused", code: "not_accepted" });
    expect(await on.store.outcome(on.threadId, "id_1")).toMatchObject({ status: "refused", code: "empty_ask" });
    expect(on.warnings.filter((text) => text.includes("not taken"))).toHaveLength(2);
    expect(length).toBe(1);
  });

  test("that are cancelled or whose signal is aborted are consumed, and not taken later", async () => {
    const on = await stage({ store: await open({}) });
    const server = await on.start({ script: [{ hang: true }], busy: "queue" }, NODE);
    const one = await on.end(server.ask("One?"));
    const controller = new AbortController();
    const two = failureOf(server.ask("Two?", { requestId: "two" }));
    const three = failureOf(server.ask("Three?", { requestId: "three", signal: controller.signal }));
    await on.settled();
    expect(await on.end(server.cancel("two", "Never mind."))).toBe(true);
    expect(await on.store.outcome(on.threadId, "two")).toEqual({ status: "dropped", reason: "cancelled" });
    controller.abort();
    expect(await two).toMatchObject({ code: "request_cancelled", message: "Never mind." });
    expect((await three).code).toBe("request_cancelled");
    await on.settled();
    expect(await pendingOf(on)).toEqual([]);
    expect((await failureOf(on.end(server.ask("Two?", { requestId: "two" })))).code).toBe("request_cancelled");
    await on.end(server.cancel(one.id));
  });

  test("are withdrawn and amended by another process", async () => {
    const on = await stage({ store: await open({}) });
    const server = await on.start({ script: [slowly("One."), "Three."], busy: "queue" }, NODE);
    await on.end(server.ask("One?"));
    const two = failureOf(server.ask("Two?", { requestId: "two" }));
    const three = server.ask("Tree?", { requestId: "three" });
    await on.settled();
    await on.store.withdraw(on.threadId, "two");
    const row = (await on.store.pending(on.threadId)).find(({ id }) => id === "three");
    await on.store.amend(on.threadId, "three", { ...row?.body, content: "Three?" });
    await on.end((await on.end(three)).result);
    expect((await two).code).toBe("request_cancelled");
    expect(await asksOf(on)).toEqual(["ask One?", "ask Three?"]);
  });

  test("are one request when they are sent again, in the same process or the next one", async () => {
    const on = await stage({ store: await open({}) });
    const first = await on.start({ script: [{ hang: true }], busy: "queue" }, NODE);
    await on.end(first.ask("One?"));
    const lost = failureOf(first.ask("Two?", { requestId: "two" }));
    await on.settled();
    const second = await on.start({ script: [slowly("One."), "Two."], busy: "queue" }, NODE);
    const again = [second.ask("Two?", { requestId: "two" }), second.ask("Two?", { requestId: "two" })];
    const other = failureOf(second.ask("Other?", { requestId: "two" }));
    expect((await on.end(other)).code).toBe("request_id_reused");
    const [a, b] = await on.end(Promise.all(again));
    expect(a).toBe(b);
    expect((await on.end(a?.result ?? Promise.reject(new Error("none")))).text).toBe("Two.");
    expect(await asksOf(on)).toEqual(["ask One?", "ask Two?"]);
    await on.end(first.stop());
    expect((await lost).code).toBe("request_suspended");
  });

  test("keep the rules of functions in another process", async () => {
    const on = await stage({ store: await open({}) });
    const look = { inputSchema: { type: "object" }, execute: () => "seen" } as const;
    const first = await on.start({ script: [{ hang: true }], busy: "queue" }, NODE);
    await on.end(first.ask("One?"));
    const lent = { context: { user: "ann" } as never, tools: { look }, refs: { lent: true } };
    for (const requestId of ["two", "three"]) void failureOf(first.ask(`${requestId}?`, { requestId, ...lent }));
    await on.settled();
    const second = await on.start({ script: ["One."], busy: "queue" }, { ...NODE, holder: "node" });
    await on.pass(200);
    expect(second.request).toBeUndefined();
    const ends = (await on.log()).flatMap(({ payload }) => ("code" in payload ? [payload["code"]] : []));
    expect(ends).toEqual(["options_lost", "options_lost"]);
  });

  test("get what their functions made from the host of another process", async () => {
    const on = await stage({ store: await open({}) });
    const seen: unknown[] = [];
    const execute = (_: unknown, { context }: { context: unknown }) => seen.push(context);
    const look = { inputSchema: { type: "object" }, execute } as const;
    const first = await on.start({ script: [{ hang: true }], busy: "queue" }, NODE);
    await on.end(first.ask("One?"));
    const lent = { context: { user: "ann" } as never, tools: { look }, refs: { user: "ann" } };
    void failureOf(first.ask("Two?", { requestId: "two", ...lent }));
    await on.settled();
    const functions = {
      context: (_: string, { user }: object & { user?: unknown }) => ({ user }),
      tools: () => ({ look }),
    };
    const script = ["One.", { calls: [{ name: "look" }] }, "Seen."];
    await on.start({ script, busy: "queue" }, { ...NODE, ...(functions as object) });
    await on.pass(300);
    expect(seen).toEqual([{ user: "ann" }]);
    expect(told(await on.log()).at(-1)).toBe("says Seen. end:completed");
  });
});

test("a row that was posted while the inbox could not be read is taken when it can", async () => {
  let isAway = false;
  const away = new StoreError({ code: "store_unreachable", retryable: true, message: "It is away." });
  const on = await stage({
    around: (store) => ({
      ...store,
      pending: async (...given) => (isAway ? Promise.reject(away) : store.pending(...given)),
    }),
  });
  const server = await on.start({ script: ["One.", "Two."] });
  const request = await on.end(server.ask("One?"));
  await on.end(request.result);
  isAway = true;
  await on.store.post(on.threadId, { id: "two", type: "ask", content: "Two?" });
  await on.pass(20_000);
  isAway = false;
  await on.pass(20_000);
  expect(told(await on.log())).toContain("ask Two?");
  await on.end(server.stop());
});

test("a row that no agent takes is reported once, however often the inbox is read", async () => {
  const on = await stage();
  const server = await on.start(hanging);
  await on.store.post(on.threadId, { id: "mine", type: "my_type" });
  await on.end(server.ask("Hi."));
  for (const id of ["s1", "s2", "s3"]) {
    await on.store.post(on.threadId, { id, type: "steer", steer: "steer", content: "More." });
    await on.settled();
  }
  expect(on.warnings.filter((text) => text.includes("no agent takes"))).toHaveLength(1);
});

test("a row that a failed post may have left, and that cannot be withdrawn, is reported", async () => {
  const errors: unknown[] = [];
  const state = { isAway: false };
  const failing = (store: ThreadStore): ThreadStore =>
    new Proxy(store, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function" || !["append", "withdraw"].includes(String(name))) return method;
        return (...given: unknown[]) =>
          state.isAway
            ? Promise.reject(new StoreError({ code: "store_failed", message: "The disk is full." }))
            : method.apply(target, given);
      },
    });
  const on = await stage({ around: failing });
  const onError = (_error: unknown, { code }: { code: string }) => errors.push(code);
  const server = await on.start({ script: [{ hang: true }] }, { onError });
  await on.end(server.ask("Go."));
  state.isAway = true;
  await expect(on.end(server.steer("Be brief."))).rejects.toMatchObject({ code: "store_failed" });
  expect(errors).toEqual(["command_not_withdrawn"]);
});
