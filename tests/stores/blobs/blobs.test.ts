import { BlobError, defineStore, type StoreDriver } from "heddle/store";
import { note, user } from "heddle/testing";
import { expect, test } from "vitest";
import { MemoryTenant, memoryDriver } from "../../../src/stores/memory-store.ts";
import { portableSha256 } from "../../../src/thread/encoding.ts";
import { earlierThread, putEarlierThread } from "../../support/earlier-thread.ts";

const text = "wool ".repeat(20_000);
const image = { type: "file", mediaType: "image/png", data: { base64: "iVBORw0KGgo=".repeat(200) } };
const DAY_MS = 86_400_000;

function open(options: { readonly keepBlobsMs?: number } = {}) {
  const tenant = new MemoryTenant();
  const time = { now: 1_000_000 };
  const clock = () => time.now;
  const driver = memoryDriver(tenant, clock);
  const store = defineStore(driver, { sha256: portableSha256, clock, ...options });
  const blobs = () => [...tenant.records.keys()].filter((key) => key.startsWith("blob/"));
  return { tenant, time, driver, store, blobs };
}

test("five messages with one image hold it once", async () => {
  const { store, tenant, blobs } = open();
  for (let n = 0; n < 5; n++) await store.append("t", user("look", { id: `m${n}` }));
  await store.append(
    "t",
    [1, 2, 3, 4, 5].map((n) => note({ n, content: [image] })),
  );
  expect(blobs()).toHaveLength(1);
  const rows = tenant.threads.get("t")?.rows ?? [];
  expect(Math.max(...rows.map(({ payload }) => payload?.length ?? 0))).toBeLessThan(300);
  const files = (await store.load("t"))?.toArray().slice(5) ?? [];
  expect(files.map(({ payload }) => payload["content"])).toEqual(Array.from({ length: 5 }, () => [image]));
});

test.each([
  ["missing", "blob_missing", undefined],
  ["changed", "blob_damaged", '"other"'],
  ["bytes", "blob_damaged", Uint8Array.of(34, 34)],
] as const)(
  "a blob that is %s is an error that names its entry, and the others stay readable",
  async (_, code, now) => {
    const { store, tenant, blobs } = open();
    await store.append("t", [user("one"), note({ text }, { id: "e1" }), user("three")]);
    const [key = ""] = blobs();
    if (now === undefined) tenant.records.delete(key);
    else tenant.records.set(key, now);
    const error: unknown = await store.load("t").catch((thrown: unknown) => thrown);
    const hash = key.slice("blob/".length);
    expect(error).toMatchObject({ name: "BlobError", code, threadId: "t", seq: 1, entryId: "e1", hash });
    expect(BlobError.isInstance(error)).toBe(true);
    expect((await store.load("t", { last: 1 }))?.rev).toBe(3);
    const read = store.read("t")[Symbol.asyncIterator]();
    expect((await read.next()).value).toMatchObject({ seq: 0 });
    await expect(read.next()).rejects.toMatchObject({ code });
    expect((await Array.fromAsync(store.read("t", { fromSeq: 2 }))).map(({ seq }) => seq)).toEqual([2]);
    expect(await store.verify("t")).toMatchObject({ ok: false, entries: 1, bad: { seq: 1 } });
    expect((await store.append("t", user("four"))).rev).toBe(4);
    await store.append("t", [note({ text }, { id: "e1" })]).then(({ replayed }) => expect(replayed).toBe(true));
    tenant.records.set(key, JSON.stringify(text));
    expect(await store.verify("t")).toMatchObject({ ok: true, entries: 4 });
  },
);

test("a limit of the size of entries counts the whole payload", async () => {
  const { driver } = open();
  const store = defineStore(driver, { maxEntryChars: 5000 });
  await expect(store.append("t", note({ base64: "A".repeat(5000) }))).rejects.toMatchObject({ code: "too_large" });
  await store.append("t", note({ base64: "A".repeat(4900) }));
});

