import { sqliteDatabase, sqliteStore } from "heddle/sqlite";
import { note, notes } from "heddle/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { sqliteDriver } from "../../../src/stores/sqlite/driver.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { plainConnect, recording } from "./support/recording.ts";

/** A file with the threads of two tenants. */
async function file(): Promise<string> {
  const path = fastFile();
  const [store, other] = [sqliteStore(path), sqliteStore(path, { tenant: "other" })];
  for (let n = 0; n < 20; n++) await Promise.all([store.append(`t${n}`, notes(10)), other.append("x", notes(5))]);
  await Promise.all([store.close(), other.close()]);
  return path;
}

/** The steps of SQLite's plan for each statement over the entries of all threads. */
function plans(path: string): string[][] {
  const connection = plainConnect()(path);
  const asked: string[] = [];
  const driver = sqliteDriver(
    {
      ...connection,
      prepare(sql) {
        asked.push(sql);
        return connection.prepare(sql);
      },
    },
    "default",
    Date.now,
  );
  onTestFinished(() => driver.close());
  return asked
    .filter((sql) => /e\.pos > \?/.test(sql))
    .map((sql) => {
      const explained = connection.prepare(`EXPLAIN QUERY PLAN ${sql}`);
      return explained.all(...Array.from(sql.matchAll(/\?/g), () => 0)).map((row) => String(row[3]));
    });
}

describe("the rows of all threads", () => {
  test("are read in order from the last position on, and never sorted", async () => {
    const found = plans(await file());
    expect(found).toHaveLength(2);
    for (const plan of found) {
      expect(plan[0]).toMatch(/^SEARCH e USING INTEGER PRIMARY KEY \(rowid>\?/);
      expect(plan[1]).toBe("SEARCH t USING INTEGER PRIMARY KEY (rowid=?)");
      expect(plan.join("; ")).not.toMatch(/SCAN|USE TEMP B-TREE FOR ORDER BY/);
    }
  });

  test("are not read at a look while no other connection commits, also not those of this one", async () => {
    const path = await file();
    const { connect, ran, forget } = recording();
    const driver = sqliteDriver(connect(path), "default", Date.now);
    onTestFinished(() => driver.close());
    const { position = "" } = (await driver.changedThreads?.(undefined, [])) ?? {};
    forget();
    for (let poll = 0; poll < 5; poll++)
      expect(await driver.changedThreads?.(position, [])).toEqual({ threadIds: [], postedIds: [], position });
    expect(ran).toEqual(Array.from({ length: 5 }, () => "PRAGMA data_version"));
  });

  test("of other tenants are passed once", async () => {
    const path = await file();
    const { connect, forget, ran } = recording();
    const driver = sqliteDriver(connect(path), "default", Date.now);
    const other = sqliteStore(path, { tenant: "other" });
    onTestFinished(async () => {
      await Promise.all([driver.close(), other.close()]);
    });
    const before = await driver.changedThreads?.(undefined, []);
    await other.append("x", notes(100));
    const after = await driver.changedThreads?.(before?.position, []);
    expect(after).toEqual({
      threadIds: [],
      postedIds: [],
      position: `${Number.parseInt(before?.position ?? "", 10) + 100}.0`,
    });
    forget();
    expect(await driver.changedThreads?.(after?.position, [])).toEqual(after);
    expect(ran).toEqual(["PRAGMA data_version"]);
  });

  test("of other tenants are passed in parts when a feed continues, and the event loop turns between them", async () => {
    const path = fastFile();
    const [store, other] = [sqliteStore(path), sqliteStore(path, { tenant: "other" })];
    const driver = sqliteDriver(plainConnect()(path), "default", Date.now);
    onTestFinished(async () => {
      await Promise.all([driver.close(), store.close(), other.close()]);
    });
    await store.append("t", note());
    const [first] = await driver.changes(undefined, 10);
    for (let part = 0; part < 5; part++) {
      if (part === 3) await store.append("t", notes(2));
      await other.append("x", notes(5000));
    }
    await store.fork("t", { atSeq: 0, newId: "f" });
    let turns = 0;
    let isOver = false;
    const countTurns = () => {
      turns++;
      if (!isOver) setImmediate(countTurns);
    };
    setImmediate(countTurns);
    const found = await driver.changes(first?.cursor, 10);
    isOver = true;
    expect(found.map((change) => (change.type === "entry" ? change.row.seq : change.type))).toEqual([1, 2, "forked"]);
    expect(turns).toBeGreaterThanOrEqual(2);
    expect((await driver.changes(first?.cursor, 1)).length).toBe(1);
  });

  test("of a long gap are not read to their end when the database closes, and the feed ends", async () => {
    const path = fastFile();
    const other = sqliteStore(path, { tenant: "other" });
    for (let part = 0; part < 5; part++) await other.append("x", notes(5000));
    await other.close();
    const database = sqliteDatabase(path);
    const fed = Array.fromAsync(database.tenant("default").feed());
    await new Promise((resolve) => setImmediate(resolve));
    await database.close();
    expect(await fed).toEqual([]);
  });

  test("name a thread that was deleted, whose commands are gone", async () => {
    const path = await file();
    const driver = sqliteDriver(plainConnect()(path), "default", Date.now);
    const store = sqliteStore(path);
    onTestFinished(async () => {
      await Promise.all([driver.close(), store.close()]);
    });
    await store.append("gone", note());
    const before = await driver.changedThreads?.(undefined, []);
    await store.delete("gone");
    expect(await driver.changedThreads?.(before?.position, [])).toMatchObject({
      threadIds: ["gone"],
      postedIds: ["gone"],
    });
  });

  test("with commands are looked for only where someone follows their inbox", async () => {
    const path = await file();
    const { connect, rowsReturned } = recording();
    const driver = sqliteDriver(connect(path), "default", Date.now);
    const store = sqliteStore(path);
    onTestFinished(async () => {
      await Promise.all([driver.close(), store.close()]);
    });
    const before = await driver.changedThreads?.(undefined, ["job7"]);
    for (let n = 0; n < 200; n++) await store.post(`job${n}`, { id: "c1", type: "ask", content: "Hi" });
    const rows = rowsReturned();
    const found = await driver.changedThreads?.(before?.position, ["job7", "none"]);
    expect(found?.postedIds).toEqual(["job7"]);
    expect(rowsReturned() - rows).toBeLessThan(10);
  });

  test("that came in a long gap are found in parts, each thread once", async () => {
    const path = await file();
    const driver = sqliteDriver(plainConnect()(path), "default", Date.now);
    const store = sqliteStore(path);
    onTestFinished(async () => {
      await Promise.all([driver.close(), store.close()]);
    });
    const before = await driver.changedThreads?.(undefined, []);
    await store.append("gap-a", note());
    for (let part = 0; part < 3; part++) await store.append("gap-b", notes(4000));
    await store.append("gap-c", note());
    const found = await driver.changedThreads?.(before?.position, []);
    expect(found?.threadIds.toSorted()).toEqual(["gap-a", "gap-b", "gap-c"]);
    expect(found?.position).toBe(`${Number.parseInt(before?.position ?? "", 10) + 12_002}.0`);
  });
});
