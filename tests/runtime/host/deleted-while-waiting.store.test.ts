import { type AgentHost, type JsonObject, memoryStore, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { careful, house, PAY, realTime } from "./support/hosts.ts";

const T = "thread_1";
const FAILED = { code: "request_failed", failure: { code: "thread_not_found" } };

/** The store of the host, and the one that deletes. With this `pollMs`, changes of the other one are not announced. */
const STORES: readonly [string, () => readonly [ThreadStore, ThreadStore]][] = [
  ["memory", () => twice(memoryStore())],
  ["SQLite", () => twice(sqliteStore(fastFile()))],
  ["SQLite, by another process", () => both(fastFile(), { pollMs: 3_600_000 })],
];

function twice(store: ThreadStore): readonly [ThreadStore, ThreadStore] {
  return [store, store];
}

function both(file: string, options: object = {}): readonly [ThreadStore, ThreadStore] {
  return [sqliteStore(file, options), sqliteStore(file, options)];
}

async function waiting(
  [store, other]: readonly [ThreadStore, ThreadStore],
  config: object = { busy: "queue" },
  idleMs = 1,
) {
  const at = await house(store, realTime());
  const host = at.host({ agent: careful([PAY, "New.", "Newer."], config).agent, idleMs });
  const request = await host.ask(T, "Pay.", { requestId: "old" });
  expect(await request.settled()).toBe("waiting");
  const failed = request.result.catch((error: unknown) => error);
  return { host, request, failed, store, forget: () => other.delete(T) };
}

/** The thread has only what came after the deletion, and nothing of before waits in it. */
async function isNew(host: AgentHost, store: ThreadStore, asks: readonly string[]): Promise<void> {
  const entries = (await store.load(T))?.toArray() ?? [];
  const payloads = entries.map(({ payload }) => payload as JsonObject); // payloads are JSON
  const asked = payloads.flatMap(({ role, content }) => (role === "user" ? [content] : []));
  expect(asked).toEqual(asks);
  expect(await store.pending(T)).toEqual([]);
  await expect.poll(() => host.size).toBe(0);
  await host.stop();
}

describe.each(STORES)("a thread that is deleted while its request waits, on %s", (_name, open) => {
  test.each(["queue", "reject"])("begins again from the start with the next ask, with busy: %s", async (busy) => {
    const { host, failed, store, forget } = await waiting(open(), { busy });
    await forget();
    const next = await host.ask(T, "A new mail.");
    expect((await next.result).text).toBe("New.");
    expect(await failed).toMatchObject(FAILED);
    await isNew(host, store, ["A new mail."]);
  });

  test("begins again from the start with the same ask", async () => {
    const { host, failed, store, forget } = await waiting(open());
    await forget();
    const next = await host.ask(T, "Pay.", { requestId: "old" });
    expect((await next.result).text).toBe("New.");
    expect(await failed).toMatchObject(FAILED);
    await isNew(host, store, ["Pay."]);
  });

  test("fails with all that waits behind its request, and its events end", async () => {
    const { host, request, failed, store, forget } = await waiting(open());
    const second = host.ask(T, "Second.").catch((error: unknown) => error);
    const third = host.ask(T, "Third.").catch((error: unknown) => error);
    const { receipt } = await host.followUp(T, "And this.");
    const { settled } = await host.reset(T);
    await expect.poll(async () => (await store.pending(T)).length).toBe(4);
    await forget();
    await (await host.ask(T, "New?")).result;
    expect(await Promise.all([failed, second, third])).toMatchObject([FAILED, FAILED, FAILED]);
    expect(await receipt).toMatchObject({ delivered: false, reason: "run_failed" });
    expect(await settled).toEqual({ status: "withdrawn" });
    const kinds: string[] = [];
    for await (const { kind } of request.events()) kinds.push(kind);
    expect(kinds.at(-1)).toBe("request_failed");
    await isNew(host, store, ["New?"]);
  });

  test.each(["steer", "followUp"] as const)("refuses %s, and stores nothing of it", async (method) => {
    const { host, failed, store, forget } = await waiting(open());
    await forget();
    const { accepted, receipt } = await host[method](T, "My secret.");
    expect([accepted, await receipt]).toMatchObject([false, { delivered: false, reason: "idle" }]);
    expect(await failed).toMatchObject(FAILED);
    await isNew(host, store, []);
  });

  test("takes a message that wakes it as the first of a new thread", async () => {
    const { host, failed, store, forget } = await waiting(open());
    await forget();
    const { accepted, receipt } = await host.inject(T, "It rains.", { source: "monitor", wake: true });
    expect([accepted, await receipt]).toMatchObject([true, { delivered: true, seq: 0 }]);
    expect(await failed).toMatchObject(FAILED);
    await host.stop();
    expect(await store.pending(T)).toEqual([]);
  });

  test.each<readonly [string, (host: AgentHost) => Promise<unknown>]>([
    ["cancel", (host) => host.cancel(T)],
    ["approve", (host) => host.approve(T, "call_p")],
  ])("fails its request at %s", async (_what, call) => {
    const { host, failed, store, forget } = await waiting(open());
    await forget();
    // It may be announced before a cancel comes. Then there is nothing to cancel.
    const answer = await call(host).catch((error: unknown) => error);
    expect([false, expect.objectContaining({ code: "thread_not_found" })]).toContainEqual(answer);
    expect(await failed).toMatchObject(FAILED);
    await isNew(host, store, []);
  });

  test("begins again from the start with an ask that was posted", async () => {
    const { host, failed, store, forget } = await waiting(open(), { busy: "queue" }, 60_000);
    await forget();
    await store.post(T, { id: "posted", type: "ask", content: "Posted." });
    expect(await failed).toMatchObject(FAILED);
    expect(await store.outcome(T, "posted")).toMatchObject({ status: "delivered" });
    expect((await host.result(T, "posted")).text).toBe("New.");
    await host.stop();
  });
});

test.each<readonly [string, () => readonly [ThreadStore, ThreadStore]]>([
  ["memory", () => twice(memoryStore())],
  ["SQLite", () => twice(sqliteStore(fastFile()))],
  ["SQLite, by another process", () => both(fastFile())],
])(
  "a thread that is deleted while its request waits fails all at once when no call comes, and is not stored again, on %s",
  async (_name, open) => {
    const { host, failed, store, forget } = await waiting(open());
    const behind = host.ask(T, "Behind.").catch((error: unknown) => error);
    await expect.poll(async () => (await store.pending(T)).length).toBe(1);
    await forget();
    expect(await Promise.all([failed, behind])).toMatchObject([FAILED, FAILED]);
    await isNew(host, store, []);
    expect(await store.load(T)).toBeUndefined();
  },
);

test("a request that another process runs fails there too when its thread is deleted", async () => {
  const [store, other] = both(fastFile());
  const { host, failed, forget } = await waiting([store, other]);
  const second = (await house(other, realTime())).host({ agent: careful([]).agent });
  const followed = await second.resume(T);
  const behind = followed?.result.catch((error: unknown) => error);
  await forget();
  expect(await Promise.all([failed, behind])).toMatchObject([FAILED, FAILED]);
  await host.stop();
  await second.stop();
});
