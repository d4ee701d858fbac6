import { jsonSchema as aiJsonSchema, tool as aiTool, dynamicTool } from "@ai-sdk/provider-utils";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { jsonSchema } from "../../src/agent/definition/schema.ts";
import {
  type CombinedContext,
  defineTool,
  type Tool,
  type ToolInput,
  type ToolOptions,
  type ToolOutput,
  type Tools,
} from "../../src/agent/definition/tool.ts";
import type { JsonObject } from "../../src/thread/json.ts";

interface Db {
  readonly find: (id: string) => string;
}

describe("defineTool() types execute by the schema", () => {
  test("of zod, with what it transforms to", () => {
    const made = defineTool({
      inputSchema: z.object({ id: z.string(), days: z.string().transform(Number) }),
      needsApproval: (input) => input.days > 3,
      execute: (input, options) => {
        expectTypeOf(input).toEqualTypeOf<{ id: string; days: number }>();
        expectTypeOf(options).toEqualTypeOf<ToolOptions<unknown>>();
        return input.days;
      },
    });
    expectTypeOf<ToolInput<typeof made>>().toEqualTypeOf<{ id: string; days: number }>();
    expectTypeOf<ToolOutput<typeof made>>().toEqualTypeOf<number>();
  });

  test("of valibot and arktype", () => {
    defineTool({
      inputSchema: v.object({ id: v.string() }),
      execute: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ id: string }>();
      },
    });
    defineTool({
      inputSchema: type({ id: "string" }),
      execute: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ id: string }>();
      },
    });
  });

  test("of a JSON Schema, as its type argument says, and an object when nothing says more", () => {
    defineTool({
      inputSchema: jsonSchema<{ id: string }>({ type: "object" }),
      execute: ({ id }) => expectTypeOf(id).toEqualTypeOf<string>(),
    });
    defineTool({
      inputSchema: aiJsonSchema<{ id: string }>({ type: "object" }),
      execute: ({ id }) => expectTypeOf(id).toEqualTypeOf<string>(),
    });
    defineTool({
      inputSchema: () => jsonSchema<{ id: string }>({ type: "object" }),
      execute: ({ id }) => expectTypeOf(id).toEqualTypeOf<string>(),
    });
    defineTool({
      inputSchema: { type: "object", properties: {} },
      execute: (input) => expectTypeOf(input).toEqualTypeOf<JsonObject>(),
    });
  });

  test("promises and generators give what they hold", () => {
    const promised = defineTool({ inputSchema: { type: "object" }, execute: async () => "text" });
    expectTypeOf<ToolOutput<typeof promised>>().toEqualTypeOf<string>();
    const generated = defineTool({
      inputSchema: { type: "object" },
      async *execute() {
        yield 1;
      },
    });
    expectTypeOf<ToolOutput<typeof generated>>().toEqualTypeOf<number>();
  });

  test("toModelOutput gets what execute gives", () => {
    defineTool({
      inputSchema: z.object({ id: z.string() }),
      execute: async ({ id }) => ({ row: id }),
      toModelOutput: ({ output, input }) => {
        expectTypeOf(output).toEqualTypeOf<{ row: string }>();
        expectTypeOf(input).toEqualTypeOf<{ id: string }>();
        return { type: "text", value: output.row };
      },
    });
  });
});

describe("the context", () => {
  const read = defineTool({
    inputSchema: z.object({ id: z.string() }),
    execute: ({ id }, { context }: ToolOptions<{ db: Db }>) => context.db.find(id),
  });
  const plain = defineTool({ inputSchema: { type: "object" }, execute: () => 1 });
  const greet = defineTool({
    inputSchema: { type: "object" },
    execute: (_, { context }: ToolOptions<{ user: string }>) => context.user,
  });

  test("is what the tool says it needs", () => {
    expectTypeOf(read).toExtend<Tool<{ id: string }, string, { db: Db }>>();
    expectTypeOf(read).not.toExtend<Tool<{ id: string }, string, { other: number }>>();
  });

  test("of several tools is what all of them need", () => {
    expectTypeOf<{ db: Db; user: string }>().toExtend<CombinedContext<{ read: typeof read; greet: typeof greet }>>();
    expectTypeOf<{ db: Db }>().not.toExtend<CombinedContext<{ read: typeof read; greet: typeof greet }>>();
    expectTypeOf<CombinedContext<{ plain: typeof plain }>>().toEqualTypeOf<unknown>();
  });
});

describe("Tools takes", () => {
  test("tools of the AI SDK", () => {
    const made = {
      typed: aiTool({
        inputSchema: z.object({ id: z.string() }),
        needsApproval: true,
        execute: async ({ id }) => ({ id }),
        toModelOutput: ({ output }) => ({ type: "text", value: output.id }),
      }),
      json: aiTool({ inputSchema: aiJsonSchema<{ id: string }>({ type: "object" }), execute: ({ id }) => id }),
      dynamic: dynamicTool({ inputSchema: z.object({}), execute: async () => 1 }),
      client: aiTool({ inputSchema: z.object({}), outputSchema: z.string() }),
    };
    const take = (tools: Tools): number => Object.keys(tools).length;
    expectTypeOf(take).toBeCallableWith(made);
  });

  test("no tool without a schema", () => {
    expectTypeOf<{ bad: { execute: () => number } }>().not.toExtend<Tools>();
    expectTypeOf<{ bad: { inputSchema: string } }>().not.toExtend<Tools>();
  });
});
