import { existsSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { betterSqlite3, findSqlite } from "../../../src/stores/sqlite/connection.ts";
import { runChild } from "../../support/child.ts";
import { tempFile } from "../../support/temp-folder.ts";

test.each([undefined, "3.51.2", "3.50.9", "2.99.99", "3.9.0"])(
  "with SQLite %s in Node and no better-sqlite3 the error names what to install",
  async (version) => {
    const script = new URL("./support/missing-drivers.ts", import.meta.url);
    const answer: unknown = JSON.parse(await runChild(script, ...(version === undefined ? [] : [version])));
    expect(answer).toEqual({
      code: "store_driver_missing",
      message: expect.stringMatching(
        /^Node \d+\.\d+\.\d+ has no SQLite 3\.51\.3 or later.*npm install better-sqlite3@13$/,
      ),
    });
    expect(existsSync("never-made.db")).toBe(false);
  },
);

test.each([
  ["3.51.3", "node:sqlite"],
  ["3.52.0", "node:sqlite"],
  ["3.100.0", "node:sqlite"],
  ["4.0.0", "node:sqlite"],
  ["3.51.2", "better-sqlite3"],
  ["3.9.100", "better-sqlite3"],
])("where Node has SQLite %s, %s is used", (sqlite, library) => {
  const { versions } = process;
  Object.defineProperty(process, "versions", { value: { ...versions, sqlite }, configurable: true });
  onTestFinished(() => void Object.defineProperty(process, "versions", { value: versions, configurable: true }));
  const connection = findSqlite()(tempFile());
  connection.close();
  expect(connection.library).toContain(library);
});

test("better-sqlite3 is not loaded where Node-API is too old for it, since it would crash the process", () => {
  expect(betterSqlite3(9)).toBeUndefined();
  expect(betterSqlite3(10)).toBeDefined();
});
