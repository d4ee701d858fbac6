// A messenger bot that lives for one update: it stores the message, answers from the chat so far, and prints the milliseconds to the
// first text of its answer. With --history it only writes a chat.
import { instantModel } from "../agent/model.ts";

const [name, url = "", what = ""] = process.argv.slice(2);
const TURNS = 10;
const CHAT = "chat_1";
const model = instantModel(false, { messages: 0 });
const turns = what === "--history" ? Array.from({ length: TURNS }, (_, n) => `update_${n}`) : [what];
const isPostgres = url.startsWith("postgres");
const answer = name === "heddle" ? heddle : isPostgres ? plainPostgres : plainSqlite;
const started = performance.now();
console.log(JSON.stringify({ ms: await answer() }));

async function heddle(): Promise<number> {
  const { AgentHost, defineAgent } = await import("heddle");
  const store = isPostgres
    ? (await import("heddle/postgres")).postgresStore(url)
    : (await import("heddle/sqlite")).sqliteStore(url);
  const agent = defineAgent({ model, contextPolicy: { maxInputTokens: 8000 } });
  const host = AgentHost.create({ agent, store });
  let ms = 0;
  for (const update of turns) {
    const request = await host.ask(CHAT, "Hi.", { requestId: update });
    for await (const _text of request.textStream) ms ||= performance.now() - started;
    await request.result;
  }
  await host.stop();
  await store.close();
  return ms;
}

interface Rows {
  /** False when the update was stored before. */
  readonly add: (id: string, role: string, content: string) => Promise<boolean>;
  readonly last: () => Promise<readonly { readonly role: "user" | "assistant"; readonly content: string }[]>;
}

async function plain(open: () => Promise<Rows>): Promise<number> {
  const { streamText } = await import("ai");
  const rows = await open();
  let ms = 0;
  for (const update of turns) {
    if (!(await rows.add(update, "user", "Hi."))) continue;
    const messages = [...(await rows.last())];
    const result = streamText({ model: model as Parameters<typeof streamText>[0]["model"], messages });
    let text = "";
    for await (const delta of result.textStream) {
      ms ||= performance.now() - started;
      text += delta;
    }
    await rows.add(`${update} answer`, "assistant", text);
  }
  return ms;
}

async function plainSqlite(): Promise<number> {
  return plain(async () => {
    const { DatabaseSync } = await import("node:sqlite");
    const database = new DatabaseSync(url);
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000");
    database.exec(
      "CREATE TABLE IF NOT EXISTS messages (id TEXT PRIMARY KEY, chat TEXT, role TEXT, content TEXT) STRICT",
    );
    const add = database.prepare("INSERT OR IGNORE INTO messages (id, chat, role, content) VALUES (?, ?, ?, ?)");
    const last = database.prepare("SELECT role, content FROM messages WHERE chat = ? ORDER BY rowid");
    return {
      add: async (id, role, content) => add.run(id, CHAT, role, content).changes === 1,
      last: async () => last.all(CHAT) as unknown as Awaited<ReturnType<Rows["last"]>>, // its columns
    };
  });
}

async function plainPostgres(): Promise<number> {
  const { default: postgres } = await import("postgres");
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const ms = await plain(async () => {
    if (what === "--history")
      await sql`create table messages (at bigint generated always as identity, id text primary key, chat text, role text, content text)`;
    return {
      add: async (id, role, content) =>
        (
          await sql`insert into messages (id, chat, role, content) values (${id}, ${CHAT}, ${role}, ${content}) on conflict do nothing`
        ).count === 1,
      last: () =>
        sql<{ role: "user"; content: string }[]>`select role, content from messages where chat = ${CHAT} order by at`,
    };
  });
  await sql.end();
  return ms;
}
