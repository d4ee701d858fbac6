import fc from "fast-check";
import { memoryStore, type ThreadStore } from "heddle";
import { defineStore, MemoryDatabase, type StoreDriver, type ThreadInfo } from "heddle/store";
import { assistant, note, summary, switchTo, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { MemoryTenant, memoryDriver } from "../../../src/stores/memory-store.ts";
import { sealHead } from "../../../src/stores/row-format.ts";
import type { FirstWords } from "../../../src/stores/stored-records.ts";
import { portableSha256 } from "../../../src/thread/encoding.ts";
import { earlierThread, putEarlierThread } from "../../support/earlier-thread.ts";

const entries = {
  note: note({ role: "user", content: "a note" }),
  user: user("a question"),
  empty: user("  "),
  assistant: assistant("an answer"),
  ask: { kind: "ai_message", payload: { role: "user", content: "an ask", requestId: "r", runId: "r" } },
  steer: { kind: "ai_message", payload: { role: "user", content: "a steer", steer: true } },
  tool: { kind: "ai_message", payload: { role: "tool", content: "a result", toolCallId: "c" } },
  summary: summary(0, 1),
  switch: switchTo("side"),
};

/** The names of entries to append, or how many entries a fork leaves out. */
const step = fc.oneof(
  { weight: 3, arbitrary: fc.array(fc.constantFrom(...typedKeys(entries)), { minLength: 1, maxLength: 12 }) },
  { weight: 1, arbitrary: fc.nat(60) },
);

function typedKeys<Keys extends string>(value: Record<Keys, unknown>): Keys[] {
  return Object.keys(value) as Keys[]; // a literal object has no other keys
}

test("the sums of a thread are a count over its entries, also in forks", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const store = memoryStore({ database: new MemoryDatabase() });
      let info: ThreadInfo = { id: "t", rev: 0, createdAt: 0, updatedAt: 0, metadata: {} };
      let mayBeUnknown = false;
      for (const step of steps) {
        if (typeof step !== "number") {
          await store.append(
            info.id,
            step.map((name) => entries[name]),
          );
        } else if (info.rev > step) {
          info = await store.fork(info.id, { atSeq: info.rev - 1 - step });
          mayBeUnknown ||= step > 32;
        }
        info = (await store.list()).threads.find(({ id }) => id === info.id) ?? info;
        const { counts, firstWords } = await counted(store, info.id);
        expect(info.firstWords).toBe(firstWords);
        if (!mayBeUnknown || info.counts !== undefined) expect(info.counts ?? counts).toEqual(counts);
        expect(info.counts === undefined && info.rev > 0 && !mayBeUnknown).toBe(false);
        if (info.rev > 0) expect(await store.verify(info.id)).toMatchObject({ ok: true });
      }
    }),
  );
});

interface Counted {
  readonly counts: ThreadInfo["counts"];
  readonly firstWords: string | undefined;
}

async function counted(store: ThreadStore, id: string): Promise<Counted> {
  const thread = await store.load(id);
  const messages = (thread?.toArray() ?? [])
    .filter(({ kind }) => kind === "message" || kind === "ai_message")
    .map(({ payload }) => payload as { readonly role: string; readonly content: string; readonly steer?: boolean }); // of the entries above
  const asks = messages.filter(({ role, steer }) => role === "user" && !steer);
  return {
    counts: { asks: asks.length, answers: messages.filter(({ role }) => role === "assistant").length },
    firstWords: asks.find(({ content }) => content.trim() !== "")?.content,
  };
}

describe("a thread that 0.1 wrote", () => {
  test.each([0, 3])("has no sums when it had %i entries, unless it had none", async (count) => {
    const tenant = new MemoryTenant();
    putEarlierThread(tenant, "t", earlierThread("t", [user("one"), assistant("1"), note()].slice(0, count)));
    const store = defineStore(memoryDriver(tenant, Date.now), { sha256: portableSha256 });
    await store.append("t", user("two"), { metadata: { title: "Numbers" } });
    const [info] = (await store.list()).threads;
    expect(info?.title).toBe("Numbers");
    expect(info?.firstWords).toBe(count === 0 ? "two" : undefined);
    expect(info?.counts).toEqual(count === 0 ? { asks: 1, answers: 0 } : undefined);
    expect(await store.verify("t")).toMatchObject({ ok: true });
    expect((await store.fork("t", { atSeq: 0 })).counts).toEqual(info?.counts);
  });
});

