import { randomUUID } from "node:crypto";
import { AgentHost, defineAgent, memoryStore, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { openStore } from "../../stores/postgres/open.ts";
import { fastFile } from "../../support/temp-folder.ts";

const T = "thread_1";
const REFUSED = { code: "owner_mismatch" };

function hostOn(store: ThreadStore, script: readonly (string | { readonly delayMs: number; readonly text: string })[]) {
  const agent = defineAgent({ model: scriptedModel(script), busy: "queue" });
  const host = AgentHost.create({ agent, store, warn: () => undefined });
  onTestFinished(() => host.stop());
  return host;
}

async function ownersOf(store: ThreadStore): Promise<readonly (string | undefined)[]> {
  return (await store.list()).threads.map(({ owner }) => owner);
}

describe.each([
  ["memory", () => twice(memoryStore())],
  ["SQLite", () => onSqlite()],
  ["Postgres", () => onPostgres()],
])("the owner of an ask on %s", (_name, open) => {
  test("is that of a new thread, and another owner's ask is refused and leaves nothing", async () => {
    const [store] = open();
    const host = hostOn(store, ["One.", "Two."]);
    await (await host.ask(T, "Hi", { owner: "ada" })).result;
    expect(await ownersOf(store)).toEqual(["ada"]);
    const before = (await store.load(T))?.rev;
    await expect(host.ask(T, "Mine", { owner: "eve" })).rejects.toMatchObject(REFUSED);
    expect((await store.load(T))?.rev).toBe(before);
    expect((await (await host.ask(T, "Again", { owner: "ada" })).result).text).toBe("Two.");
  });

  test("is kept with an ask that waits, and with a posted one", async () => {
    const [store] = open();
    const host = hostOn(store, [{ delayMs: 50, text: "One." }, "Two."]);
    const first = await host.ask(T, "Hi", { owner: "ada" });
    const wrong = host.ask(T, "Mine", { owner: "eve" });
    const right = host.ask(T, "Again", { owner: "ada" });
    await expect(wrong).rejects.toMatchObject(REFUSED);
    expect((await (await right).result).text).toBe("Two.");
    await first.result;
    await store.post("thread_2", { id: "req_2", type: "ask", content: "Hi", owner: "bob" });
    await (await host.ask("thread_2", "Hi", { requestId: "req_2" })).result.catch(() => undefined);
    expect((await store.list({ owner: "bob" })).threads.map(({ id }) => id)).toEqual(["thread_2"]);
  });

  test("reaches the process that holds the thread", async () => {
    const [store, other] = open();
    const here = hostOn(store, [{ delayMs: 50, text: "One." }, "Two."]);
    const there = hostOn(other, ["Two."]);
    await here.ask(T, "Hi", { owner: "ada" });
    await expect(there.ask(T, "Mine", { owner: "eve" })).rejects.toMatchObject(REFUSED);
    expect((await (await there.ask(T, "Again", { owner: "ada" })).result).text).toBe("Two.");
  });

  test("is also that of a thread that was deleted in the meantime", async () => {
    const [store, other] = open();
    const host = hostOn(store, ["One.", "Two."]);
    await (await host.ask(T, "Hi", { owner: "ada" })).result;
    await other.delete(T);
    await (await host.ask(T, "Again", { owner: "ada" })).result;
    expect(await ownersOf(store)).toEqual(["ada"]);
  });

  test("is checked before anything is asked", async () => {
    const [store] = open();
    await expect(hostOn(store, []).ask(T, "Hi", { owner: "" })).rejects.toMatchObject({ code: "invalid_id" });
    expect((await store.list()).threads).toEqual([]);
  });
});

function twice(store: ThreadStore): readonly [ThreadStore, ThreadStore] {
  return [store, store];
}

function both(open: () => ThreadStore): readonly [ThreadStore, ThreadStore] {
  return [open(), open()];
}

function onSqlite(): readonly [ThreadStore, ThreadStore] {
  const file = fastFile();
  return both(() => sqliteStore(file));
}

function onPostgres(): readonly [ThreadStore, ThreadStore] {
  const tenant = randomUUID();
  return both(() => openStore({ tenant }));
}
