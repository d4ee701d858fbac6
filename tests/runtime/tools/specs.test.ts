import { jsonSchema as aiJsonSchema, tool as aiTool, dynamicTool, zodSchema } from "@ai-sdk/provider-utils";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import * as z3 from "zod/v3";
import { jsonSchema } from "../../../src/agent/definition/schema.ts";
import type { AnyTool, Tools } from "../../../src/agent/definition/tool.ts";
import { toolSpecsOf } from "../../../src/runtime/tools/schemas.ts";

const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;

async function schemaOf(inputSchema: unknown, load?: (name: string) => Promise<unknown>) {
  const tools = { probe: { inputSchema } as AnyTool };
  const [spec] = await toolSpecsOf(tools, load === undefined ? {} : { load });
  return spec?.inputSchema;
}

/** A schema of a library as it was before it could convert itself. */
function older(schema: object): object {
  const standard = Reflect.get(schema, "~standard") as object;
  const { jsonSchema: _, ...rest } = standard as { jsonSchema: unknown };
  return new Proxy(schema, {
    get: (target, key) => (key === "~standard" ? rest : Reflect.get(target, key, target)),
  });
}

describe("a schema becomes draft-07", () => {
  test.each([
    ["plain data", city],
    ["jsonSchema()", jsonSchema(city)],
    ["jsonSchema() of a promise", jsonSchema(Promise.resolve(city))],
    ["jsonSchema() of the AI SDK", aiJsonSchema(city)],
    ["one of the AI SDK that is made later", () => aiJsonSchema(async () => city)],
    ["zod", z.object({ city: z.string() })],
    ["zod by the AI SDK", zodSchema(z.object({ city: z.string() }))],
    ["zod before 4.2", older(z.object({ city: z.string() }))],
    ["zod 3, by its converter", z3.object({ city: z3.string() })],
    ["valibot, by its converter", v.object({ city: v.string() })],
    ["arktype", type({ city: "string" })],
    ["arktype before 2.2", older(type({ city: "string" }))],
  ])("%s", async (_, inputSchema) => {
    expect(await schemaOf(inputSchema)).toMatchObject(city);
    expect(await schemaOf(inputSchema)).not.toHaveProperty("$schema");
  });

  const schema = z.object({ n: z.string().transform(Number), m: z.number().default(1) });
  test.each([
    ["zod", schema],
    ["zod before 4.2", older(schema)],
    ["valibot", v.object({ n: v.pipe(v.string(), v.toNumber()), m: v.optional(v.number(), 1) })],
  ])("of what goes in, not of what comes out: %s", async (_, inputSchema) => {
    expect(await schemaOf(inputSchema)).toMatchObject({ properties: { n: { type: "string" } }, required: ["n"] });
  });

  test("zod 3 by the package it needs, with the name of it when it is missing", async () => {
    const schema = z3.object({ city: z3.string() });
    const load = async (name: string) => ({ zodToJsonSchema: () => ({ ...city, title: name }) });
    expect(await schemaOf(schema, load)).toMatchObject({ title: "zod-to-json-schema" });
    const gone = async () => Promise.reject(new Error("not found"));
    await expect(schemaOf(schema, gone)).rejects.toMatchObject({
      code: "tool_schema_unsupported",
      path: "probe.inputSchema",
      message: expect.stringContaining("npm install zod-to-json-schema@3"),
    });
  });

  test("valibot without its converter names it", async () => {
    const gone = async () => ({});
    await expect(schemaOf(v.object({}), gone)).rejects.toThrow("npm install @valibot/to-json-schema@1");
  });

  test("a union of objects is declared as an object, as providers ask", async () => {
    const union = z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]);
    expect(await schemaOf(union)).toMatchObject({ type: "object", anyOf: [{}, {}] });
  });
});

