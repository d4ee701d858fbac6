import { readFileSync } from "node:fs";
import fc from "fast-check";
import { memoryStore, type ThreadStore } from "heddle";
import { type SqliteStoreOptions, sqliteStore } from "heddle/sqlite";
import { expect, test } from "vitest";
import { nobleSha256, portableSha256 } from "../../../src/thread/encoding.ts";
import { asText, everythingIn } from "../../support/everything.ts";
import { installedBetterSqlite3 } from "../../support/open-at.ts";
import { countingPorts, writeSample } from "../../support/sample.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { plainConnect } from "./support/recording.ts";
import { ask } from "./support/sql.ts";

const TABLES = ["threads", "entries", "big_payloads", "records", "claims"];
const libraries = { "node:sqlite": plainConnect(), "better-sqlite3": installedBetterSqlite3() };

test("both libraries write the same rows", async () => {
  const [one, other] = await Promise.all(Object.values(libraries).map((connect) => rowsOfSample({ connect })));
  expect(one).toEqual(other);
});

test("each library reads and continues the file of the other", async () => {
  const path = fastFile();
  for (const connect of [...Object.values(libraries), ...Object.values(libraries)]) {
    const store = sqliteStore(path, { connect });
    await store.append("shared", { payload: { text: "ü🧵\u0000", at: 1.5 } });
    expect(await store.verify("shared")).toMatchObject({ ok: true });
    await store.close();
  }
  expect(ask(path, "SELECT rev FROM threads")).toEqual([[4]]);
});

test("the native and the portable SHA-256 write the same rows", async () => {
  expect(await rowsOfSample({ sha256: nobleSha256 })).toEqual(await rowsOfSample({ sha256: portableSha256 }));
});

test("the native and the portable SHA-256 agree on any text", () => {
  const text = fc.string({ unit: "binary", maxLength: 300 });
  fc.assert(
    fc.property(text, (value) => {
      expect(portableSha256(value)).toBe(nobleSha256(value));
    }),
  );
});

test("readers get the same from the file and the memory store, except feed cursors", async () => {
  const clock = () => 1_700_000_000_000; // the memory store asks its clock more often
  const onDisk = sqliteStore(fastFile(), { ...countingPorts(), clock });
  const inMemory = memoryStore({ ...countingPorts(), clock });
  expect(await withoutCursors(onDisk)).toEqual(await withoutCursors(inMemory));
  await onDisk.close();
});

async function withoutCursors(store: ThreadStore) {
  const { feed, ...rest } = await everythingIn(store, await writeSample(store));
  return asText({ ...rest, feed: feed.map(({ threadId, entry }) => ({ threadId, entry })) });
}

/** Every column of every table after the same calls. */
async function rowsOfSample(options: SqliteStoreOptions) {
  const path = fastFile();
  const store = sqliteStore(path, { ...countingPorts(), ...options });
  await writeSample(store);
  await store.close();
  expect(readFileSync(path).length).toBeGreaterThan(50_000);
  return TABLES.map((table) => ask(path, `SELECT * FROM ${table} ORDER BY 1, 2, 3`));
}