test("prompts and files go a day after the last thread that used them", async () => {
  const { store, time, blobs } = open();
  for (const id of ["a", "b"]) {
    await store.append(id, note({ text, content: [image] }));
    await store.putBlob({ prompt: "You help Ada of Bern." }, { threadId: id });
  }
  expect(blobs()).toHaveLength(3);
  await store.delete("a");
  time.now += 2 * DAY_MS;
  await store.delete("none");
  expect(blobs()).toHaveLength(3);
  await store.delete("b");
  time.now += DAY_MS;
  await store.delete("none");
  expect(blobs()).toHaveLength(3);
  time.now += 1;
  await store.delete("none");
  expect(blobs()).toEqual([]);
});

test("putBlob removes old blobs too, once in the time that they are kept", async () => {
  const { store, time, blobs } = open({ keepBlobsMs: 1000 });
  await store.append("a", note({ text }));
  await store.putBlob("first");
  await store.delete("a");
  time.now += 999;
  await store.putBlob("second");
  expect(blobs()).toHaveLength(3);
  time.now += 2;
  await store.putBlob("third");
  expect(blobs()).toHaveLength(3);
});

test("one call removes a hundred blobs at most, and the next ones the rest", async () => {
  const { store, time, blobs } = open({ keepBlobsMs: 0 });
  await store.append("a", note());
  for (let n = 0; n < 250; n++) await store.putBlob(n, { threadId: "a" });
  await store.delete("a");
  const left: number[] = [];
  for (let call = 0; call < 4; call++) {
    time.now += 1;
    await store.delete("none");
    left.push(blobs().length);
  }
  expect(left).toEqual([150, 50, 0, 0]);
});

test("a blob of 0.1 has no use and is kept, also after a thread has used it", async () => {
  const { store, tenant, time } = open();
  const content = JSON.stringify({ prompt: "of 0.1" });
  tenant.records.set(`blob/${portableSha256(content)}`, content);
  await store.append("a", note());
  const hash = await store.putBlob({ prompt: "of 0.1" }, { threadId: "a" });
  await store.delete("a");
  time.now += 9 * DAY_MS;
  await store.delete("none");
  expect(await store.getBlob(hash)).toEqual({ prompt: "of 0.1" });
});

test("a thread of 0.1 with files in its rows is read, verified, replayed and continued", async () => {
  const { store, tenant } = open();
  const lookalike = { list: [{ text: "" }, { "/text": "x" }, 5], $blob: "x" };
  const entries = [note({ text, content: [image] }, { id: "e0" }), note(lookalike, { id: "e1" })];
  const earlier = earlierThread("t", entries);
  putEarlierThread(tenant, "t", earlier);
  expect(earlier.rows.every(({ payload }) => payload?.startsWith("{"))).toBe(true);
  const payloads = async () => (await store.load("t"))?.toArray().map(({ payload }) => payload);
  expect(await payloads()).toEqual(entries.map(({ payload }) => payload));
  const { hash } = await store.verify("t");
  expect(hash).toBe(earlier.head.hash);
  expect(await store.append("t", entries)).toMatchObject({ replayed: true, rev: 2 });
  await store.append("t", entries[0] === undefined ? [] : { ...entries[0], id: "e2" });
  expect(tenant.threads.get("t")?.rows.slice(0, 2)).toEqual(earlier.rows);
  expect(await store.verify("t")).toMatchObject({ ok: true, entries: 3 });
  expect((await payloads())?.[2]).toEqual(entries[0]?.payload);
});

test("a driver of an earlier version is refused before it loses a blob", async () => {
  const { driver } = open();
  const { blobs: _, ...earlier } = driver;
  const store = defineStore(earlier as StoreDriver); // as in JavaScript
  const refused = { code: "store_driver_outdated" };
  await expect(store.append("t", note({ text }))).rejects.toMatchObject(refused);
  await expect(store.putBlob("x", { threadId: "t" })).rejects.toMatchObject(refused);
  await store.append("t", note({ text: "short" }));
  expect((await store.load("t"))?.rev).toBe(1);
});
