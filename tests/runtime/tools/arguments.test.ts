import { jsonSchema as aiJsonSchema } from "@ai-sdk/provider-utils";
import { type } from "arktype";
import fc from "fast-check";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { AnyTool } from "../../../src/agent/definition/tool.ts";
import { runTool } from "../../../src/runtime/tools/run-tool.ts";
import type { JsonValue } from "../../../src/thread/json.ts";
import { call, errorIn, object, run } from "./support/call.ts";

const execute = (input: unknown): JsonValue => input as JsonValue;
const SECRET = "correct horse battery";

describe("arguments that do not fit", () => {
  test.each([
    ["zod", z.object({ city: z.string(), days: z.array(z.object({ from: z.number() })) })],
    ["valibot", v.object({ city: v.string(), days: v.array(v.object({ from: v.number() })) })],
    ["arktype", type({ city: "string", days: type({ from: "number" }).array() })],
  ])("name every place, for %s", async (_, inputSchema) => {
    const args = { city: 12_345, days: [{ from: 1 }, { from: SECRET }] };
    const result = await run({ inputSchema: inputSchema as AnyTool["inputSchema"], execute }, args);
    expect(result).toMatchObject({ isError: true, attempts: 0 });
    expect(result.failure).toEqual({
      code: "tool_bad_arguments",
      message: "The arguments of probe do not fit its schema at: city, days[1].from.",
      retryable: false,
    });
    const told = errorIn(result).message;
    expect(told).toMatch(/city: .*string.*; days\[1\]\.from: .*number/i);
    expect(told).not.toContain(SECRET);
    expect(told).not.toContain("12345");
  });

  test("never have their values in a message, whatever the schema says", async () => {
    const value = fc.oneof(
      fc.string({ minLength: 1, maxLength: 40 }).filter((text) => /\w{4}/.test(text)),
      fc.integer({ min: 1000 }),
    );
    await fc.assert(
      fc.asyncProperty(value, fc.constantFrom("", "got ", '"', "x"), async (secret, before) => {
        const inputSchema = z.object({ key: z.any().refine(() => false, `${before}${secret}${before}`) });
        const result = await run({ inputSchema, execute }, { key: secret });
        expect(result.failure?.message).toBe("The arguments of probe do not fit its schema at: key.");
        expect(errorIn(result).message).toBe(
          "The arguments of probe do not fit its schema. key: does not match the schema.",
        );
      }),
    );
  });

  test("as a whole are named so", async () => {
    const inputSchema = z.object({ a: z.number(), b: z.number() }).refine(({ a, b }) => a < b, "a must be below b");
    const told = errorIn(await run({ inputSchema, execute }, { a: 2, b: 1 })).message;
    expect(told).toBe("The arguments of probe do not fit its schema. arguments: a must be below b.");
  });

  test("a hundred times are reported twenty times", async () => {
    const inputSchema = z.object({ list: z.array(z.string()) });
    const { failure } = await run({ inputSchema, execute }, { list: Array.from({ length: 100 }, () => 1) });
    expect(failure?.message).toMatch(/list\[0\], .*list\[19\] and 80 more\.$/);
  });

  test.each([
    ["text that is no JSON", '{"city": "Be'],
    ["a list", [1]],
    ["a number", 5],
    ["null", null],
  ])("are no object: %s", async (_, args) => {
    const result = await run({ execute, inputSchema: object }, args);
    expect(result).toMatchObject({ isError: true, attempts: 0, failure: { code: "tool_bad_arguments" } });
    expect(result.failure?.message).toBe(
      "The arguments of probe are not a JSON object. Send one that fits its schema.",
    );
  });
});

describe("a JSON Schema", () => {
  test("without validate takes any object, and with it only what it lets through", async () => {
    expect((await run({ inputSchema: aiJsonSchema({ type: "object" }), execute }, { a: 1 })).content).toBe('{"a":1}');
    const picky = aiJsonSchema<{ a: number }>(
      { type: "object" },
      {
        validate: (value) =>
          (value as { a: number }).a > 3
            ? { success: true, value: { a: -1 } }
            : { success: false, error: new Error("a must be large") },
      },
    );
    expect((await run({ inputSchema: picky, execute }, { a: 9 })).content).toBe('{"a":-1}');
    const refused = await run({ inputSchema: picky, execute }, { a: 1 });
    expect(errorIn(refused).message).toContain("arguments: a must be large");
  });

  test("may be made when it is first needed", async () => {
    const inputSchema = (): ReturnType<typeof aiJsonSchema> => aiJsonSchema({ type: "object" });
    expect((await run({ inputSchema, execute }, { a: 1 })).content).toBe('{"a":1}');
  });
});

test("a schema that throws is the tool's fault, not that of the arguments", async () => {
  const inputSchema = z.object({
    a: z.any().transform(() => {
      throw new Error("broken");
    }),
  });
  expect(await run({ inputSchema, execute }, { a: 1 })).toMatchObject({
    attempts: 0,
    failure: { code: "tool_failed" },
  });
});

test("whatever JSON a model sends, there is a result", async () => {
  const inputSchema = z.looseObject({});
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.string(), async (args, name) => {
      const tools = { probe: { inputSchema, execute } };
      for (const named of ["probe", name]) {
        const result = await runTool(call(args as JsonValue, named), { tools });
        expect(result.isError).toBe(result.failure !== undefined);
      }
    }),
  );
});
