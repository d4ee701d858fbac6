import { statSync } from "node:fs";
import { sqliteStore } from "heddle/sqlite";
import { note, user } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { ask, tamper } from "./support/sql.ts";

const image = { type: "file", mediaType: "image/png", data: { base64: "iVBORw0KGgo9".repeat(90_000) } };
const text = "wool ".repeat(20_000);

function open(options = {}) {
  const path = fastFile();
  const store = sqliteStore(path, options);
  onTestFinished(() => store.close());
  return { store, path };
}

async function bytesOf(messages: number): Promise<number> {
  const { store, path } = open();
  for (let n = 0; n < messages; n++) await store.append("t", note({ n, content: [image] }));
  await store.close();
  return statSync(path).size;
}

test("five messages with an image of 1 MB need hardly more bytes than one", async () => {
  expect((await bytesOf(5)) / (await bytesOf(1))).toBeLessThan(1.2);
});

test("prompts and files are in no page of the file after the last thread and the time that they are kept", async () => {
  const time = { now: 1_000_000 };
  const { store, path } = open({ clock: () => time.now, keepBlobsMs: 1000 });
  for (const id of ["a", "b"]) {
    await store.append(id, note({ text, content: [image] }));
    await store.putBlob({ prompt: "You help Ada of Bern." }, { threadId: id });
  }
  await store.delete("a");
  await store.delete("b");
  expect(ask(path, "SELECT count(*) FROM records")).toEqual([[3]]);
  time.now += 1001;
  await store.delete("none");
  expect(ask(path, "SELECT count(*) FROM records")).toEqual([[0]]);
  expect(ask(path, "SELECT count(*) FROM blob_uses")).toEqual([[0]]);
});

test("an append that fails leaves no blob behind", async () => {
  const { store, path } = open();
  await Promise.allSettled([
    store.append("a", note({ text }), { expectedRev: 5 }),
    store.append("a", note({ text: "short" })),
  ]);
  expect(ask(path, "SELECT count(*) FROM records")).toEqual([[0]]);
  expect(ask(path, "SELECT count(*) FROM blob_uses")).toEqual([[0]]);
});

test("an entry without files writes no blob and no use", async () => {
  const { store, path } = open();
  await store.append("a", [user("hi"), note({ text: text.slice(0, 60_000) })]);
  expect(ask(path, "SELECT count(*) FROM records")).toEqual([[0]]);
  expect(ask(path, "SELECT count(*) FROM blob_uses")).toEqual([[0]]);
});

test("a blob that became a number, or is gone, is an error of its entry", async () => {
  const { store, path } = open();
  await store.append("a", [user("one"), note({ text })]);
  tamper(path, "UPDATE records SET value = 7");
  await expect(store.load("a")).rejects.toMatchObject({ code: "blob_damaged", seq: 1 });
  tamper(path, "DELETE FROM records");
  await expect(store.load("a")).rejects.toMatchObject({ code: "blob_missing", seq: 1 });
  expect((await store.load("a", { upToSeq: 0 }))?.rev).toBe(1);
  expect(await store.verify("a")).toMatchObject({ ok: false, entries: 1 });
  await store.append("a", note({ text }));
  expect((await store.load("a"))?.at(1)?.payload).toEqual({ text });
});
