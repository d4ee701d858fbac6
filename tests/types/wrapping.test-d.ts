import {
  type AgentDefinition,
  type AgentRequest,
  AgentServer,
  defineAgent,
  defineTool,
  type InferOutput,
  type InputSchema,
  type JsonObject,
  memoryStore,
  react,
  type ToolOptions,
  type Tools,
  type ToolsContext,
} from "heddle";
import type { InferInput } from "heddle/core";
import { scriptedModel } from "heddle/testing";
import { expectTypeOf, test } from "vitest";
import * as z from "zod";

const model = scriptedModel([]);
const store = memoryStore();
interface Ctx {
  readonly user: string;
}
const look = defineTool({
  inputSchema: z.object({ id: z.string() }),
  execute: ({ id }, { context }: ToolOptions<Ctx>) => `${context.user} ${id}`,
});

test("functions around defineAgent keep what it infers, and their types can be written down", () => {
  function withTools<Given extends Tools>(tools: Given): AgentDefinition<Given, ToolsContext<Given>, unknown> {
    return defineAgent({ model, tools });
  }
  function withOutput<Schema extends InputSchema>(
    output: Schema,
  ): AgentDefinition<Record<never, never>, unknown, InferOutput<Schema>> {
    return defineAgent({ model, output });
  }
  expectTypeOf(withTools({ look })).toEqualTypeOf<AgentDefinition<{ look: typeof look }, Ctx, unknown>>();
  expectTypeOf(withOutput(z.object({ n: z.number() }))).toEqualTypeOf<
    AgentDefinition<Record<never, never>, unknown, { n: number }>
  >();
  expectTypeOf<InferInput<typeof look.inputSchema>>().toEqualTypeOf<{ id: string }>();
  expectTypeOf<InferInput<{ readonly type: "object" }>>().toEqualTypeOf<JsonObject>();
});

test("a prompt and a guard get the context that the tools need", () => {
  defineAgent({
    model,
    tools: { look },
    systemPrompt: (context) => {
      expectTypeOf(context).toEqualTypeOf<Ctx>();
      return context.user;
    },
    guardTools: (_call, { context }) => {
      expectTypeOf(context).toEqualTypeOf<Ctx>();
      return "allow";
    },
  });
});

test("a schema given in place types the object of a server and of a run", async () => {
  const output = z.object({ n: z.number() });
  const server = await AgentServer.start({ agent: defineAgent({ model, output: z.object({ n: z.number() }) }), store });
  expectTypeOf(await server.ask("Count.")).toEqualTypeOf<AgentRequest<{ n: number }>>();
  expectTypeOf(await server.ask("Count.", { output: z.array(z.string()) })).toEqualTypeOf<AgentRequest<string[]>>();
  const { object } = await react.run("Count.", { model, output });
  expectTypeOf(object).toEqualTypeOf<{ n: number } | undefined>();
});

test("what is misspelt or of another kind does not compile", () => {
  // @ts-expect-error a number is no model
  defineAgent({ model: 5 });
  // @ts-expect-error no field of this name
  defineAgent({ model, maxIteration: 3 });
  // @ts-expect-error tools are named
  defineAgent({ model, tools: [look] });
  // @ts-expect-error the input has no such field
  defineTool({ inputSchema: z.object({ q: z.string() }), execute: ({ p }) => p });
  // @ts-expect-error a config is no agent
  void AgentServer.start({ agent: { model }, store });
  // @ts-expect-error no option of this name
  react.run("Hi.", { model }, { threads: 1 });
});
