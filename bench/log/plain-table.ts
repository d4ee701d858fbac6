import { DatabaseSync } from "node:sqlite";
import type postgres from "postgres";
import type { ChatMessage } from "./chats.ts";

/** As long as the ids heddle makes. */
function idOf(index: number): string {
  return `entry_01a2b3c4-5d6e-7f80-91a2-${String(index).padStart(12, "0")}`;
}

const START = 1_790_000_000_000;

/** A chat as most applications keep it: one table with a primary key, and an index by thread. */
export function plainSqlite(path: string, messages: readonly ChatMessage[]): void {
  const database = new DatabaseSync(path);
  database.exec(`
    CREATE TABLE IF NOT EXISTS messages (
      id TEXT PRIMARY KEY, thread TEXT NOT NULL, seq INTEGER NOT NULL, role TEXT NOT NULL, text TEXT NOT NULL, at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS messages_by_thread ON messages (thread, seq);
    BEGIN`);
  const insert = database.prepare("INSERT INTO messages (id, thread, seq, role, text, at) VALUES (?, ?, ?, ?, ?, ?)");
  const { count = 0 } = database.prepare("SELECT count(*) AS count FROM messages").get() ?? {};
  for (const [index, { thread, seq, role, text }] of messages.entries())
    insert.run(idOf(index + Number(count)), thread, seq, role, text, START + index);
  database.exec("COMMIT");
  database.close();
}

/** The same in a schema of its own. */
export async function plainPostgres(sql: postgres.Sql, messages: readonly ChatMessage[]): Promise<void> {
  await sql`create schema if not exists plain`;
  await sql`create table if not exists plain.messages (
    id text primary key, thread text not null, seq bigint not null, role text not null, text text not null,
    at bigint not null)`;
  await sql`create index if not exists messages_by_thread on plain.messages (thread, seq)`;
  const [found] = await sql<{ count: number }[]>`select count(*)::int as count from plain.messages`;
  for (const [index, { thread, seq, role, text }] of messages.entries())
    await sql`insert into plain.messages values (
      ${idOf(index + (found?.count ?? 0))}, ${thread}, ${seq}, ${role}, ${text}, ${START + index})`;
}
