import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";

/** Each changes one column of the thread's record behind the store's back. */
const FORGERIES = {
  rev: "rev = rev - 1",
  hash: "hash = 'forged'",
  "updated at": "updated_at = updated_at + 1 - 2 * (updated_at & 1)",
  metadata: `metadata = '{"title":"forged"}'`,
  lanes: `lanes = replace(lanes, 'default', 'other')`,
  "lanes as of 0.1": `lanes = '{"active":"other","lanes":{}}'`,
};

describe("the head of a thread, changed outside the store", () => {
  test.each(Object.entries(FORGERIES))("is neither read nor extended: %s", async (_, forgery) => {
    const path = fastFile("sealed.db");
    const store = sqliteStore(path);
    await store.append("thread_1", [{}, {}], { metadata: { title: "true" } });
    const whole = await store.load("thread_1");
    if (whole === undefined) throw new Error("the thread was just written");
    const database = new DatabaseSync(path);
    database.exec(`UPDATE threads SET ${forgery}`);
    const stored = () => database.prepare("SELECT count(*) AS entries, max(seal) AS seal FROM entries, threads").get();
    const before = stored();
    const damage = { name: "CorruptionError", code: "corrupt", threadId: "thread_1", seq: -1 };
    await expect(store.load("thread_1")).rejects.toMatchObject(damage);
    await expect(store.list()).rejects.toMatchObject(damage);
    await expect(store.append("thread_1", {}, { metadata: { a: 1 } })).rejects.toMatchObject(damage);
    await expect(store.save(whole)).rejects.toMatchObject(damage);
    await expect(store.fork("thread_1", { atSeq: 0 })).rejects.toMatchObject(damage);
    expect(await store.verify("thread_1")).toMatchObject({ ok: false });
    expect(stored()).toEqual(before);
    database.close();
    await store.close();
  });
});
