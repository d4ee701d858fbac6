// What docs/format.md says, recomputed with node:crypto and JSON.stringify from a raw query: nothing of Heddle's hashing.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type EntryInput, openStore } from "heddle";
import { describe, expect, test } from "vitest";
import { inScratch } from "./built.ts";
import { pageText } from "./markdown.ts";

/** The query of the page for the rows of a fork, which is right for any thread. */
function rowsOf(threadId: string): string {
  const query = /```sql\n(WITH RECURSIVE part .*?)```/s.exec(pageText("docs/format.md"))?.[1] ?? "";
  const rows = query.replace("'thread_2'", `'${threadId}'`);
  return `SELECT e.*, b.payload AS aside FROM (${rows}) e LEFT JOIN big_payloads b ON b.key = e.big ORDER BY e.seq`;
}

const everyShape: readonly EntryInput[] = [
  { kind: "message", payload: { role: "user", content: 'W\u00fcrfel \u{1F3B2}\u0000\u2028 "quoted" \\ /' } },
  { kind: "message", payload: { zebra: 1, apple: { y: 1, x: [null, 0.1, 1e21] }, "2": "two", "1": "one" } },
  { id: 'id with "quotes" and \u{1F9F6}', kind: 'odd kind " \u2029', at: -5, v: 7 },
  { refs: { requestId: "r1", iteration: 3, done: false, none: null, "2": "b", "1": "a", 'odd "key"': "\u0007" } },
  { payload: { big: "0123456789".repeat(4_000) } },
  { payload: { contextRef: "research", text: "on a lane of its own" } },
  {
    payload: { text: "as the runtime writes it", requestId: "r2", runId: "run2" },
    refs: { requestId: "r2", runId: "run2", callId: "c2" },
  },
];

interface Row {
  readonly [column: string]: string | number | null;
}

