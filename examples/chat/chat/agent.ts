// The agent of the chat. Its tool streams a document, which the page shows beside the messages.
import { createOpenAI } from "@ai-sdk/openai";
import { streamText } from "ai";
import { AgentHost, defineAgent, defineTool, type ThreadStore } from "heddle";
import { z } from "zod";

const openai = createOpenAI();
const model = openai(process.env["CHAT_MODEL"] ?? "gpt-5.2");

/** A document as the page gets it, piece by piece. */
interface Document {
  readonly title: string;
  readonly text: string;
}

const writeDocument = defineTool({
  description: "Writes a document beside the chat. With the id of an earlier one, it replaces that.",
  inputSchema: z.object({ id: z.string(), title: z.string(), instructions: z.string() }),
  timeoutMs: 300_000,
  execute: async ({ id, title, instructions }, { write, abortSignal }) => {
    let text = "";
    const { textStream, finishReason } = streamText({ model, prompt: instructions, abortSignal });
    for await (const piece of textStream) {
      text += piece;
      write({ type: "data-document", id, data: { title, text } satisfies Document });
    }
    if ((await finishReason) === "error") throw new Error("The document was not written to its end.");
    return text;
  },
});

const agent = defineAgent({
  model,
  systemPrompt: "You help to write. Put longer texts into a document, and talk about them in the chat.",
  tools: { writeDocument },
});

export function chatHost(store: ThreadStore): AgentHost {
  return AgentHost.create({ agent, store, titles: true });
}
