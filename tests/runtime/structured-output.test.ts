import { jsonSchema } from "heddle";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type InputSchema, objectSchemaOf } from "../../src/agent/definition/schema.ts";
import { checkOutput, outputSchemaOf } from "../../src/runtime/structured-output.ts";
import { anything, eventsOf, expectWhole, failureOf, proveAll, stage, told } from "./support/stage.ts";

/** A Standard Schema for { n: number }, which doubles. */
const numbered = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value: unknown) => {
      const { n } = Object(value) as { n?: unknown };
      return typeof n === "number"
        ? { value: { n, twice: 2 * n } }
        : { issues: [{ path: ["n"], message: "must be a number" }] };
    },
    jsonSchema: {
      input: () => ({ type: "object", properties: { n: { type: "number" } } }),
      output: () => ({ type: "object" }),
    },
  },
} as const;

describe("an answer in a shape", () => {
  test.each([
    ["alone", '{"n":1}'],
    ["in a fence", '```json\n{"n":1}\n```'],
    ["in a fence in one line", 'Here: ```{"n":1}``` Enjoy.'],
    ["in a fence with words around it", 'Sure!\n```JSON\n{"n": 1}\n```\nDone.'],
  ])("is found %s", async (_where, text) => {
    expect(await checkOutput(text, numbered as never)).toEqual({ ok: true, object: { n: 1, twice: 2 } });
  });

  test("may hold fences itself", async () => {
    const code = "```js\n1\n```";
    expect(await checkOutput(JSON.stringify({ code }), { type: "object" })).toEqual({ ok: true, object: { code } });
    const fenced = `\`\`\`json\n${JSON.stringify({ code })}\n\`\`\``;
    expect(await checkOutput(fenced, { type: "object" })).toEqual({ ok: true, object: { code } });
  });

  test.each([
    ['{"n":1,"list":["a"],"kind":"x"}', []],
    ["[]", ["it must be object"]],
    ['{"list":[1]}', ["n: is missing", "list[0]: must be string"]],
    ['{"n":1.5,"kind":"z"}', ["n: must be integer or null", "kind: must be one of the allowed values"]],
    ['{"n":null,"deep":{"v":2}}', ["deep.v: must be the value given"]],
  ])("is checked against a plain JSON Schema without a validator: %s", async (text, issues) => {
    const schema = {
      type: "object",
      required: ["n"],
      properties: {
        n: { type: ["integer", "null"] },
        list: { type: "array", items: { type: "string" } },
        kind: { enum: ["x", "y"] },
        deep: { properties: { v: { const: 1 } }, unknownKeyword: true },
      },
    } as const;
    const found = await checkOutput(text, schema);
    expect(found.ok ? [] : found.issues).toEqual(issues);
    expect(await checkOutput(text, { jsonSchema: schema })).toEqual(found);
  });

  test("that is not JSON, or not of the shape, says what is wrong with it", async () => {
    expect(await checkOutput("four", numbered as never)).toEqual({ ok: false, issues: ["it is not JSON"] });
    expect(await checkOutput('{"n":"x"}', numbered as never)).toEqual({ ok: false, issues: ["n: must be a number"] });
  });
});

