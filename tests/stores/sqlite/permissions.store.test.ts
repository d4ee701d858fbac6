import { chmodSync, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { sqliteStore } from "heddle/sqlite";
import { notes } from "heddle/testing";
import { expect, test } from "vitest";
import { runChild } from "../../support/child.ts";
import { tempFile, tempFolder } from "../../support/temp-folder.ts";

test("a store in a read-only folder is refused", async () => {
  const path = await storeWith({ folder: 0o555, file: 0o444 });
  expect(await asNobody(path)).toEqual({ open: "store_read_only" });
});

test("a read-only file can be read, and refuses appends", async () => {
  const path = await storeWith({ folder: 0o777, file: 0o444 });
  const before = readFileSync(path);
  expect(await asNobody(path)).toEqual({ open: "ok", append: "store_read_only", load: "ok", rev: 3 });
  expect(readFileSync(path).equals(before)).toBe(true);
});

test("an unreadable file is refused", async () => {
  const path = await storeWith({ folder: 0o777, file: 0o000 });
  expect(await asNobody(path)).toEqual({ open: "store_unreachable" });
});

test("a store cannot be created in a read-only folder", async () => {
  const folder = tempFolder();
  chmodSync(folder, 0o555);
  expect(await asNobody(join(folder, "new.db"))).toEqual({ open: "store_unreachable" });
  expect(existsSync(join(folder, "new.db"))).toBe(false);
});

test("with all permissions the same calls work", async () => {
  const path = await storeWith({ folder: 0o777, file: 0o666 });
  expect(await asNobody(path)).toEqual({ open: "ok", append: "ok", load: "ok", rev: 4 });
});

async function storeWith(mode: { readonly folder: number; readonly file: number }): Promise<string> {
  const path = tempFile();
  const store = sqliteStore(path);
  await store.append("thread_1", notes(3));
  await store.close();
  chmodSync(path, mode.file);
  chmodSync(dirname(path), mode.folder);
  return path;
}

async function asNobody(path: string): Promise<unknown> {
  return JSON.parse(await runChild(new URL("./support/without-permissions.ts", import.meta.url), path));
}
