// A chat with a model picker, three tools and an approval, for a page with useChat.
import { anthropic } from "@ai-sdk/anthropic";
import { openai } from "@ai-sdk/openai";
import { convertToModelMessages, isStepCount, streamText, tool, type UIMessage } from "ai";
import { threadLoop } from "heddle/ai-sdk";
import { sqliteStore } from "heddle/sqlite";
import { z } from "zod";

const file = process.env["CHAT_DB"] ?? "chat.db";
const store = sqliteStore(file);
export const load = (id: string) => threadLoop({ store, threadId: id }).messages();
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
  const loop = threadLoop({ store, threadId: id });
  const result = streamText({
    model: loop.model(models[model]),
    instructions: "You plan trips.",
    messages: await convertToModelMessages(messages),
    tools: loop.tools(tools),
    activeTools: canBook ? ["weather", "flights", "book"] : ["weather", "flights"],
    prepareStep: ({ messages }) => ({ toolChoice: messages.at(-1)?.role === "user" ? "required" : "auto" }),
    stopWhen: isStepCount(8),
    abortSignal: request.signal,
  });
  return result.toUIMessageStreamResponse({
    originalMessages: messages,
    generateMessageId: () => crypto.randomUUID(),
    messageMetadata: ({ part }) => (part.type === "start" ? { model, canBook } : undefined),
    onEnd: ({ messages }) => loop.save(messages),
  });
}
