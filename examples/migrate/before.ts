// A chat with a model picker, three tools and an approval, for a page with useChat.
import { anthropic } from "@ai-sdk/anthropic";
import { openai } from "@ai-sdk/openai";
import { convertToModelMessages, isStepCount, streamText, tool, type UIMessage } from "ai";
import Database from "better-sqlite3";
import { z } from "zod";

const file = process.env["CHAT_DB"] ?? "chat.db";
const db = new Database(file).exec("CREATE TABLE IF NOT EXISTS chats (id TEXT PRIMARY KEY, messages TEXT)");
const saved = db.prepare("SELECT messages FROM chats WHERE id = ?").pluck();
const save = db.prepare("REPLACE INTO chats VALUES (?, ?)");
export const load = async (id: string): Promise<UIMessage[]> => JSON.parse(String(saved.get(id) ?? "[]"));
const models = { gpt: openai("gpt-5.2"), claude: anthropic("claude-sonnet-5") };
const city = z.object({ city: z.string() });
const tools = {
  weather: tool({ inputSchema: city, execute: ({ city }) => ({ city, sky: "clear" }) }),
  flights: tool({ inputSchema: city, execute: ({ city }) => `A night flight to ${city}.` }),
  book: tool({ inputSchema: city, needsApproval: true, execute: ({ city }) => `Booked to ${city}.` }),
};
type Post = { id: string; messages: UIMessage[]; model: keyof typeof models; canBook: boolean };

export async function POST(request: Request): Promise<Response> {
  const { id, messages, model, canBook } = (await request.json()) as Post;
  const result = streamText({
    model: models[model],
    instructions: "You plan trips.",
    messages: await convertToModelMessages(messages),
    tools,
    activeTools: canBook ? ["weather", "flights", "book"] : ["weather", "flights"],
    prepareStep: ({ messages }) => ({ toolChoice: messages.at(-1)?.role === "user" ? "required" : "auto" }),
    stopWhen: isStepCount(8),
    abortSignal: request.signal,
  });
  return result.toUIMessageStreamResponse({
    originalMessages: messages,
    generateMessageId: () => crypto.randomUUID(),
    messageMetadata: ({ part }) => (part.type === "start" ? { model, canBook } : undefined),
    onEnd: ({ messages }) => void save.run(id, JSON.stringify(messages)),
  });
}