describe("a request with an output", () => {
  test("gives it as result.object, typed by the schema, also behind tools", async () => {
    const on = await stage();
    const look = { inputSchema: anything, execute: () => 1 };
    const server = await on.start({
      script: [{ calls: [{ name: "look" }] }, '```json\n{"n":1}\n```'],
      tools: { look },
      output: numbered as never,
    });
    const request = await on.end(server.ask("Count."));
    expect((await on.end(request.result)).object).toEqual({ n: 1, twice: 2 });
    const events = await eventsOf(request);
    expectWhole(events);
    expect(events.at(-1)?.data).toMatchObject({ object: { n: 1, twice: 2 } });
    await proveAll(on.store, on.threadId);
  });

  test("that continues after an answer of the right shape, and ends by a limit, has no object", async () => {
    const on = await stage();
    const server = await on.start({
      script: [{ text: '{"n":1}', delayMs: 20 }, { calls: [{ name: "look" }] }],
      tools: { look: { inputSchema: anything, execute: () => 1 } },
      maxIterations: 2,
      output: numbered as never,
    });
    const request = await on.end(server.ask("Count."));
    await on.end(server.followUp("Look first."));
    expect(await on.end(request.result)).toMatchObject({ terminationReason: "max_iterations", object: undefined });
    expect((await eventsOf(request)).at(-1)?.data).not.toHaveProperty("object");
    await proveAll(on.store, on.threadId);
  });

  test.each([0, 1, 2, 3])("sends a wrong answer back as often as outputRetries says: %i", async (outputRetries) => {
    for (const isRightAtLast of [true, false]) {
      const on = await stage();
      const wrong = Array.from({ length: outputRetries }, () => "four");
      const server = await on.start({
        script: [...wrong, isRightAtLast ? '{"n":4}' : "five"],
        output: numbered as never,
        outputRetries,
      });
      const request = await on.end(server.ask("Count."));
      if (isRightAtLast) expect((await on.end(request.result)).object).toEqual({ n: 4, twice: 8 });
      else expect((await failureOf(on.end(request.result))).failure?.code).toBe("output_invalid");
      const events = await eventsOf(request);
      expectWhole(events);
      expect(events.filter(({ kind }) => kind === "output_repaired")).toHaveLength(outputRetries);
      expect(told(await on.log()).filter((line) => line.startsWith("repair"))).toHaveLength(outputRetries);
      await proveAll(on.store, on.threadId);
    }
  });

  test("has none of an answer that was followed by others", async () => {
    const on = await stage();
    const server = await on.start({
      maxIterations: 2,
      tools: { look: { inputSchema: anything, execute: () => "seen" } },
      output: numbered as never,
      script: [
        { text: '{"n":1}', delayMs: 20 },
        { text: "Let me look.", calls: [{ name: "look" }] },
      ],
    });
    const request = await on.end(server.ask("How many?"));
    await on.end(server.followUp("And now?"));
    const result = await on.end(request.result);
    expect(result).toMatchObject({ terminationReason: "max_iterations", text: "Let me look." });
    expect(result.object).toBeUndefined();
  });

  test("takes a JSON Schema and one with a validator of its own", async () => {
    const validate = (value: unknown) =>
      Array.isArray((value as { list?: unknown }).list)
        ? { success: true as const, value }
        : { success: false as const, error: new Error("list is missing") };
    for (const output of [{ type: "object" }, { jsonSchema: { type: "object" }, validate }]) {
      const on = await stage();
      const server = await on.start({ script: ['{"list":[]}'], output: output as never });
      const request = await on.end(server.ask("List."));
      expect((await on.end(request.result)).object).toEqual({ list: [] });
    }
    expect(await checkOutput("{}", { jsonSchema: { type: "object" }, validate } as never)).toEqual({
      ok: false,
      issues: ["list is missing"],
    });
  });
});

describe("an output that is not an object", () => {
  const limit = { ports: { after: () => () => undefined }, timeoutMs: 1 };
  const wrapped = (key: string, schema: object) => ({
    type: "object",
    properties: { [key]: expect.objectContaining(schema) },
    required: [key],
    additionalProperties: false,
  });

  const askedFor = async (output: InputSchema) => objectSchemaOf(await outputSchemaOf(output, limit));

  test("is asked for in an object, and an object is not", async () => {
    expect(await askedFor(z.array(z.string()))).toEqual(wrapped("elements", { type: "array" }));
    expect(await askedFor(z.enum(["a", "b"]))).toEqual(wrapped("result", { enum: ["a", "b"] }));
    expect(await askedFor(z.number())).toEqual(wrapped("result", { type: "number" }));
    expect(await askedFor({ enum: [1, 2] } as never)).toEqual(wrapped("result", { enum: [1, 2] }));
    const union = z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]);
    expect(await askedFor(union)).toMatchObject({ type: "object", anyOf: [{}, {}] });
    const defs = { $defs: { word: { type: "string" } } };
    const list = { type: "array", items: { $ref: "#/$defs/word" } } as const;
    expect(await askedFor({ ...list, ...defs } as never)).toEqual({
      ...wrapped("elements", list),
      ...defs,
    });
  });

  test.each([
    ["a list", z.array(z.string()), '{"elements":["a"]}', ["a"]],
    ["a list without the object", z.array(z.string()), '["a"]', ["a"]],
    ["a choice", z.enum(["yes", "no"]), '{"result":"yes"}', "yes"],
    ["a number", z.number(), '{"result":4}', 4],
    ["a plain schema", { type: "array", items: { type: "number" } }, '{"elements":[4]}', [4]],
    ["an object with this key", z.object({ result: z.number() }), '{"result":4}', { result: 4 }],
  ])("is taken out of it: %s", async (_name, schema, text, object) => {
    expect(await checkOutput(text, schema as never)).toEqual({ ok: true, object });
  });

  test("the mistakes are those of the value, or of the object that has the key itself", async () => {
    const list = await checkOutput('{"elements":["a",4]}', z.array(z.string()) as never);
    expect(list).toMatchObject({ ok: false, issues: [expect.stringMatching(/^1: /)] });
    const own = await checkOutput('{"result":"x"}', z.object({ result: z.number() }) as never);
    expect(own).toMatchObject({ ok: false, issues: [expect.stringMatching(/^result: /)] });
  });

  test("is the object of the result, also when it is read from the log", async () => {
    const on = await stage();
    const output = jsonSchema<string[]>({ type: "array", items: { type: "string" } }) as never;
    const server = await on.start({ output, script: ['{"elements":[4]}', '{"elements":["a","b"]}'] });
    const { id, result } = await on.end(server.ask("Letters?"));
    expect((await on.end(result)).object).toEqual(["a", "b"]);
    await on.end(server.stop());
    const later = await on.start({ output });
    expect((await on.end(later.result(id))).object).toEqual(["a", "b"]);
    await on.end(later.stop());
  });
});
