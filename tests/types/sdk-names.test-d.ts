import * as sdk from "ai";
import { defineAgent, jsonSchema, tool } from "heddle";
import type { ModelMessage } from "heddle/ai-sdk";
import { scriptedModel } from "heddle/testing";
import { expectTypeOf, test } from "vitest";

const schema = { type: "object", properties: { a: { type: "number" } } } as const;
const sdkSchema = sdk.jsonSchema<{ a: number }>({ type: "object" });

test("tool takes the definition of a tool of the AI SDK", () => {
  const description = "Adds";
  const theirs = sdk.tool({ description, inputSchema: sdkSchema, execute: ({ a }, { toolCallId }) => toolCallId + a });
  const ours = tool({ description, inputSchema: sdkSchema, execute: ({ a }, { toolCallId }) => toolCallId + a });
  defineAgent({ model: scriptedModel([]), tools: { theirs, ours } });
});

test("jsonSchema takes the arguments of that of the AI SDK", () => {
  const validate = (): { success: true; value: { a: number } } => ({ success: true, value: { a: 2 } });
  sdk.jsonSchema<{ a: number }>(schema as object, { validate });
  expectTypeOf(jsonSchema<{ a: number }>(schema, { validate }).validate).not.toBeNever();
  tool({ inputSchema: jsonSchema<{ a: number }>(schema), execute: ({ a }) => expectTypeOf(a).toEqualTypeOf<number>() });
});

test("a ModelMessage is one of the AI SDK", () => {
  expectTypeOf<ModelMessage>().toExtend<sdk.ModelMessage>();
});
