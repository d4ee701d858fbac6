import { memoryStore, type ThreadStore } from "heddle";
import { postgresStore } from "heddle/postgres";
import { sqliteStore } from "heddle/sqlite";
import { note } from "heddle/testing";
import { expect, inject, onTestFinished, test } from "vitest";
import { tempFile } from "../../support/temp-folder.ts";

const stores: readonly [name: string, open: () => ThreadStore][] = [
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(tempFile())],
  ["Postgres", () => postgresStore(inject("postgresUrl"))],
];

const ids = { requestId: "req_01a205db-801b-758f-9d14-72d6dc62f66a", runId: "run_1" };
const like = { ...ids, requestId: "req_01a205db-801b-758f-9d14-72d6dc62f66b" };

test.each(stores)(
  "the %s store finds and returns entries whose refs repeat the ids of their payload",
  async (_, open) => {
    const store = open();
    const thread = `repeated_${Math.random().toString(36).slice(2)}`;
    onTestFinished(async () => {
      await store.delete(thread);
      await store.close();
    });
    const { entries } = await store.append(thread, [
      note({ text: "first", ...ids }, { refs: ids }),
      note({ text: "second", ...ids }, { refs: { ...ids, callId: "call_9" } }),
      note({ text: "third", ...like }, { refs: like }),
      note({ text: "no ids" }),
    ]);
    const seqs = async (options: Parameters<ThreadStore["read"]>[1]) =>
      (await Array.fromAsync(store.read(thread, options))).map(({ seq }) => seq);
    expect((await store.load(thread))?.toArray()).toEqual(entries);
    expect(await store.verify(thread)).toMatchObject({ ok: true });
    expect(await seqs({ refs: { requestId: ids.requestId } })).toEqual([0, 1]);
    expect(await seqs({ refs: { callId: "call_9" }, reverse: true })).toEqual([1]);
    expect(await seqs({ search: "62f66a" })).toEqual([0, 1]);
    expect(await seqs({ search: "requestid" })).toEqual([0, 1, 2]);
    expect(await seqs({ search: "run_1" })).toEqual([0, 1, 2]);
    expect(await seqs({ search: "call_9" })).toEqual([]);
    expect((await store.list({ search: "62f66b", prefix: thread })).threads).toHaveLength(1);
    expect((await store.load(thread, { last: 2 }))?.toArray({ partial: true })).toEqual(entries.slice(2));
  },
);
