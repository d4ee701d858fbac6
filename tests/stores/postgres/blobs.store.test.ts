import { note } from "heddle/testing";
import { expect, test } from "vitest";
import { openStore, rawConnection } from "./open.ts";

const store = openStore();
const purger = openStore({ keepBlobsMs: 0 });
const sql = rawConnection();
const text = "wool ".repeat(20_000);
const image = { type: "file", mediaType: "image/png", data: { base64: "iVBORw0KGgo9".repeat(90_000) } };

test("five messages with an image of 1 MB need hardly more bytes than one", async () => {
  const bytes = async (): Promise<number> => {
    const [found] = await sql<{ bytes: number }[]>`
      select (select coalesce(sum(length(json)), 0) from records) +
        (select coalesce(sum(length(payload)), 0) from entries) as bytes`;
    return Number(found?.bytes);
  };
  await store.append("t", note({ content: [image] }));
  const one = await bytes();
  for (let n = 0; n < 4; n++) await store.append("t", note({ n, content: [image] }));
  expect((await bytes()) / one).toBeLessThan(1.2);
  await store.delete("t");
});

test("a blob that is appended while it is removed is not lost", async () => {
  const other = openStore();
  for (let round = 0; round < 25; round++) {
    await store.append(`old-${round}`, note({ text }));
    await store.delete(`old-${round}`);
    await Promise.all([
      purger.delete("none"),
      other.append(`new-${round}`, [note({ text }), note({ text: `${text}${round % 3}` })]),
      purger.delete("none"),
      store.putBlob(text, { threadId: `new-${round}` }),
    ]);
    const found = (await store.load(`new-${round}`))?.toArray().map(({ payload }) => payload["text"]);
    expect(found).toEqual([text, `${text}${round % 3}`]);
    await other.delete(`new-${round}`);
  }
});

test("blobs go with the last thread, and their uses too", async () => {
  await store.append("a", note({ text, content: [image] }));
  await store.putBlob(Uint8Array.of(0, 1, 255), { threadId: "a" });
  expect(await sql`select from blob_uses where ended_at is null and thread = 'a'`).toHaveLength(3);
  await store.delete("a");
  await expect
    .poll(async () => {
      await purger.delete("none");
      return (await sql`select from records`).length + (await sql`select from blob_uses`).length;
    })
    .toBe(0);
});
