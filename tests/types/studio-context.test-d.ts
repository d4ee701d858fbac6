import { type AnyAgent, defineAgent, defineTool, memoryStore, type ToolOptions } from "heddle";
import { type StartOptions, type StudioOptions, startStudio, studioHandler } from "heddle/studio";
import { scriptedModel } from "heddle/testing";
import { expectTypeOf, test } from "vitest";

interface User {
  readonly user: string;
}

const model = scriptedModel([]);
const inputSchema = { type: "object" } as const;
const reader = defineTool({ inputSchema, execute: (_, { context }: ToolOptions<User>) => context.user });
const optional = defineTool({
  inputSchema,
  execute: (_, { context }: ToolOptions<User | undefined>) => context?.user ?? "",
});
const store = memoryStore();

test("a Studio of an agent that needs a context needs a function that returns it", () => {
  const agent = defineAgent({ model, tools: { reader } });
  const context = (threadId: string): User => ({ user: threadId });
  void startStudio({ store, agent, context });
  void studioHandler({ agent, context: async (threadId) => ({ user: threadId }) });
  // @ts-expect-error: there is no context
  void startStudio({ store, agent });
  // @ts-expect-error: there is no context
  void studioHandler({ store, agent });
  // @ts-expect-error: another context
  void startStudio({ store, agent, context: () => ({ name: "Ada" }) });
  // @ts-expect-error: the context of the agent cannot be undefined
  void startStudio({ store, agent, context: () => undefined });
});

test("a Studio of any other agent needs none", () => {
  void startStudio();
  void studioHandler({});
  void startStudio({ store, port: 0 });
  void startStudio({ store, agent: defineAgent({ model }) });
  void startStudio({ store, agent: defineAgent({ model, tools: { optional } }) });
  const agent = defineAgent({ model, tools: { reader } }) as AnyAgent;
  void startStudio({ store, agent });
  void startStudio({ store, agent, context: () => ({ user: "Ada" }) });
});

test("options of any agent are options", () => {
  expectTypeOf<{ readonly port: 0; readonly readOnly: true }>().toExtend<StartOptions>();
  expectTypeOf<StartOptions>().toExtend<StudioOptions>();
});
