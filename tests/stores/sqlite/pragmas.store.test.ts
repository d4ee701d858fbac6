import { type SqliteConnection, type SqliteMode, sqliteStore } from "heddle/sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { installedBetterSqlite3 } from "../../support/open-at.ts";
import { tempFile } from "../../support/temp-folder.ts";
import { plainConnect } from "./support/recording.ts";
import { ask } from "./support/sql.ts";

const libraries = { "node:sqlite": plainConnect(), "better-sqlite3": installedBetterSqlite3() };

describe.each(Object.entries(libraries))("a store on %s", (_, connect) => {
  test("sets every pragma that durability depends on", () => {
    const { pragma } = openWith("durable");
    expect(pragma("journal_mode")).toBe("wal");
    expect(pragma("synchronous"), "FULL").toBe(2);
    expect(pragma("busy_timeout"), "the store waits by itself").toBe(0);
    expect(pragma("fullfsync")).toBe(1);
    expect(pragma("checkpoint_fullfsync")).toBe(1);
    expect(pragma("cell_size_check")).toBe(1);
    expect(pragma("trusted_schema")).toBe(0);
    expect(pragma("secure_delete")).toBe(1);
    expect(pragma("wal_autocheckpoint")).toBe(4096);
  });

  test("sets FULL again when a file is opened again", () => {
    const path = tempFile();
    openWith("durable", path);
    expect(openWith("durable", path).pragma("synchronous")).toBe(2);
  });

  test("in relaxed mode only skips the sync of each commit", () => {
    const { pragma } = openWith("relaxed");
    expect(pragma("synchronous"), "NORMAL").toBe(1);
    expect(pragma("journal_mode")).toBe("wal");
  });

  /** A store, and the very connection it works on. */
  function openWith(mode: SqliteMode, path = tempFile()) {
    let used: SqliteConnection | undefined;
    const store = sqliteStore(path, {
      mode,
      connect: (file) => {
        used = connect(file);
        return used;
      },
    });
    onTestFinished(() => store.close());
    return { pragma: (name: string) => used?.prepare(`PRAGMA ${name}`).get()?.[0] };
  }
});

test("a pragma without effect is an error", () => {
  const path = tempFile();
  const deaf = (file: string): SqliteConnection => {
    const inner = plainConnect()(file);
    return { ...inner, exec: (sql) => (sql.includes("synchronous") ? undefined : inner.exec(sql)) };
  };
  expect(() => sqliteStore(path, { mode: "relaxed", connect: deaf })).toThrow(
    expect.objectContaining({ code: "store_failed", message: expect.stringContaining("PRAGMA synchronous = 1") }),
  );
});

test("an unknown mode is refused before a file is created", () => {
  const path = tempFile();
  expect(() => sqliteStore(path, { mode: "fast" as SqliteMode })).toThrow(
    expect.objectContaining({ code: "invalid_options" }),
  );
});

test("the file has our application id, and every table is STRICT", async () => {
  const path = tempFile();
  await sqliteStore(path).close();
  expect(ask(path, "PRAGMA application_id")).toEqual([[0x4865646c]]);
  expect(ask(path, "PRAGMA user_version")).toEqual([[2]]);
  expect(
    ask(
      path,
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0 ORDER BY name",
    ),
  ).toEqual([["sqlite_schema"], ["sqlite_sequence"]]); // SQLite's own
});
