import { copyFileSync, readFileSync } from "node:fs";
import type { ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { note } from "heddle/testing";
import { expect, test } from "vitest";
import { fastFile } from "../support/temp-folder.ts";
import { openStore, rawConnection, schema } from "./postgres/open.ts";
import { plainConnect } from "./sqlite/support/recording.ts";

/** The statements of the docs. */
function statements(of: string): string {
  const docs = readFileSync(new URL("../../docs/stores.md", import.meta.url), "utf8");
  const block = docs.split("```").find((part) => part.startsWith(`sql\n-- ${of}\n`)) ?? "";
  return block.slice("sql\n".length);
}

interface Before {
  readonly cursors: readonly string[];
  readonly epoch: number;
}

async function lastCursor(store: ThreadStore): Promise<string> {
  const rev = (await store.load("t"))?.rev ?? 0;
  let seen = 0;
  for await (const { cursor } of store.feed()) if (++seen === rev) return cursor;
  throw new Error("The feed ended.");
}

async function expectRestored(store: ThreadStore, { cursors, epoch }: Before): Promise<void> {
  for (const after of cursors) {
    const feed = store.feed({ after })[Symbol.asyncIterator]();
    await expect(feed.next()).rejects.toMatchObject({ code: "feed_epoch_changed" });
  }
  await expect(store.append("t", note(), { epoch })).rejects.toMatchObject({ code: "stale_holder" });
  expect((await store.claim("t", { holder: "new", ttlMs: 60_000 })).epoch).toBeGreaterThan(epoch);
  expect(await store.verify("t")).toMatchObject({ ok: true });
  await store.append("t", note());
  const after = await lastCursor(store);
  await store.append("t", note({ last: true }));
  const next = await store.feed({ after })[Symbol.asyncIterator]().next();
  expect(next.value).toMatchObject({ entry: { payload: { last: true } } });
}

test("after a restore of a file, cursors and holders from before and after the backup are refused: SQLite", async () => {
  const [path, backup] = [fastFile(), fastFile()];
  const first = sqliteStore(path);
  await first.append("t", note());
  const { epoch } = await first.claim("t", { holder: "old", ttlMs: 600_000 });
  const earlier = await lastCursor(first);
  await first.close();
  copyFileSync(path, backup);
  const later = sqliteStore(path);
  await later.append("t", note());
  const cursors = [earlier, await lastCursor(later)];
  await later.close();
  const sql = plainConnect()(backup);
  sql.exec(statements("SQLite"));
  sql.close();
  const restored = sqliteStore(backup);
  await expectRestored(restored, { cursors, epoch });
  await restored.close();
});

test("after the statements for a restore, cursors and holders from before are refused: Postgres", async () => {
  const store = openStore();
  await store.append("t", note());
  const { epoch } = await store.claim("t", { holder: "old", ttlMs: 600_000 });
  const cursors = [await lastCursor(store)];
  await rawConnection().unsafe(statements("Postgres").replace("search_path to heddle;", `search_path to ${schema};`));
  await expectRestored(openStore(), { cursors, epoch });
});
