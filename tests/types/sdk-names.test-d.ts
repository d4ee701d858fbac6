import * as sdk from "ai";
import type * as sdk6 from "ai-v6";
import { defineAgent, defineTool, jsonSchema } from "heddle";
import type { ModelMessage } from "heddle/ai-sdk";
import { scriptedModel } from "heddle/testing";
import { expectTypeOf, test } from "vitest";

const schema = { type: "object", properties: { a: { type: "number" } } } as const;
const sdkSchema = sdk.jsonSchema<{ a: number }>({ type: "object" });

test("an agent takes a tool of the AI SDK beside its own", () => {
  const description = "Adds";
  const theirs = sdk.tool({ description, inputSchema: sdkSchema, execute: ({ a }, { toolCallId }) => toolCallId + a });
  const ours = defineTool({
    description,
    inputSchema: sdkSchema,
    execute: ({ a }, { toolCallId }) => toolCallId + a,
  });
  defineAgent({ model: scriptedModel([]), tools: { theirs, ours } });
});

test("jsonSchema takes the arguments of that of the AI SDK", () => {
  const validate = (): { success: true; value: { a: number } } => ({ success: true, value: { a: 2 } });
  for (const make of [sdk.jsonSchema<{ a: number }>, jsonSchema<{ a: number }>]) {
    make({ type: "object" });
    make(Promise.resolve({ type: "object" as const }), { validate });
    make(async () => ({ type: "object" as const }), { validate: async () => validate() });
  }
  expectTypeOf(jsonSchema<{ a: number }>(schema, { validate }).validate).not.toBeNever();
  defineTool({
    inputSchema: jsonSchema<{ a: number }>(schema),
    execute: ({ a }) => expectTypeOf(a).toEqualTypeOf<number>(),
  });
});

test("a jsonSchema is a schema of the AI SDK 6 and 7, with its type", () => {
  const ours = jsonSchema<{ a: number }>(schema);
  expectTypeOf(ours).toExtend<sdk.FlexibleSchema<{ a: number }>>();
  expectTypeOf(ours).toExtend<sdk6.FlexibleSchema<{ a: number }>>();
  expectTypeOf<sdk.InferSchema<typeof ours>>().toEqualTypeOf<{ a: number }>();
  expectTypeOf<sdk6.InferSchema<typeof ours>>().toEqualTypeOf<{ a: number }>();
  sdk.tool({ inputSchema: ours, execute: ({ a }) => expectTypeOf(a).toEqualTypeOf<number>() });
  sdk.tool({ inputSchema: () => sdk.asSchema(ours), execute: ({ a }) => a });
  sdk.Output.object({ schema: ours });
});

test("a ModelMessage is one of the AI SDK", () => {
  expectTypeOf<ModelMessage>().toExtend<sdk.ModelMessage>();
});
