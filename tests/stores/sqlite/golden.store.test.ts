import { copyFileSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { sqliteStore } from "heddle/sqlite";
import { inLane, note } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import { V1 } from "../../../src/stores/sqlite/schema/v1.ts";
import { asText, everythingIn, type Names } from "../../support/everything.ts";
import { countingPorts, writeSample } from "../../support/sample.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { plainConnect } from "./support/recording.ts";
import { ask, tamper } from "./support/sql.ts";

interface Golden {
  readonly names: Names;
  readonly contents: Awaited<ReturnType<typeof everythingIn>>;
}

const golden = (name: string) => fileURLToPath(new URL(`../../golden/${name}`, import.meta.url));
const { names, contents } = JSON.parse(readFileSync(golden("sqlite-v1.json"), "utf8")) as Golden;

test("a database of schema 1 opens complete, and can be continued", async () => {
  const store = openCopy();
  expect(asText(await everythingIn(store, names))).toBe(asText(contents));
  for (const { id, rev } of contents.byId) {
    expect(await store.verify(id)).toMatchObject({ ok: true, entries: rev });
    expect((await store.append(id, note())).rev).toBe(rev + 1);
    expect(await store.verify(id)).toMatchObject({ ok: true, entries: rev + 1 });
  }
});

test("a process of 0.1 that is connected during the upgrade can no longer read heads, so it can not append", async () => {
  const path = fastFile();
  copyFileSync(golden("sqlite-v1.db"), path);
  const earlier = plainConnect()(path);
  const columns = "rev, hash, created_at, updated_at, metadata, seal, track, mark";
  const head = earlier.prepare(`SELECT key, ${columns} FROM threads WHERE tenant = ? AND id = ?`);
  const putHead = earlier.prepare(`UPDATE threads SET (${columns}) = (?, ?, ?, ?, ?, ?, ?, ?) WHERE key = ?`);
  const [key, ...values] = head.get("default", "counted") ?? [];
  const store = sqliteStore(path);
  expect(() => head.get("default", "counted")).toThrow(/no such column: track/);
  expect(() => putHead.run(...values, key ?? 0)).toThrow(/no such column: track/);
  expect(await store.verify("counted")).toMatchObject({ ok: true });
  await store.append("counted", [inLane("a", note()), inLane("b", note())]);
  expect(ask(path, `SELECT count(*) FROM lanes WHERE thread = ${key}`)).not.toEqual([[0]]);
  earlier.prepare("DELETE FROM entries WHERE thread = ?").run(key ?? 0);
  earlier.prepare("DELETE FROM threads WHERE key = ?").run(key ?? 0);
  expect(ask(path, `SELECT count(*) FROM lanes WHERE thread = ${key}`)).toEqual([[0]]);
  await store.append("counted", inLane("b", note()));
  expect(await store.verify("counted")).toMatchObject({ ok: true, entries: 1 });
  earlier.close();
  await store.close();
});

test("an append made with schema 1 can still be retried", async () => {
  const store = openCopy();
  const [first] = (await store.load("counted"))?.toArray() ?? [];
  if (first === undefined) throw new Error("the golden thread has entries");
  expect(await store.append("counted", first)).toMatchObject({ replayed: true, entries: [first] });
});

test("schema 1 still creates the same tables", () => {
  const path = fastFile();
  tamper(path, V1);
  const ddl = ask(path, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name");
  expect(`${ddl.map(([sql]) => `${String(sql)};`).join("\n\n")}\n`).toBe(readFileSync(golden("sqlite-v1.sql"), "utf8"));
});

test("the same calls give the same hashes as with schema 1", async () => {
  const store = sqliteStore(fastFile(), countingPorts());
  onTestFinished(() => store.close());
  const { feed, ...found } = await everythingIn(store, await writeSample(store));
  const { feed: _, ...known } = contents;
  expect(asText(found)).toBe(asText(known));
  const entriesOf = (items: typeof feed) => asText(items.map(({ entry }) => entry));
  expect(entriesOf(feed)).toBe(entriesOf(withoutSharedEntries(contents)));
  const then = openCopy();
  for (const { id } of contents.byId) expect((await store.verify(id)).hash).toBe((await then.verify(id)).hash);
});

/** The feed of 0.1 repeated the history of a fork. */
function withoutSharedEntries({ feed, byId }: Golden["contents"]): Golden["contents"]["feed"] {
  const forkSeq = new Map(byId.map(({ id, metadata }) => [id, metadata["forkSeq"]]));
  return feed.filter(({ threadId, entry }) => entry.seq > Number(forkSeq.get(threadId) ?? -1));
}

function openCopy() {
  const path = fastFile();
  copyFileSync(golden("sqlite-v1.db"), path);
  const store = sqliteStore(path);
  onTestFinished(() => store.close());
  return store;
}
