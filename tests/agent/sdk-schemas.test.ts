import * as sdk from "ai";
import * as sdk6 from "ai-v6";
import { jsonSchema, react } from "heddle";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";

interface Place {
  readonly city: string;
}

const JSON_SCHEMA = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const validate = (value: unknown) => {
  const { city } = Object(value);
  return typeof city === "string"
    ? { success: true as const, value: { city: city.toUpperCase() } }
    : { success: false as const, error: new Error("city must be a text") };
};

const FORMS = {
  "a plain schema": JSON_SCHEMA,
  "a promise of a schema": Promise.resolve(JSON_SCHEMA),
  "a function": () => JSON_SCHEMA,
  "a function that returns a promise": async () => JSON_SCHEMA,
};

const ASK = [{ calls: [{ name: "visit", arguments: { city: "bern" } }] }, "Done."];

describe.each(Object.entries(FORMS))("jsonSchema() of %s", (_, form) => {
  const inputSchema = jsonSchema<Place>(form, { validate });

  test("describes and validates the input of a tool in the AI SDK", async () => {
    const model = scriptedModel(ASK);
    const seen: Place[] = [];
    const visit = sdk.tool({ inputSchema, execute: (input) => seen.push(input) });
    await sdk.generateText({ model, tools: { visit }, prompt: "Go.", stopWhen: sdk.isStepCount(2) });
    expect(model.requests[0]?.options["tools"]).toMatchObject([{ inputSchema: JSON_SCHEMA }]);
    expect(seen).toEqual([{ city: "BERN" }]);
  });

  test("is a schema of the AI SDK 6", async () => {
    const schema = sdk6.asSchema(inputSchema);
    expect(await schema.jsonSchema).toEqual(JSON_SCHEMA);
    expect(await schema.validate?.({ city: "bern" })).toEqual({ success: true, value: { city: "BERN" } });
  });

  test("describes and validates an output of the AI SDK", async () => {
    const model = scriptedModel(['{"city":"bern"}', '{"city":3}']);
    const generate = () =>
      sdk.generateText({ model, prompt: "Where?", output: sdk.Output.object({ schema: inputSchema }) });
    expect((await generate()).output).toEqual({ city: "BERN" });
    await expect((async () => (await generate()).output)()).rejects.toThrow("did not match schema");
  });

  test("describes and validates the input of a tool in Heddle, like that of the AI SDK", async () => {
    for (const schema of [inputSchema, sdk.jsonSchema<Place>(form as never, { validate })]) {
      const model = scriptedModel([{ calls: [{ name: "visit", arguments: { city: 3 } }] }, ...ASK]);
      const seen: Place[] = [];
      const visit = { inputSchema: schema, execute: (input: Place) => seen.push(input) };
      await react.run("Go.", { model, tools: { visit } });
      expect(model.requests[0]?.options["tools"]).toMatchObject([{ inputSchema: JSON_SCHEMA }]);
      expect(seen).toEqual([{ city: "BERN" }]);
      expect(JSON.stringify(model.requests[1]?.options["prompt"])).toContain("city must be a text");
    }
  });
});

describe("jsonSchema() as a Standard Schema", () => {
  const standard = (form: object, options = {}) => jsonSchema<Place>(form, options)["~standard"];

  test("validates, also with a promise, and takes any value without validate", async () => {
    const { validate: check } = standard(JSON_SCHEMA, { validate });
    expect(check({ city: "bern" })).toEqual({ value: { city: "BERN" } });
    expect(check({})).toEqual({ issues: [{ message: "city must be a text" }] });
    const later = standard(JSON_SCHEMA, { validate: async (value: unknown) => validate(value) });
    expect(await later.validate({})).toEqual({ issues: [{ message: "city must be a text" }] });
    expect(standard(JSON_SCHEMA).validate({})).toEqual({ value: {} });
  });

  test("gives the schema for input and output", () => {
    const { jsonSchema: converter } = standard(() => JSON_SCHEMA);
    expect(converter.input({ target: "draft-07" })).toEqual(JSON_SCHEMA);
    expect(converter.output({ target: "draft-07" })).toEqual(JSON_SCHEMA);
  });

  test("refuses a schema that is a promise, and says what to do", () => {
    const { jsonSchema: converter } = standard(Promise.resolve(JSON_SCHEMA));
    expect(() => converter.input({ target: "draft-07" })).toThrow(
      expect.objectContaining({ code: "tool_schema_unsupported", message: expect.stringContaining("Await it") }),
    );
  });
});
