import { AgentServer, defineAgent, memoryStore, type RequestResult, type ToolOptions } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expectTypeOf, test } from "vitest";

const schema = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value: unknown) => ({ value: value as { n: number } }),
    types: undefined as unknown as { readonly input: { n: number }; readonly output: { n: number } },
  },
} as const;

const model = scriptedModel([]);
const store = memoryStore();

test("the object of a result is what the agent's output says", async () => {
  const server = await AgentServer.start({ agent: defineAgent({ model, output: schema }), store });
  const request = await server.ask("Count.");
  expectTypeOf(request.result).resolves.toEqualTypeOf<RequestResult<{ n: number }>>();
  const plain = await AgentServer.start({ agent: defineAgent({ model }), store });
  expectTypeOf((await (await plain.ask("Hi.")).result).object).toBeUnknown();
});

test("the context of an ask is what the agent's tools need", async () => {
  const inputSchema = { type: "object" } as const;
  const tools = {
    look: { inputSchema, execute: (_input: object, { context }: ToolOptions<{ user: string }>) => context.user },
  };
  const server = await AgentServer.start({ agent: defineAgent({ model, tools }), store });
  await server.ask("Hi.", { context: { user: "ann" } });
  // @ts-expect-error a user is a name
  await server.ask("Hi.", { context: { user: 7 } });
});
