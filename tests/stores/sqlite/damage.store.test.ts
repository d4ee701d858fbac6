import { copyFileSync } from "node:fs";
import type { ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { inLane, note, notes, replace } from "heddle/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { tamper } from "./support/sql.ts";

/** A thread of ten entries, the fourth on a lane of its own, changed by SQL behind the store's back. */
async function tampered(...statements: readonly string[]): Promise<ThreadStore> {
  const path = fastFile();
  const store = sqliteStore(path);
  await store.append("t", [...notes(3), inLane("side", note({ n: 3 })), replace("side"), ...notes(5)], {
    metadata: { status: "open" },
  });
  await store.close();
  const copy = fastFile("copy.db");
  copyFileSync(path, copy);
  tamper(copy, ...statements);
  const changed = sqliteStore(copy);
  onTestFinished(() => changed.close());
  return changed;
}

/** The row 6 once more, in another place. */
const repeated = (seq: number): string =>
  `INSERT INTO entries (thread, seq, id, at, kind, refs, payload, salt, digest, prev, hash, lane, measure, check_sum)
   SELECT thread, ${seq}, 'again', at, kind, refs, payload, salt, digest, prev, hash, lane, measure, check_sum
   FROM entries WHERE seq = 6`;

const of = (seq: number, set: string) => `UPDATE entries SET ${set} WHERE seq = ${seq}`;

describe("verify sees a change of", () => {
  test.each([
    ["a payload", of(6, `payload = '{"n":7}'`), 6],
    ["a salt", of(6, "salt = 'AAAAAAAAAAAAAAAAAAAAAA'"), 6],
    ["an id", of(6, "id = 'another'"), 6],
    ["a time", of(6, "at = at + 1"), 6],
    ["a kind", of(6, "kind = 'message'"), 6],
    ["a version", of(6, "v = 2"), 6],
    ["refs", of(6, `refs = '{"callId":"c9"}'`), 6],
    ["a hash", of(6, "hash = (SELECT hash FROM entries WHERE seq = 5)"), 6],
    ["a link", of(6, "prev = (SELECT hash FROM entries WHERE seq = 4)"), 6],
    ["a digest", of(6, "digest = 'x'"), 6],
    ["a lane", of(6, "lane = 'other'"), 6],
    ["a measure", of(6, "measure = measure + 1"), 6],
    ["a mark", of(6, "mark = 4"), 6],
    ["a track", of(6, "track = '{}'"), 6],
    ["a state", of(6, `state = '{"active":"side"}'`), 6],
    ["a record", of(6, `record = '{"measure":9}'`), 6],
    ["the place of a record", of(6, "record_seq = 2"), 6],
    ["a checksum", of(6, "check_sum = 'AAAAAAAAAAAAAAAA'"), 6],
    ["the absence of a checksum", of(6, "check_sum = NULL"), 6],
    [
      "the absence of the first checksum",
      of(0, "state = NULL, record = NULL, record_seq = NULL, check_sum = NULL"),
      -1,
    ],
    [
      "the absence of all checksums",
      "UPDATE entries SET state = NULL, record = NULL, record_seq = NULL, check_sum = NULL",
      3,
    ],
    ["a record of a lane", `UPDATE lanes SET record = '{"measure":9}'`, -1],
    ["the lane of a record", "UPDATE lanes SET lane = 'other'", -1],
    ["the place of a lane", "UPDATE lanes SET seq = 5", -1],
    ["the first entry of a lane", "UPDATE lanes SET first_seq = 2", -1],
    ["the last record of a lane", "UPDATE lanes SET record_seq = 3", -1],
    ["the checksum of a lane", "UPDATE lanes SET check_sum = 'AAAAAAAAAAAAAAAA'", -1],
    ["the absence of a lane", "DELETE FROM lanes", -1],
    ["the absence of an entry", "DELETE FROM entries WHERE seq = 6", 6],
    ["the absence of the last entry", "DELETE FROM entries WHERE seq = 9", 9],
    ["an entry in another's place", of(6, "thread = 7"), 6],
    ["the end, behind which there is an entry", repeated(10), 10],
    ["the end, far behind which there is an entry", repeated(99), 99],
    ["the revision", "UPDATE threads SET rev = 9", -1],
    ["the revision, upwards", "UPDATE threads SET rev = 11", 10],
    ["the last hash", "UPDATE threads SET hash = ''", -1],
    ["the time of creation", "UPDATE threads SET created_at = created_at - 1", -1],
    ["the time of the last change", "UPDATE threads SET updated_at = updated_at + 1 - 2 * (updated_at & 1)", -1],
    ["the metadata", `UPDATE threads SET metadata = '{"status":"done"}'`, -1],
    ["the lanes of the thread", `UPDATE threads SET lanes = replace(lanes, '"since":0', '"since":1')`, -1],
    ["the lanes of the thread, as of 0.1", `UPDATE threads SET lanes = '{"active":"side","lanes":{}}'`, -1],
  ])("%s", async (_, statement, seq) => {
    const store = await tampered(statement);
    expect(await store.verify("t")).toMatchObject({ ok: false, bad: { seq } });
  });
});

describe("a reader does not get", () => {
  test.each([
    ["another payload", of(6, `payload = '{"n":7}'`), 6],
    ["a gap", "DELETE FROM entries WHERE seq = 6", 6],
    ["a history cut short", "DELETE FROM entries WHERE seq = 9", 9],
    ["a history cut short with its revision", "UPDATE threads SET rev = 9", -1],
    ["a history without entries", "UPDATE threads SET rev = 0", -1],
    ["another time of creation", "UPDATE threads SET created_at = created_at - 1", -1],
    ["other metadata", `UPDATE threads SET metadata = '{"status":"done"}'`, -1],
    ["a record that is not JSON", "UPDATE threads SET lanes = '{'", -1],
    ["a record of another shape", `UPDATE threads SET lanes = '{"active":1}'`, -1],
    ["a record that is a number", "UPDATE threads SET lanes = '1'", -1],
    ["another lane", of(6, "lane = 'other'"), 6],
    ["another measure", of(6, "measure = measure + 1"), 6],
    ["another state", of(6, `state = '{"active":"side"}'`), 6],
    ["another record", of(6, `record = '{"measure":9}'`), 6],
    ["another place of a record", of(6, "record_seq = 2"), 6],
    ["another checksum", of(6, "check_sum = 'AAAAAAAAAAAAAAAA'"), 6],
    ["a row without a checksum", of(6, "state = NULL, record = NULL, record_seq = NULL, check_sum = NULL"), 6],
    ["a row with a track", of(6, "track = '{}'"), 6],
    ["a row with a mark", of(6, "mark = 4"), 6],
  ])("%s", async (_, statement, seq) => {
    const store = await tampered(statement);
    await expect(store.load("t")).rejects.toMatchObject({
      name: "CorruptionError",
      code: "corrupt",
      threadId: "t",
      seq,
    });
  });

  test.each([
    ["the lane of an earlier row", "UPDATE entries SET record = '{}' WHERE seq = 4"],
    ["the record of a lane", `UPDATE lanes SET record = '{"measure":9}'`],
    ["the record of a lane, which is not JSON", "UPDATE lanes SET record = '{'"],
    ["the checksum of a lane", "UPDATE lanes SET check_sum = 'AAAAAAAAAAAAAAAA'"],
  ])("a tail or a fork that depends on %s", async (what, statement) => {
    const store = await tampered(statement);
    const isOfLane = what !== "the lane of an earlier row";
    const options = isOfLane ? { last: 3, lanes: ["side"] } : { last: 5 };
    await expect(store.load("t", options)).rejects.toMatchObject({ code: "corrupt", threadId: "t" });
    if (!isOfLane) return;
    await expect(store.fork("t", { atSeq: 8 })).rejects.toMatchObject({ code: "corrupt" });
    await expect(store.append("t", inLane("side", note()))).rejects.toMatchObject({ code: "corrupt" });
    expect((await store.load("t", { last: 3 }))?.rev).toBe(10); // the other lanes can still be read
  });
});

test("the entries before the damage can still be read", async () => {
  const store = await tampered(of(6, `payload = '{"n":7}'`));
  expect((await store.load("t", { upToSeq: 5 }))?.rev).toBe(6);
  expect(await Array.fromAsync(store.read("t", { fromSeq: 7 }))).toHaveLength(3);
  const seen: number[] = [];
  const reading = async () => {
    for await (const { seq } of store.read("t")) seen.push(seq);
  };
  await expect(reading()).rejects.toMatchObject({ code: "corrupt", seq: 6 });
  expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
});

test("an append never seals damage: other metadata stays damaged", async () => {
  const store = await tampered(`UPDATE threads SET metadata = '{"status":"done"}'`);
  await expect(store.append("t", note(), { metadata: { title: "new" } })).rejects.toMatchObject({ code: "corrupt" });
  expect(await store.verify("t")).toMatchObject({ ok: false });
});

test("checkpoints and blobs that were changed are damage, not other content", async () => {
  const path = fastFile();
  const store = sqliteStore(path);
  onTestFinished(() => store.close());
  await store.putCheckpoint("key", { step: 1 });
  const hash = await store.putBlob({ policy: "a" });
  tamper(path, "UPDATE records SET value = replace(replace(value, 'step', 'stop'), 'policy', 'malice')");
  await expect(store.getCheckpoint("key")).rejects.toMatchObject({ code: "corrupt" });
  await expect(store.getBlob(hash)).rejects.toMatchObject({ code: "corrupt" });
});

test("the entries before a damaged one can be forked", async () => {
  const path = fastFile();
  const store = sqliteStore(path);
  onTestFinished(() => store.close());
  const says = (role: string) => ({ kind: "ai_message", payload: { role, content: "Hi.", contextRef: "default" } });
  await store.append("t", ["user", "assistant", "user", "assistant"].map(says));
  tamper(path, of(2, `payload = payload || ' '`));
  expect(await store.fork("t", { atSeq: 1, newId: "good" })).toMatchObject({ rev: 2 });
  expect(await store.verify("good")).toMatchObject({ ok: true, entries: 2 });
  await expect(store.fork("t", { atSeq: 2 })).rejects.toMatchObject({ code: "corrupt", seq: 2 });
});
