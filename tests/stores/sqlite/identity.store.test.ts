import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type SqliteConnection, sqliteStore } from "heddle/sqlite";
import { note } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { migrate } from "../../../src/stores/sqlite/schema/migrate.ts";
import { installedBetterSqlite3 } from "../../support/open-at.ts";
import { fastFile, fastFolder } from "../../support/temp-folder.ts";
import { plainConnect, recording } from "./support/recording.ts";
import { ask, tamper } from "./support/sql.ts";

const libraries = { "node:sqlite": plainConnect(), "better-sqlite3": installedBetterSqlite3() };

/** Name -> how to make such a file, and what opening it must say. */
const strangers: Readonly<Record<string, readonly [code: string, make: (path: string) => void]>> = {
  "a database of another program": [
    "store_not_heddle",
    (path) => tamper(path, "CREATE TABLE recipes (name TEXT)", "INSERT INTO recipes VALUES ('soup')"),
  ],
  "a database of another program in WAL mode": [
    "store_not_heddle",
    (path) => tamper(path, "PRAGMA journal_mode = wal", "CREATE TABLE recipes (name TEXT)"),
  ],
  "an empty database with another program's application_id": [
    "store_not_heddle",
    (path) => tamper(path, "PRAGMA application_id = 7"),
  ],
  "an empty database with another program's user_version": [
    "store_not_heddle",
    (path) => tamper(path, "PRAGMA user_version = 3"),
  ],
  "a database with only a view": ["store_not_heddle", (path) => tamper(path, "CREATE VIEW v AS SELECT 1")],
  "a database of a newer Heddle": ["store_schema_newer", makeNewer],
  "a database of a newer Heddle that has left WAL mode": [
    "store_schema_newer",
    (path) => {
      makeNewer(path);
      tamper(path, "PRAGMA journal_mode = delete");
    },
  ],
  "a text file": ["store_not_heddle", (path) => writeFileSync(path, "Dear diary,\n".repeat(500))],
  "a very short text file": ["store_not_heddle", (path) => writeFileSync(path, "hi\n")],
  "a file of zeros": ["store_not_heddle", (path) => writeFileSync(path, new Uint8Array(8192))],
  "the first bytes of a store": [
    "corrupt",
    (path) => {
      makeNewer(path);
      writeFileSync(path, readFileSync(path).subarray(0, 50));
    },
  ],
};

describe.each(Object.entries(libraries))("on %s", (_, connect) => {
  test.each(Object.entries(strangers))("%s is refused and stays as it was, byte for byte", (_, [code, make]) => {
    const path = fastFile();
    make(path);
    const before = bytesIn(dirname(path));
    expect(() => sqliteStore(path, { connect })).toThrow(expect.objectContaining({ code }));
    expect(bytesIn(dirname(path))).toEqual(before);
  });

  test("a directory and a missing folder are refused", () => {
    const folder = fastFolder();
    mkdirSync(join(folder, "directory"));
    for (const path of [join(folder, "directory"), join(folder, "missing", "threads.db")]) {
      expect(() => sqliteStore(path, { connect })).toThrow(expect.objectContaining({ code: "store_unreachable" }));
    }
    expect(readdirSync(folder)).toEqual(["directory"]);
  });

  test("an empty file becomes a store", async () => {
    const path = fastFile();
    writeFileSync(path, "");
    const store = sqliteStore(path, { connect });
    await store.append("thread_1", note());
    expect((await store.load("thread_1"))?.rev).toBe(1);
    await store.close();
  });
});

test("an invalid path is refused", () => {
  for (const path of ["", ":memory:", "file::memory:", "a\0b"])
    expect(() => sqliteStore(path)).toThrow(expect.objectContaining({ code: "invalid_options" }));
});

test("a store that another process is creating is not refused as a file of another program", async () => {
  const steps = recording();
  await sqliteStore(fastFile(), { connect: steps.connect }).close();
  const looks = steps.ran.indexOf("BEGIN IMMEDIATE");
  expect(looks).toBeGreaterThan(3);
  for (let look = 0; look <= looks; look++) {
    const path = fastFile();
    const slow = recording();
    slow.before = () => {
      if (slow.ran.length === look) makeEmpty(path); // the other one is done between two looks of ours
    };
    const store = sqliteStore(path, { connect: slow.connect });
    slow.before = () => {};
    await store.append("thread_1", note());
    await store.close();
    expect(ask(path, "SELECT count(*) FROM threads"), `look ${look}`).toEqual([[1]]);
  }
});

test("when the disk is full while the tables are made, the error says so", () => {
  const full = (path: string): SqliteConnection => {
    const inner = plainConnect()(path);
    const exec = (sql: string) => {
      if (!sql.endsWith("COMMIT")) return inner.exec(sql);
      inner.exec("ROLLBACK"); // SQLite does so by itself
      throw Object.assign(new Error("database or disk is full"), { errcode: 13 });
    };
    return { ...inner, exec };
  };
  const path = fastFile();
  expect(() => sqliteStore(path, { connect: full })).toThrow(expect.objectContaining({ code: "store_full" }));
  expect(ask(path, "SELECT count(*) FROM sqlite_schema")).toEqual([[0]]);
});

function makeEmpty(path: string): void {
  const connection = plainConnect()(path);
  connection.exec("PRAGMA journal_mode = WAL");
  migrate(connection);
  connection.close();
}

function makeNewer(path: string): void {
  makeEmpty(path);
  tamper(path, "PRAGMA user_version = 1000");
}

/** Every file of a folder with its content: what was left behind counts too. */
function bytesIn(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "base64")]));
}
