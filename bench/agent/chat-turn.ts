import { convertToModelMessages, streamText, type UIMessage } from "ai";
import { AgentHost, defineAgent } from "heddle";
import { chatHandler } from "heddle/ai-sdk";
import { postgresStore } from "heddle/postgres";
import postgres from "postgres";
import { type PostgresDatabase, postgresDatabase } from "../log/postgres-database.ts";
import type { Check } from "../support/budgets.ts";
import type { Lap } from "../support/lap.ts";
import { race } from "../support/race.ts";
import type { Row, Table } from "../support/table.ts";
import type { Bench } from "./bench.ts";
import { ANSWER, askOf, SYSTEM_PROMPT } from "./conversation.ts";
import { instantModel } from "./model.ts";

const LENGTHS = [4, 400] as const;
const WARM_UP = 10;

type Route = (request: Request) => Promise<Response>;

/** A route of a chat page, with a history of its own for each turn. */
interface Chat {
  readonly route: Route;
  /** Writes a history, which is read in another moment, as that of a page that was opened again. */
  begin(id: string, messages: readonly Said[]): Promise<unknown>;
  close(): Promise<void>;
}

interface Said {
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** One turn of a chat on Postgres, from the post of the page to the first text, beside a route that stores rows. */
export async function chatTurn({ sizes, budgets }: Bench): Promise<Table> {
  const database = await postgresDatabase();
  const chats = { heddle: heddleChat(database), plain: await plainChat(database) };
  const rows: Row[] = [];
  const checks: Check[] = [];
  try {
    for (const length of LENGTHS) {
      const messages = Array.from({ length }, (_, at) => saidAt(at));
      const turn = (chat: Chat, ids: Iterator<string>) => (): Promise<Lap> =>
        oneTurn(chat, ids.next().value ?? "", messages.length);
      const begun = async (chat: Chat): Promise<Iterator<string>> => {
        const ids = Array.from({ length: WARM_UP + sizes.chatTurns }, () => crypto.randomUUID());
        for (const id of ids) await chat.begin(id, messages);
        return ids.values();
      };
      const contenders = {
        heddle: turn(chats.heddle, await begun(chats.heddle)),
        plain: turn(chats.plain, await begun(chats.plain)),
      };
      const { heddle, plain } = await race(contenders, { rounds: sizes.chatTurns, warmup: WARM_UP });
      const ratio = heddle.over(plain);
      rows.push({ name: `heddle: chatHandler, ${length} messages before`, values: { p50: heddle.p50 } });
      rows.push({ name: `ai: streamText and rows, ${length} messages before`, values: { p50: plain.p50, ratio } });
      checks.push(
        budgets.atMost("chatTurnToPlainRoute", ratio, {
          what: `chat turn after ${length} messages, to the first text, to a plain route`,
          unit: "times",
        }),
      );
    }
  } finally {
    await chats.heddle.close();
    await chats.plain.close();
    await database.drop();
  }
  return {
    id: "chat-turn",
    title: `Postgres ${database.version}: a turn of a chat page, to the first text, the medians of ${sizes.chatTurns} rounds`,
    columns: [
      { key: "p50", label: "clock", unit: "ms" },
      { key: "ratio", label: "ours to it", unit: "times" },
    ],
    rows,
    checks,
    notes: [
      "Each turn is the first of its thread in this process. The model is shown the whole history by both, and answers at once.",
      "All histories are written before the first turn. Both store the message durably before they call the model; the plain route then reads its rows.",
    ],
  };
}

function saidAt(index: number): Said {
  return index % 2 === 0 ? { role: "user", content: askOf(index) } : { role: "assistant", content: ANSWER };
}

async function oneTurn({ route }: Chat, id: string, length: number): Promise<Lap> {
  const message = { id: `${id}-next`, role: "user", parts: [{ type: "text", text: askOf(length) }] };
  const body = JSON.stringify({ id, messages: [message] });
  const headers = { "content-type": "application/json" };
  const started = performance.now();
  const { body: answer } = await route(new Request("http://localhost/api/chat", { method: "POST", headers, body }));
  let ms: number | undefined;
  let text = "";
  for await (const part of answer?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    if (ms === undefined && text.includes('"text-delta"')) ms = performance.now() - started;
  }
  if (ms === undefined || !text.includes(ANSWER.slice(0, 50))) throw new Error(`The turn was answered: ${text}`);
  return { operations: 1, ms, each: [ms] };
}

function heddleChat({ url }: PostgresDatabase): Chat {
  const store = postgresStore(url);
  const model = instantModel(false, { messages: 0 });
  const agent = defineAgent({ model, systemPrompt: SYSTEM_PROMPT, contextPolicy: { maxInputTokens: 200_000 } });
  const host = AgentHost.create({ agent, store });
  /** Real turns, which other threads begin with. */
  const historyOf = async (messages: readonly Said[]) => {
    const id = `history_${messages.length}`;
    for (const { role, content } of (await store.load(id)) === undefined ? messages : [])
      if (role === "user") await (await host.ask(id, content)).result;
    return (await store.load(id))?.toArray().map(({ kind, payload, refs }) => ({ kind, payload, refs })) ?? [];
  };
  return {
    route: chatHandler({ host, authorize: () => ({ owner: "ada" }) }),
    begin: async (id, messages) => store.append(id, await historyOf(messages), { owner: "ada" }),
    async close() {
      await host.stop();
      await store.close();
    },
  };
}

/** As the documentation of the AI SDK stores messages, with a row for each of them. */
async function plainChat({ url }: PostgresDatabase): Promise<Chat> {
  const sql = postgres(url, { onnotice: () => {} });
  await sql`create table messages (at bigint generated always as identity primary key, chat text, message jsonb)`;
  await sql`create index on messages (chat, at)`;
  const add = (chat: string, messages: readonly object[]) =>
    sql`insert into messages ${sql(messages.map((message) => ({ chat, message: JSON.stringify(message) })))}`;
  const model = instantModel(false, { messages: 0 }) as Parameters<typeof streamText>[0]["model"];
  return {
    async route(request) {
      const { id, messages: posted } = (await request.json()) as { id: string; messages: UIMessage[] }; // the post above
      await add(id, posted);
      const rows = await sql<{ message: string }[]>`select message from messages where chat = ${id} order by at`;
      const originalMessages = rows.map(({ message }) => JSON.parse(message) as UIMessage); // as they were inserted
      const messages = await convertToModelMessages(originalMessages);
      const result = streamText({ model, instructions: SYSTEM_PROMPT, messages });
      return result.toUIMessageStreamResponse({
        originalMessages,
        onFinish: ({ responseMessage }) => void add(id, [responseMessage]),
      });
    },
    begin: (chat, messages) =>
      add(
        chat,
        messages.map(({ role, content }, at) => ({
          id: `${chat}-${at}`,
          role,
          parts: [{ type: "text", text: content }],
        })),
      ),
    close: () => sql.end(),
  };
}
