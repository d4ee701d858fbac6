import { randomUUID } from "node:crypto";
import { AgentHost, defineAgent, type Refs, type ThreadStore } from "heddle";
import { type ChatHandler, chatHandler } from "heddle/ai-sdk";
import { sqliteStore } from "heddle/sqlite";
import { type ScriptedStep, scriptedModel } from "heddle/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { openStore } from "../../stores/postgres/open.ts";
import { fastFile } from "../../support/temp-folder.ts";

const stores: readonly [string, () => readonly [ThreadStore, ThreadStore]][] = [
  [
    "Postgres",
    () => {
      const tenant = randomUUID();
      return [openStore({ tenant }), openStore({ tenant })];
    },
  ],
  [
    "SQLite",
    () => {
      const file = fastFile();
      return [sqliteStore(file), sqliteStore(file)];
    },
  ],
];

/** Answers with its name and the prompt that it is shown. */
function model(name: string) {
  const step: ScriptedStep = ({ system }) => `${name}: ${system}`;
  return scriptedModel(Array.from({ length: 500 }, () => step));
}

interface Context {
  readonly city: string;
}

/** A process with a chat. The page says in which city its user is. */
function node(store: ThreadStore, asked: readonly string[]): ChatHandler {
  const agent = defineAgent({
    model: "small",
    models: { small: model("small"), large: model("large") },
    systemPrompt: (context: Context | undefined) => `In ${context?.city}.`,
  });
  const warn = () => undefined;
  const context = (_: string, { city }: Refs): Context => ({ city: String(city) }); // of an ask of another process
  const host = AgentHost.create({ agent, store, warn, context });
  onTestFinished(() => host.stop());
  const ask = (_: Request, body: { readonly [name: string]: unknown }) => ({
    ...(asked.includes("model") && { model: "large" }),
    ...(asked.includes("context") && {
      context: { city: String(body["city"]) },
      refs: { city: String(body["city"]) },
    }),
  });
  return chatHandler({ host, authorize: () => true, ask: ask as never }); // a page may also leave out the context
}

/** Posts a message, and again while the thread is busy. Resolves to the stream. */
async function post(chat: ChatHandler, thread: string, city: string): Promise<string> {
  const messages = [{ id: `${thread} ${city}`, role: "user", parts: [{ type: "text", text: city }] }];
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ id: thread, messages, city });
  const response = await chat.POST(new Request("http://localhost/api/chat", { method: "POST", headers, body }));
  const text = await response.text();
  if (response.ok) return text;
  expect(JSON.parse(text)).toMatchObject({ error: { retryable: true } });
  return post(chat, thread, city);
}

describe.each(stores)("many posts at once, to two processes on %s", (_name, open) => {
  test.each([[["model"]], [["context"]], [["model", "context"]], [[]]])(
    "are answered with the values of their asks: %j",
    async (asked) => {
      const [store, other] = open();
      const holder = node(store, asked);
      const second = node(other, asked);
      for (const [index, count] of [3, 8].entries()) {
        const thread = `t${index}`;
        await post(holder, thread, "Paris"); // this process holds the idle thread
        const cities = Array.from({ length: count }, (_, number) => `Bern ${number}`);
        const chats = index % 2 === 0 ? [second] : [second, second, holder];
        const streams = await Promise.all(
          cities.map((city, at) => post(chats[at % chats.length] ?? second, thread, city)),
        );
        expect(streams.filter((stream) => stream.includes('"error"'))).toEqual([]);
        const log = (await store.load(thread))?.toArray() ?? [];
        expect(log.filter(({ kind }) => kind !== "ai_message")).toEqual([]);
        const payloads = log.map(({ payload }) => payload as { readonly [name: string]: unknown });
        const words = payloads.filter(({ role }) => role === "user").map(({ content }) => content);
        expect(words.toSorted()).toEqual(["Paris", ...cities].toSorted());
        const answers = log.filter(({ payload }) => payload["role"] === "assistant");
        for (const { refs, payload } of answers) {
          const ask = log.find((entry) => entry.refs.requestId === refs.requestId && "options" in entry.payload);
          const city = asked.includes("context") ? ask?.payload["content"] : "undefined";
          expect(payload["content"]).toBe(`${asked.includes("model") ? "large" : "small"}: In ${city}.`);
        }
        expect(answers.length).toBeGreaterThan(1);
      }
    },
  );
});
