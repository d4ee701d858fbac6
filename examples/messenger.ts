// A messenger bot of short-lived processes: bursts, updates that come twice, reminders, and a person who takes over.
import { setTimeout as sleep } from "node:timers/promises";
import { AgentHost, defineAgent, defineTool, HeddleError, jsonSchema, memoryStore } from "heddle";
import { chatTurn } from "heddle/ai-sdk";
import { scriptedModel } from "heddle/testing";

const store = memoryStore(); // in production a store that all processes share, such as postgresStore(url)
const sent: string[] = []; // the messenger, which takes a message once by its id
const timers: Promise<void>[] = []; // the timers of the platform, each of which starts a process

interface Update {
  readonly id: string;
  readonly chat: string;
  readonly text: string;
}

const looksUp = { calls: [{ name: "tables", arguments: { date: "Friday" } }] };
const reminds = { calls: [{ name: "remind", arguments: { text: "bring the cake", inMs: 50 } }] };
const model = scriptedModel(
  [looksUp, "A table for two on Friday, by the window.", reminds, "I will.", "Bring the cake.", "The table is yours."],
  { order: "any" },
);

/** The search for tables takes until the whole burst is in. */
let endSearch = (): void => undefined;
const search = new Promise<void>((resolve) => {
  endSearch = resolve;
});
const taken = new Set<string>();

const tables = defineTool({
  description: "The free tables of an evening",
  inputSchema: jsonSchema<{ date: string }>({ type: "object", properties: { date: { type: "string" } } }),
  execute: async ({ date }) => {
    await search;
    return `two tables on ${date}`;
  },
});

/** The agent of one chat. A reminder is an ask that the inbox keeps until its time. */
function hostOf(chat: string): AgentHost {
  const remind = defineTool({
    description: "Reminds the user later",
    inputSchema: jsonSchema<{ text: string; inMs: number }>({ type: "object" }),
    execute: async ({ text, inMs }, { idempotencyKey: id }) => {
      await store.post(chat, { id, type: "ask", content: `Remind me now: ${text}`, at: inMs });
      return "set";
    },
  });
  const agent = defineAgent({
    model,
    tools: { tables, remind },
    onRequestEnd: ({ requestId, text }) => deliver(requestId, text),
  });
  return AgentHost.create({ agent, store, leaseTtlMs: 5_000, scheduler: { wake: startTimer } }) as AgentHost;
}

/** A process for one update. A message to a chat that another process answers is a part of that answer. */
async function onUpdate({ id, chat, text }: Update): Promise<void> {
  if (await hasPerson(chat)) {
    await store.append(chat, { id, kind: "message", payload: { role: "user", content: text } });
    return;
  }
  const host = hostOf(chat);
  const { request } = await chatTurn(host, chat, [{ id, role: "user", parts: [{ type: "text", text }] }] as never);
  taken.add(id);
  if (taken.size === burst.length) endSearch();
  await request.result;
  await host.stop();
}

/** A process that the platform starts at a time. */
function startTimer(chat: string, at: number): void {
  const run = async (): Promise<void> => {
    await sleep(Math.max(0, at - Date.now()));
    const host = hostOf(chat);
    try {
      await host.advance(chat);
    } catch (error) {
      if (!HeddleError.isInstance(error) || error.code !== "thread_held") throw error;
      startTimer(chat, Date.now() + 100); // the process before has not ended yet
    }
    await host.stop();
  };
  timers.push(run());
}

function deliver(id: string, text: string): void {
  if (!sent.some((one) => one.startsWith(id))) sent.push(`${id} ${text}`);
}

async function hasPerson(chat: string): Promise<boolean> {
  const { threads } = await store.list({ prefix: chat, order: "id", limit: 1 });
  return threads[0]?.metadata["person"] !== undefined && threads[0].metadata["person"] !== null;
}

const chat = "chat_7";
const burst = ["A table for Friday?", "For two.", "By the window, please."];
const updates = burst.map((text, index) => ({ id: `update_${index}`, chat, text }));
await Promise.all(updates.map(onUpdate));
await onUpdate(updates[0] as Update); // the messenger sends it again
console.log(`${burst.length} updates, one of them twice: ${sent.length} answer, ${model.requests.length} model calls`);

await onUpdate({ id: "update_3", chat, text: "Remind me of the cake." });
for (let timer = timers.shift(); timer !== undefined; timer = timers.shift()) await timer;

await store.append(chat, [], { metadata: { person: "Ann" } }); // a person takes over
await onUpdate({ id: "update_4", chat, text: "Is there a discount?" });
const answer = { role: "assistant", content: "Ten percent, as we met." };
await store.append(chat, { kind: "message", payload: answer, refs: { by: "Ann" } });
await store.append(chat, [], { metadata: { person: null } }); // and hands it back
await onUpdate({ id: "update_5", chat, text: "Then I take it." });
const shown = (await store.load(chat))?.toMessages({ format: "neutral" }).slice(-4) ?? [];
for (const { role, content } of shown) console.log(`${role}: ${content}`);
for (const message of sent) console.log(message.replace(/^\S+ /, "> "));
