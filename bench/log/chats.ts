import { AgentServer, defineAgent, type ThreadStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import { prose } from "../support/text.ts";

const CONVERSATIONS = 20;
const ASKS = 25;

/** One of the messages that all chats have together. */
export interface ChatMessage {
  readonly thread: string;
  readonly seq: number;
  readonly role: "user" | "assistant";
  readonly text: string;
}

/** 1,000 short messages: the words of 500 asks and of their answers, of different lengths. */
export const CHAT_MESSAGES: readonly ChatMessage[] = Array.from({ length: CONVERSATIONS }, (_, chat) =>
  Array.from({ length: ASKS }, (_, turn): readonly ChatMessage[] => {
    const thread = `thread_01a2b3c4-5d6e-7f80-91a2-${String(chat).padStart(12, "0")}`;
    const seed = chat * ASKS + turn;
    return [
      { thread, seq: 2 * turn, role: "user", text: prose(`Ask ${turn}:`, seed, 20 + ((seed * 37) % 81)) },
      {
        thread,
        seq: 2 * turn + 1,
        role: "assistant",
        text: prose(`Answer ${turn}:`, seed + 1, 40 + ((seed * 71) % 161)),
      },
    ];
  }),
).flat(2);

/** A chat before the others, so that no table is empty. */
export const FIRST_CHAT: readonly ChatMessage[] = CHAT_MESSAGES.slice(0, 2).map((message) => ({
  ...message,
  thread: "thread_01a2b3c4-5d6e-7f80-91a2-ffffffffffff",
}));

/** Has the same conversations with an agent, so that the store has all that the runtime writes for them. */
export async function chat(store: ThreadStore, all = CHAT_MESSAGES): Promise<void> {
  for (const [threadId, messages] of Map.groupBy(all, ({ thread }) => thread)) {
    const answers = messages.flatMap(({ role, text }) => (role === "assistant" ? [text] : []));
    const agent = defineAgent({ model: scriptedModel(answers), systemPrompt: "You are a helpful assistant." });
    const server = await AgentServer.start({ agent, store, threadId });
    for (const { role, text } of messages) if (role === "user") await (await server.ask(text)).result;
    await server.stop();
  }
}