describe("a schema that cannot be sent to a model", () => {
  const unknown = { "~standard": { version: 1, vendor: "acme", validate: (value: unknown) => ({ value }) } };
  test.each([
    ["of a vendor nobody knows", unknown, "jsonSchema(schema, { validate })"],
    ["with a date", z.object({ at: z.date() }), "JSON Schema cannot express"],
    ["of a text", z.string(), "must describe an object"],
    ["that is no JSON", jsonSchema({ type: "object", default: new Date(0) }), "is not JSON"],
    ["that is a list", jsonSchema([]), "an array"],
  ])("%s", async (_, inputSchema, message) => {
    const refused = {
      code: "tool_schema_unsupported",
      message: expect.stringContaining(message),
      path: "probe.inputSchema",
    };
    await expect(schemaOf(inputSchema)).rejects.toMatchObject(refused);
  });

  test.each([
    ["id", {}],
    ["id", { id: "search" }],
    ["args", { id: "openai.web_search", args: { size: 7n } }],
  ])("a tool of a provider needs its %s", async (field, given) => {
    const provider: object = { type: "provider", ...given };
    const tools: Tools = { search: { inputSchema: city, ...provider } };
    await expect(toolSpecsOf(tools)).rejects.toMatchObject({ code: "invalid_tool", path: `search.${field}` });
  });
});

describe("a list of tools", () => {
  test("keeps order, descriptions and nothing of the tools, and is frozen", async () => {
    const specs = await toolSpecsOf({
      zebra: { description: "Stripes", inputSchema: city, execute: () => 1 },
      ape: { inputSchema: city },
    });
    expect(specs).toEqual([
      { name: "zebra", description: "Stripes", inputSchema: city },
      { name: "ape", inputSchema: city },
    ]);
    expect(Object.isFrozen(specs) && specs.every((spec) => Object.isFrozen(spec))).toBe(true);
    expect(Object.isFrozen(specs[0]?.inputSchema["properties"])).toBe(true);
  });

  test("takes tools of the AI SDK, with descriptions that are functions of the context", async () => {
    const tools = {
      typed: aiTool({
        contextSchema: z.object({ user: z.string() }),
        description: ({ context }) => `For ${context.user}`,
        inputSchema: z.object({ city: z.string() }),
        execute: async () => 1,
      }),
      dynamic: dynamicTool({ inputSchema: aiJsonSchema(city), execute: async () => 1 }),
    };
    const specs = await toolSpecsOf(tools, { context: { user: "u1" } });
    expect(specs.map(({ name, description }) => [name, description])).toEqual([
      ["typed", "For u1"],
      ["dynamic", undefined],
    ]);
  });

  test("is byte-equal each time", async () => {
    const tools = () => ({
      a: { inputSchema: z.object({ n: z.number() }) },
      b: { inputSchema: type({ s: "string" }) },
    });
    expect(JSON.stringify(await toolSpecsOf(tools()))).toBe(JSON.stringify(await toolSpecsOf(tools())));
  });

  test.each(["", "two words", "a.b", "é", "x".repeat(65)])("refuses the name %j", async (name) => {
    await expect(toolSpecsOf({ [name]: { inputSchema: city } })).rejects.toMatchObject({ code: "tool_name_invalid" });
  });

  test.each([
    ["inputSchema", { inputSchema: undefined }],
    ["inputSchema", { inputSchema: "object" }],
    ["execute", { inputSchema: city, execute: "run" }],
    ["description", { inputSchema: city, description: 1 }],
    ["needsApproval", { inputSchema: city, needsApproval: "yes" }],
    ["toModelOutput", { inputSchema: city, toModelOutput: {} }],
    ["repeatable", { inputSchema: city, repeatable: 1 }],
    ["timeoutMs", { inputSchema: city, timeoutMs: 0 }],
    ["timeoutMs", { inputSchema: city, timeoutMs: Number.POSITIVE_INFINITY }],
    ["maxRetries", { inputSchema: city, maxRetries: 1.5 }],
  ])("refuses a wrong %s", async (field, tool) => {
    const tools = { probe: tool as AnyTool };
    await expect(toolSpecsOf(tools)).rejects.toMatchObject({ code: "invalid_tool", path: `probe.${field}` });
  });

  test("refuses what holds no tools", async () => {
    await expect(toolSpecsOf([] as unknown as Tools)).rejects.toMatchObject({ code: "invalid_tool", path: "tools" });
    await expect(toolSpecsOf({ a: null } as unknown as Tools)).rejects.toMatchObject({
      code: "invalid_tool",
      path: "a",
    });
  });
});
