import { checkTools } from "../../agent/definition/checks.ts";
import { ToolError } from "../../agent/definition/errors.ts";
import { isMarkedSchema, type JsonSchema, type StandardSchema } from "../../agent/definition/schema.ts";
import type { AnyTool, Tools } from "../../agent/definition/tool.ts";
import { copyJsonObject, describe, isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { ToolSpec } from "../../thread/message.ts";
import type { LoadModule } from "../../tokens/exact.ts";
import { systemRuntimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import { type HookLimit, hookAnswer } from "../time-limits.ts";

/** Options of `toolSpecsOf()`, for descriptions and schemas that are not plain data. */
export interface SpecOptions {
  /** The context for descriptions that are functions. Default: none. */
  readonly context?: unknown;
  /** Loads the package that converts schemas of zod before 4.2 or of valibot. Default: imports it. */
  readonly load?: LoadModule;
  /** How long a schema that is a promise may take. Default 30 seconds. */
  readonly limit?: HookLimit | undefined;
}

const DEFAULT_LIMIT: HookLimit = { ports: systemRuntimePorts, timeoutMs: 30_000 };

/**
 * The specifications of tools for a model: draft-07 JSON Schemas, frozen, in the order of the tools. A tool without a valid
 * specification is a ToolError: `tool_name_invalid`, `invalid_tool`, `tool_schema_unsupported`.
 *
 * @example
 * const inputSchema = { type: "object", properties: { city: { type: "string" } } } as const;
 * const [spec] = await toolSpecsOf({ weather: { description: "The weather of a city", inputSchema } });
 * console.log(spec?.name); // weather
 */
export async function toolSpecsOf(tools: Tools, options: SpecOptions = {}): Promise<readonly ToolSpec[]> {
  checkTools(tools);
  const specs = await Promise.all(Object.entries(tools).map(([name, tool]) => specOf(name, tool, options)));
  return Object.freeze(specs);
}

async function specOf(name: string, tool: AnyTool, options: SpecOptions): Promise<ToolSpec> {
  const type = fieldOf(tool, "type");
  if (type === "provider" || type === "provider-defined") return providerSpec(name, tool);
  const inputSchema = await schemaOf(name, tool.inputSchema, options);
  const { description } = tool;
  const text =
    typeof description === "function"
      ? description({ context: options.context } as never) // AnyTool has no exact context type
      : description;
  return Object.freeze({ name, ...(text === undefined ? {} : { description: text.toWellFormed() }), inputSchema });
}

/** A tool that a provider defines. It has the schema of the input, so the model is not shown ours. */
function providerSpec(name: string, tool: AnyTool): ToolSpec {
  const id = fieldOf(tool, "id");
  const invalid = (field: string, trouble: string, cause?: unknown): ToolError => {
    const path = `${name}.${field}`;
    return new ToolError({ code: "invalid_tool", path, message: `${path} ${trouble}.`, cause });
  };
  if (typeof id !== "string" || !id.includes("."))
    throw invalid("id", "must name a tool of a provider, such as openai.web_search");
  try {
    const args = copyJsonObject(fieldOf(tool, "args") ?? {}, "args");
    return Object.freeze({ name, inputSchema: { type: "object" }, provider: { id, args } });
  } catch (cause) {
    throw invalid("args", "must be JSON, because it is recorded with each call", cause);
  }
}

/** The JSON Schema of a tool or an output. Its root may be of any type. */
export async function jsonSchemaOf(name: string, given: unknown, options: SpecOptions): Promise<JsonObject> {
  const schema = await convertedSchema(name, given, options);
  if (!isPlainObject(schema)) throw unsupported(name, `It is ${describe(schema)}.`);
  const { $schema: _, ...copy } = copied(name, schema);
  return copy;
}

async function schemaOf(name: string, given: unknown, options: SpecOptions): Promise<JsonObject> {
  const copy = await jsonSchemaOf(name, given, options);
  const type = copy["type"];
  if (type !== undefined && type !== "object") {
    throw unsupported(name, "It must describe an object. Wrap the value in one.");
  }
  // A union of objects has no type of its own, but providers require one.
  return Object.freeze(type === undefined ? { type: "object", ...copy } : copy);
}

async function convertedSchema(
  name: string,
  given: unknown,
  { load, limit = DEFAULT_LIMIT }: SpecOptions,
): Promise<unknown> {
  try {
    const schema = resolveSchema(given);
    if (isStandard(schema)) {
      const { vendor, jsonSchema } = schema["~standard"];
      const found = jsonSchema?.input({ target: "draft-07" }) ?? (await convertByVendor(vendor, schema, load));
      if (found !== undefined) return found;
      throw unsupported(
        name,
        `No converter for schemas of ${vendor} is known. Pass a JSON Schema: jsonSchema(schema, { validate }).`,
      );
    }
    if (!isJsonSchema(schema)) return schema;
    const hook = { name: `The schema of ${name}`, code: "tool_schema_unsupported" };
    return await hookAnswer(limit, hook, () => schema.jsonSchema);
  } catch (cause) {
    if (RequestError.isInstance(cause)) throw unsupported(name, cause.message, cause);
    if (ToolError.isInstance(cause) && cause.code === "tool_schema_unsupported") {
      throw cause.path === undefined ? unsupported(name, cause.message, cause) : cause;
    }
    throw unsupported(name, "JSON Schema cannot express a part of it, such as a date or a custom check.", cause);
  }
}

function copied(name: string, schema: unknown): JsonObject {
  try {
    return copyJsonObject(schema, "inputSchema");
  } catch (cause) {
    throw unsupported(name, "Its JSON Schema is not JSON.", cause);
  }
}

function unsupported(name: string, trouble: string, cause?: unknown): ToolError {
  const message = `The inputSchema of the tool ${name} cannot be used. ${trouble}`;
  return new ToolError({ code: "tool_schema_unsupported", message, path: `${name}.inputSchema`, cause });
}

/** Literal names inside a `try`: bundlers include the packages, and only warn if an optional one is not installed. */
const importModule: LoadModule = async (name) => {
  try {
    if (name === "@valibot/to-json-schema") return await import("@valibot/to-json-schema");
    if (name === "zod-to-json-schema") return await import("zod-to-json-schema");
    return await import("zod/v4/core"); // zod 3.25 has this path too
  } catch (cause) {
    return Promise.reject(cause);
  }
};

interface Converter {
  readonly package: string;
  readonly version: string;
  readonly named: string;
  readonly options: object;
}

/** The converter for schemas without a converter of their own: zod before 4.2, and valibot. Schemas of zod 3 have no `_zod`. */
function converterOf(vendor: string, schema: unknown): Converter | undefined {
  if (vendor === "valibot") {
    const options = { typeMode: "input", target: "draft-07" };
    return { package: "@valibot/to-json-schema", version: "1", named: "toJsonSchema", options };
  }
  if (vendor !== "zod") return undefined;
  return fieldOf(schema, "_zod") === undefined
    ? {
        package: "zod-to-json-schema",
        version: "3",
        named: "zodToJsonSchema",
        options: { target: "jsonSchema7", $refStrategy: "none" },
      }
    : { package: "zod", version: "4", named: "toJSONSchema", options: { target: "draft-7", io: "input" } };
}

/** The JSON Schema, made by the package of the vendor. Undefined if no package is known. */
async function convertByVendor(
  vendor: string,
  schema: unknown,
  load: LoadModule = importModule,
): Promise<object | undefined> {
  const method = fieldOf(schema, "toJsonSchema"); // arktype
  if (typeof method === "function") return Reflect.apply(method, schema, []);
  const converter = converterOf(vendor, schema);
  if (converter === undefined) return undefined;
  const convert = fieldOf(await loaded(converter, load), converter.named);
  if (typeof convert !== "function") throw missing(converter);
  return convert(schema, converter.options);
}

async function loaded(converter: Converter, load: LoadModule): Promise<unknown> {
  try {
    return await load(converter.package);
  } catch (cause) {
    throw missing(converter, cause);
  }
}

function missing({ package: name, version }: Converter, cause?: unknown): ToolError {
  const message = `It needs the package ${name} to become a JSON Schema. Run: npm install ${name}@${version}`;
  return new ToolError({ code: "tool_schema_unsupported", message, cause });
}

/** Checks the fields and not the type of the value, because schemas of arktype are functions. */
export function isStandard(schema: unknown): schema is StandardSchema {
  const standard = fieldOf(schema, "~standard");
  return typeof fieldOf(standard, "validate") === "function" && !isMarkedSchema(Object(schema));
}

export function isJsonSchema(schema: unknown): schema is JsonSchema {
  const given = fieldOf(schema, "jsonSchema");
  return typeof given === "object" && given !== null;
}

/** The schema. The AI SDK also allows a function that returns it. */
export function resolveSchema(schema: unknown): unknown {
  return typeof schema === "function" && !isStandard(schema) && !isJsonSchema(schema) ? schema() : schema;
}

export function fieldOf(value: unknown, name: string): unknown {
  return (typeof value === "object" && value !== null) || typeof value === "function"
    ? Reflect.get(value, name)
    : undefined;
}