test.each([
  ["is marked in the record, and shown", (first: FirstWords) => first],
  ["may be in the words of the record", ({ seq, words }: FirstWords) => ({ seq, words: `${words}…` })],
])("that the first words are cut %s", async (_, stored) => {
  const tenant = new MemoryTenant();
  const store = defineStore(memoryDriver(tenant, Date.now), { sha256: portableSha256 });
  await store.append("t", [user("word ".repeat(20))]);
  const words = "word ".repeat(16).trimEnd();
  const thread = tenant.threads.get("t");
  if (thread === undefined || !("sums" in thread.head.lanes)) throw new Error("the thread was just written");
  const { sums = { counts: null, first: null }, ...lanes } = thread.head.lanes;
  expect(sums.first).toEqual({ seq: 0, words, cut: true });
  const first = stored({ seq: 0, words, cut: true });
  thread.head = sealHead("t", { ...thread.head, lanes: { ...lanes, sums: { ...sums, first } } }, portableSha256);
  expect((await store.list()).threads[0]?.firstWords).toBe(`${words}…`);
  expect(await store.verify("t")).toMatchObject({ ok: true });
});

describe("verify finds wrong sums in a head with a right seal:", () => {
  const counts = { asks: 1, answers: 1 };
  const first = { seq: 0, words: "one" };

  test.each([
    ["a count", { counts: { asks: 2, answers: 1 }, first }],
    ["the first words", { counts, first: { seq: 0, words: "other" } }],
    ["their place", { counts, first: { seq: 1, words: "one" } }],
    ["no first words", { counts, first: null }],
    ["no sums", undefined],
  ])("%s", async (_, sums) => {
    const tenant = new MemoryTenant();
    const store = defineStore(memoryDriver(tenant, Date.now), { sha256: portableSha256 });
    await store.append("t", [user("one"), assistant("1")]);
    expect(await store.verify("t")).toMatchObject({ ok: true });
    const thread = tenant.threads.get("t");
    if (thread === undefined || "track" in thread.head.lanes) throw new Error("the thread was just written");
    const { sums: right, ...lanes } = thread.head.lanes;
    expect(right).toEqual({ counts, first });
    const head = sealHead("t", { ...thread.head, lanes: { ...lanes, ...(sums && { sums }) } }, portableSha256);
    thread.head = head;
    const bad = { seq: -1, reason: expect.stringContaining("sums") };
    expect(await store.verify("t")).toMatchObject({ ok: false, bad });
  });
});

test("a fork whose parent is replaced meanwhile by a shorter thread has no wrong sums", async () => {
  const sound = memoryDriver(new MemoryTenant(), Date.now);
  const other = defineStore(sound); // another process
  let replacements = 0;
  const rows: StoreDriver["rows"] = async (threadId, range) => {
    if (threadId === "t" && range.from === 3 && replacements++ === 0) {
      await other.delete("t");
      await other.fork("origin", { atSeq: 2, newId: "t" });
    }
    return sound.rows(threadId, range);
  };
  await other.append(
    "origin",
    Array.from({ length: 10 }, (_, n) => user(`message ${n}`)),
  );
  await other.fork("origin", { atSeq: 9, newId: "t" });
  const store = defineStore({ ...sound, rows });
  expect(await store.fork("t", { atSeq: 2, newId: "fork" })).toMatchObject({ rev: 3, firstWords: "message 0" });
  expect(replacements).toBe(1);
  await store.append("fork", user("one more"));
  expect(await store.verify("fork")).toMatchObject({ ok: true, entries: 4 });
});
