import { memoryStore, type ThreadStore } from "heddle";
import { postgresStore } from "heddle/postgres";
import { sqliteStore } from "heddle/sqlite";
import { expect, inject, test } from "vitest";
import { tempFile } from "../../support/temp-folder.ts";

const stores: readonly [name: string, open: () => ThreadStore][] = [
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(tempFile())],
  ["Postgres", () => postgresStore(inject("postgresUrl"))],
];

test.each(stores)("the %s store refuses a lone surrogate, and names its path and the cause", async (_, open) => {
  const store = open();
  const half = "\ud83d";
  const refused = (path: string) => ({
    code: "not_json",
    path,
    message: expect.stringContaining("a lone surrogate"),
  });
  const inText = store.append("t", { kind: "note", payload: { list: [{ text: `cut ${half}` }] } });
  await expect(inText).rejects.toMatchObject(refused("entry.payload.list[0].text"));
  const inKey = store.append("t", [{ kind: "note" }, { kind: "note", payload: { [half]: 1 } }]);
  await expect(inKey).rejects.toMatchObject(refused("entries[1].payload"));
  const inMetadata = store.append("t", { kind: "note" }, { metadata: { title: half } });
  await expect(inMetadata).rejects.toMatchObject(refused("metadata.title"));
  const note = store.post("t", { id: "c_1", type: "note", content: half });
  await expect(note).rejects.toMatchObject(refused("command.content"));
  const inId = store.post("t", { id: half, type: "ask", content: "Hi" });
  await expect(inId).rejects.toMatchObject(refused("command.id"));
  await expect(store.putCheckpoint("k", { text: half })).rejects.toMatchObject(refused("value.text"));
  await expect(store.putBlob({ text: half })).rejects.toMatchObject(refused("content.text"));
  expect(await store.load("t")).toBeUndefined();
  await store.close();
});

test.each(stores)(
  "the %s store repairs the words of a posted ask or message, as a call of a host does",
  async (_, open) => {
    const store = open();
    const half = "cut \ud83d";
    await store.post("t", { id: "ask_1", type: "ask", content: half });
    expect(await store.post("t", { id: "ask_1", type: "ask", content: half })).toMatchObject({ replayed: true });
    await store.post("t", { id: "steer_1", type: "steer", content: [{ type: "text", text: half }] });
    await store.post("t", { id: "steer_2", type: "steer", steer: "follow_up", content: half });
    const [ask, steer, followUp] = await store.pending("t");
    expect([ask?.body, steer?.body, followUp?.body]).toEqual([
      { content: "cut \ufffd" },
      { content: [{ type: "text", text: "cut \ufffd" }] },
      { steer: "follow_up", content: "cut \ufffd" },
    ]);
    await store.close();
  },
);
