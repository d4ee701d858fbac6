import { DatabaseSync } from "node:sqlite";
import { memoryStore, openStore, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import postgres from "postgres";
import { reasonOf } from "../support/child.ts";
import type { Row, Table } from "../support/table.ts";
import type { Bench } from "./bench.ts";
import { CHAT_MESSAGES, chat, FIRST_CHAT } from "./chats.ts";
import { plainPostgres, plainSqlite } from "./plain-table.ts";
import { type PostgresDatabase, postgresDatabase } from "./postgres-database.ts";

/** Bytes by table, index or column, the largest first. */
type Sizes = ReadonlyMap<string, number>;

interface Measured {
  readonly plain: number;
  /** Without the first page of each table and index. */
  readonly heddle: number;
  readonly parts: Sizes;
  readonly columns: Sizes;
}

/** The bytes of 1,000 short messages of chats with an agent, beside a plain table with the same words. */
export async function chatBytes({ scratch, budgets }: Bench): Promise<Table> {
  const sqlite = await inSqlite(scratch.file("chats.db"), scratch.file("plain.db"));
  const answer = await bytesOfAnAnswer();
  const inPostgres = await tryPostgres();
  const server = "unavailable" in inPostgres ? undefined : inPostgres;
  return {
    id: "chat-bytes",
    title: `Bytes on disk of ${CHAT_MESSAGES.length} short chat messages with an agent, and of a plain table with the same words`,
    columns: [
      { key: "bytes", label: "bytes", unit: "bytes" },
      { key: "message", label: "a message", unit: "bytes" },
      { key: "ratio", label: "to the plain table", unit: "times" },
    ],
    rows: [
      ...rowsOf("sqlite", sqlite),
      ...("unavailable" in inPostgres
        ? [{ name: "postgres", values: {}, unavailable: inPostgres.unavailable }]
        : rowsOf("postgres", inPostgres)),
      ...[...answer].map(([name, bytes]): Row => ({ name, values: { message: bytes } })),
    ],
    checks: [
      budgets.atMost("chatBytesToPlainTable", sqlite.heddle / sqlite.plain, {
        what: "SQLite: bytes of short chats to a plain table",
        unit: "times",
      }),
      budgets.atMost("postgresChatBytesToPlainTable", server && server.heddle / server.plain, {
        what: "Postgres: bytes of short chats to a plain table",
        unit: "times",
      }),
    ],
    notes: [
      "The plain table has id, thread, seq, role, text and time, a primary key and an index by thread. Both were vacuumed.",
      "A first chat of two messages is not counted: it takes the first page of each table and index.",
      "The largest part beside the words is the record of an answer (call, end and refs: 600 bytes), then hash, salt, checksum and indexes.",
      "A column of entries is its content, without the headers of rows and pages.",
    ],
  };
}

function rowsOf(database: string, { plain, heddle, parts, columns }: Measured): readonly Row[] {
  const row = (name: string, bytes: number): Row => ({
    name,
    values: { bytes, message: bytes / CHAT_MESSAGES.length, ratio: bytes / plain },
  });
  const large = (sizes: Sizes, indent: string): readonly Row[] =>
    [...sizes]
      .filter(([, bytes]) => bytes >= CHAT_MESSAGES.length)
      .map(([name, bytes]) => row(`${indent}${name}`, bytes));
  return [
    row(`plain table, ${database}`, plain),
    row(`heddle/${database}`, heddle),
    ...large(parts, "  "),
    ...large(columns, "    entries."),
  ];
}

function sorted(sizes: Iterable<readonly [string, number]>): Sizes {
  return new Map([...sizes].toSorted(([, a], [, b]) => b - a));
}

/** The growth of each part from one measurement to another. */
function growth(before: Sizes, after: Sizes): Sizes {
  return sorted([...after].map(([name, bytes]) => [name, bytes - (before.get(name) ?? 0)] as const));
}

function total(sizes: Sizes): number {
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
}

async function inSqlite(path: string, plainPath: string): Promise<Measured> {
  const store = sqliteStore(path, { mode: "relaxed" });
  await chat(store, FIRST_CHAT);
  plainSqlite(plainPath, FIRST_CHAT);
  const before = pagesOf(path);
  const plainBefore = pagesOf(plainPath);
  await chat(store);
  await store.close();
  plainSqlite(plainPath, CHAT_MESSAGES);
  vacuum(path);
  vacuum(plainPath);
  const parts = growth(before, pagesOf(path));
  const plain = total(growth(plainBefore, pagesOf(plainPath)));
  const database = new DatabaseSync(path, { readOnly: true });
  const names = database.prepare("SELECT name FROM pragma_table_info('entries')").all();
  const columns = names.map(({ name }) => {
    const sum = database.prepare(`SELECT sum(octet_length("${String(name)}")) AS bytes FROM entries`).get();
    return [String(name), Number(sum?.["bytes"])] as const;
  });
  database.close();
  return { plain, heddle: total(parts), parts, columns: sorted(columns) };
}

function vacuum(path: string): void {
  const database = new DatabaseSync(path);
  database.exec("VACUUM");
  database.close();
}

function pagesOf(path: string): Sizes {
  const database = new DatabaseSync(path, { readOnly: true });
  const found = database.prepare("SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name").all();
  database.close();
  return new Map(found.map(({ name, bytes }) => [String(name), Number(bytes)]));
}

async function tryPostgres(): Promise<Measured | { readonly unavailable: string }> {
  let database: PostgresDatabase;
  try {
    database = await postgresDatabase();
  } catch (error) {
    return { unavailable: reasonOf(error) };
  }
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  try {
    return await inPostgres(await openStore(database.url), sql);
  } finally {
    await sql.end({ timeout: 5 });
    await database.drop();
  }
}

async function inPostgres(store: ThreadStore, sql: postgres.Sql): Promise<Measured> {
  await chat(store, FIRST_CHAT);
  await plainPostgres(sql, FIRST_CHAT);
  const before = await relationsOf(sql, "heddle");
  const plainBefore = await relationsOf(sql, "plain");
  await chat(store);
  await store.close();
  await plainPostgres(sql, CHAT_MESSAGES);
  await sql`vacuum full`;
  const parts = growth(before, await relationsOf(sql, "heddle"));
  const plain = total(growth(plainBefore, await relationsOf(sql, "plain")));
  const names = await sql<{ name: string }[]>`
    select column_name as name from information_schema.columns where table_schema = 'heddle' and table_name = 'entries'`;
  const columns: (readonly [string, number])[] = [];
  for (const { name } of names) {
    const [found] = await sql<{ bytes: number }[]>`
      select coalesce(sum(pg_column_size(${sql(name)})), 0)::int as bytes from heddle.entries`;
    columns.push([name, found?.bytes ?? Number.NaN]);
  }
  return { plain, heddle: total(parts), parts, columns: sorted(columns) };
}

/** Tables with their side tables for large values, and indexes. */
async function relationsOf(sql: postgres.Sql, schema: string): Promise<Sizes> {
  const found = await sql<{ name: string; bytes: number }[]>`
    select c.relname as name, (case c.relkind when 'r' then pg_table_size(c.oid) else pg_relation_size(c.oid) end)::int as bytes
    from pg_class c where c.relnamespace = ${schema}::regnamespace and c.relkind in ('r', 'i')`;
  return new Map(found.map(({ name, bytes }) => [name, bytes]));
}

/** The JSON of the last answer of the chats, by its fields: what the runtime records for each one. */
async function bytesOfAnAnswer(): Promise<Sizes> {
  const store = memoryStore();
  await chat(store);
  const thread = await store.load(CHAT_MESSAGES.at(-1)?.thread ?? "");
  const entry = thread?.toArray().at(-1);
  const sizes = (label: string, value: object) =>
    Object.entries(value).map(
      ([name, part]) => [`${label}${name}`, JSON.stringify({ [name]: part }).length - 1] as const,
    );
  const { call = {}, ...payload } = entry?.payload ?? {};
  return new Map([
    ...sizes("an answer: ", payload),
    ...sizes("an answer: call.", Object(call)),
    ["an answer: refs", JSON.stringify(entry?.refs).length] as const,
  ]);
}
