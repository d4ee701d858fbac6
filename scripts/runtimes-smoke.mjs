// `npm run check:runtimes` runs this everywhere: projection, providers, the store contract on memory, an agent run.
// It imports only the installed package, and throws when something is not as promised.
import { AgentServer, ContextPolicy, defineAgent, defineTool, jsonSchema, memoryStore, project, Thread } from "heddle";
import { toOpenAIChat, validateMessages } from "heddle/providers";
import { MemoryDatabase } from "heddle/store";
import { scriptedModel, storeContract } from "heddle/testing";

export async function smoke() {
  const counts = { passed: 0, skipped: 0 };
  const messages = [{ role: "user", content: "What is the weather?" }];
  const thread = Thread.fromMessages(messages, { format: "neutral" });
  const projected = project({ thread, policy: ContextPolicy.create({ maxInputTokens: 8000 }) });
  expect(projected.messages.length === 1, "the projection has the message");
  expect(validateMessages(projected.messages, "openai-chat").length === 0, "the messages are legal");
  expect(toOpenAIChat(projected.messages).messages.length === 1, "the messages are formatted");

  const database = new MemoryDatabase();
  for (const { group, name, run, skip } of storeContract({
    open: (options) => memoryStore({ ...options, database }),
  })) {
    if (skip !== undefined) counts.skipped++;
    else {
      await run().catch((cause) => {
        throw new Error(`store contract, ${group}: ${name}: ${cause?.message}`, { cause });
      });
      counts.passed++;
    }
  }

  const model = scriptedModel([{ calls: [{ name: "weather", arguments: { city: "Bern" } }] }, "Rain, 14 degrees."]);
  const weather = defineTool({
    inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } } }),
    execute: async ({ city }) => ({ city, sky: "rain" }),
  });
  const server = await AgentServer.start({ agent: defineAgent({ model, tools: { weather } }), store: memoryStore() });
  const request = await server.ask("What is the weather in Bern?");
  const result = await request.result;
  expect(result.text === "Rain, 14 degrees.", `the agent answers, not ${JSON.stringify(result)}`);
  await server.stop();
  return counts;
}

function expect(isRight, promise) {
  if (!isRight) throw new Error(`Broken promise: ${promise}.`);
}
