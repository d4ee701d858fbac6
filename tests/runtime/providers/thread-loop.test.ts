import { generateText, isStepCount, jsonSchema, type ModelMessage, tool } from "ai";
import { type JsonObject, memoryStore } from "heddle";
import { threadLoop } from "heddle/ai-sdk";
import { expect, onTestFinished, test } from "vitest";
import { startProtocolServer } from "../../support/protocol/server.ts";
import { modelAt } from "./support/models.ts";
import { weatherIn } from "./support/stage.ts";

// The real Anthropic package shows where a cache mark of the app arrives.

const mark = { anthropic: { cacheControl: { type: "ephemeral" } } };

const marks: { readonly [where: string]: (message: ModelMessage) => ModelMessage } = {
  "a message": (message) => ({ ...message, providerOptions: mark }),
  "its last part": (message) => {
    const { content } = message;
    if (typeof content === "string") return { ...message, providerOptions: mark };
    const parts = content.map((part, at) => (at < content.length - 1 ? part : { ...part, providerOptions: mark }));
    return { ...message, content: parts } as ModelMessage; // the same parts with options
  },
};

/** The bodies of a conversation whose last message is marked in each step, as the AI SDK advises. */
async function bodiesOf(own: boolean, where: string): Promise<readonly JsonObject[]> {
  const provider = await startProtocolServer();
  onTestFinished(() => provider.stop());
  let steps = 0;
  provider.answer(() =>
    ++steps % 3 === 0 ? { text: `Sunny ${steps}.` } : { calls: [weatherIn("Bern"), weatherIn("Rome")] },
  );
  const store = memoryStore();
  const weather = tool({ inputSchema: jsonSchema<{ city: string }>({ type: "object" }), execute: () => "Sunny." });
  let messages: ModelMessage[] = [
    { role: "system", content: "Be brief.", providerOptions: mark },
    { role: "user", content: "A long document." },
  ];
  for (let ask = 0; ask < 3; ask++) {
    messages = [...messages, { role: "user", content: "Weather?" }];
    const loop = threadLoop({ store, threadId: "thread_1" });
    const model = modelAt(provider.url, "anthropic");
    const { responseMessages } = await generateText({
      model: own ? loop.model(model) : model,
      tools: own ? loop.tools({ weather }) : { weather },
      messages,
      allowSystemInMessages: true,
      maxRetries: 0,
      stopWhen: isStepCount(5),
      prepareStep: ({ messages }) => ({
        messages: messages.map((one, at) => (at < messages.length - 1 ? one : (marks[where]?.(one) ?? one))),
      }),
    });
    messages = [...messages, ...responseMessages];
  }
  return provider.requests.map(({ body }) => body);
}

test.each(Object.keys(marks))("a cache mark on %s is sent as the AI SDK sends it", async (where) => {
  const bodies = await bodiesOf(true, where);
  expect(bodies).toEqual(await bodiesOf(false, where));
  expect(bodies.map((body) => JSON.stringify(body).match(/cache_control/g)?.length)).toEqual([
    2, 3, 4, 2, 3, 4, 2, 3, 4,
  ]);
});