describe("the stored format", () => {
  test("every digest and hash follows from the columns as docs/format.md says", async () => {
    await inScratch(async (folder) => {
      const rows = await written(folder, "thread_1");
      expect(rows).toHaveLength(everyShape.length);
      expect(rows.filter(({ big }) => big !== null)).toHaveLength(1);
      expect(
        rows.filter(({ payload, refs }) => String(refs).startsWith(" ") && !String(payload).includes("r2")),
      ).toHaveLength(1);
      expectChain(rows);
    });
  });

  test("a fork has the rows of its parent, hash by hash, and the chain continues", async () => {
    await inScratch(async (folder) => {
      const rows = await written(folder, "thread_2");
      expect(rows).toHaveLength(4);
      expectChain(rows);
    });
  });

  test("the measure of a lane is the sum of a quarter of each payload's bytes", async () => {
    await inScratch(async (folder) => {
      const sums = new Map<unknown, number>();
      for (const row of await written(folder, "thread_1")) {
        const sum = (sums.get(row["lane"]) ?? 0) + Math.floor(Buffer.byteLength(payloadOf(row)) / 4);
        sums.set(row["lane"], sum);
        expect(row["measure"]).toBe(sum);
      }
      expect([...sums.keys()]).toEqual(["default", "research"]);
    });
  });

  test("the seal of a thread, checkpoints and blobs are hashed as docs/format.md says", async () => {
    await inScratch(async (folder) => {
      const database = await fileWith(folder);
      const thread = database.prepare("SELECT * FROM threads WHERE id = 'thread_1'").get() as unknown as Row;
      const plain = ["id", "rev", "hash", "created_at", "updated_at"].map((column) => thread[column]);
      const json = ["metadata", "lanes"].map((column): unknown => JSON.parse(String(thread[column])));
      expect(thread["seal"]).toBe(sha256(JSON.stringify(["heddle.head/2", ...plain, ...json])));
      expect(thread["earlier_mark"]).toBe("null");
      const lanes = database.prepare("SELECT * FROM lanes WHERE thread = ?").all(thread["key"] ?? null);
      expect(lanes.map(({ lane }) => lane)).toEqual(["research"]);
      for (const { lane, seq, first_seq, record_seq, record, check_sum } of lanes) {
        const hashed = ["heddle.lane/1", thread["id"], lane, seq, first_seq, record_seq, record];
        expect(check_sum).toBe(sha256(JSON.stringify(hashed)).slice(0, 16));
      }
      const records = database.prepare("SELECT space, key, value FROM records ORDER BY space, key").all();
      const [first, second, checkpoint] = records.toSorted((a, b) =>
        a["space"] === b["space"] ? 0 : a["space"] === "blob" ? -1 : 1,
      );
      for (const blob of [first, second]) {
        const { key, value } = blob ?? {};
        const hashed = typeof value === "string" ? value : Buffer.concat([Buffer.of(0), value as Uint8Array]);
        expect(key).toBe(createHash("sha256").update(hashed).digest("base64url"));
      }
      expect(checkpoint?.["value"]).toBe(`${sha256('{"step":3}')}\n{"step":3}`);
      database.close();
    });
  });

  test("docs/format.md names every column of every table", async () => {
    await inScratch(async (folder) => {
      const database = await fileWith(folder);
      const columns = database
        .prepare("SELECT DISTINCT c.name FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type = 'table'")
        .all();
      database.close();
      const page = pageText("docs/format.md");
      expect(columns.map(({ name }) => String(name)).filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
    });
  });
});

function expectChain(rows: readonly Row[]): void {
  let prev = "";
  let above: Row | undefined;
  for (const row of rows) {
    const digest = sha256(`${row["salt"]}${payloadOf(row)}`);
    const { id, seq, at, v, kind } = row;
    const fields = { id, seq, at, v: v ?? 1, kind, refs: JSON.parse(String(row["refs"])), digest };
    expect(row["prev"]).toBe(row["thread"] === above?.["thread"] ? "" : prev);
    expect(row["hash"]).toBe(sha256(JSON.stringify(["heddle.row/1", prev, fields])));
    expect(row["salt"]).toMatch(/^[\w-]{22}$/);
    expect(row["hash"]).toMatch(/^[\w-]{43}$/);
    const derived = ["hash", "lane", "measure", "state", "record", "record_seq"].map((column) => row[column]);
    expect(row["check_sum"]).toBe(sha256(JSON.stringify(["heddle.columns/1", ...derived])).slice(0, 16));
    expect([row["mark"], row["track"]]).toEqual([null, null]);
    prev = String(row["hash"]);
    above = row;
  }
}

/** With the ids that are only in the refs. */
function payloadOf(row: Row): string {
  const stored = String(row["payload"] ?? row["aside"]);
  if (!String(row["refs"]).startsWith(" ")) return stored;
  const { requestId, runId } = JSON.parse(String(row["refs"])) as { requestId: string; runId: string };
  return JSON.stringify({ ...(JSON.parse(stored) as object), requestId, runId });
}

function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("base64url");
}

async function written(folder: string, threadId: string): Promise<readonly Row[]> {
  const database = await fileWith(folder);
  const rows = database.prepare(rowsOf(threadId)).all() as unknown as readonly Row[];
  database.close();
  return rows;
}

/** A file with a thread of every shape, a fork that goes on, a checkpoint and two blobs. */
async function fileWith(folder: string): Promise<DatabaseSync> {
  const path = join(folder, "format.db");
  const store = await openStore(`sqlite:${path}`);
  await store.append("thread_1", everyShape, { metadata: { title: "\u00dcber" } });
  await store.fork("thread_1", { atSeq: 2, newId: "thread_2" });
  await store.append("thread_2", { payload: { text: "another way" } });
  await store.putCheckpoint("job", { step: 3 });
  await store.putBlob({ json: true });
  await store.putBlob(Uint8Array.of(1, 2, 3));
  await store.claim("thread_1", { holder: "me", ttlMs: 1_000 });
  await store.close();
  return new DatabaseSync(path, { readOnly: true });
}
