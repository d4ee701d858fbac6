import type { InputSchema } from "../agent/definition/schema.ts";
import type { OutputCheck } from "../agent/signal.ts";
import { copyJsonRepaired, isPlainObject, type JsonObject, type JsonValue, sameJson } from "../thread/json.ts";
import { type Content, contentText } from "../thread/message.ts";
import type { HookLimit } from "./time-limits.ts";
import { isJsonSchema, isStandard, resolved, toolSpecsOf } from "./tools/schemas.ts";

const MOST_ISSUES = 10;

/** Whether an answer is JSON of the shape asked for. A fence around it is taken off. */
export async function checkOutput(content: Content, schema: InputSchema): Promise<OutputCheck> {
  const said = parsed(contentText(content)) ?? parsed(lastText(content));
  return said === undefined ? { ok: false, issues: ["it is not JSON"] } : validated(said.value, schema);
}

async function validated(value: unknown, given: InputSchema): Promise<OutputCheck> {
  try {
    const schema = resolved(given);
    if (isStandard(schema)) {
      const result = await schema["~standard"].validate(value);
      if (result.issues === undefined) return right(result.value);
      return { ok: false, issues: result.issues.slice(0, MOST_ISSUES).map(({ path, message }) => at(path, message)) };
    }
    if (!isJsonSchema(schema) || schema.validate === undefined) {
      const plain = isJsonSchema(schema) ? await schema.jsonSchema : schema;
      const issues = shapeIssues(value as JsonValue, plain as JsonValue); // both are JSON
      return issues.length === 0 ? right(value) : { ok: false, issues: issues.slice(0, MOST_ISSUES) };
    }
    const result = await schema.validate(value);
    return result.success ? right(result.value) : { ok: false, issues: [at(undefined, result.error.message)] };
  } catch {
    return { ok: false, issues: ["the schema could not check it"] };
  }
}

/** What is handed out and put into events is JSON, also where a schema makes something else of it. */
function right(value: unknown): OutputCheck {
  return { ok: true, object: copyJsonRepaired(value, "output") };
}

function at(path: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined, message: string): string {
  const keys = (path ?? []).map((key) => String(typeof key === "object" ? key.key : key));
  // Both may quote the answer, and models cut emojis in two.
  return (keys.length === 0 ? String(message) : `${keys.join(".")}: ${message}`).toWellFormed();
}

/** Some models comment in a text of its own, and then answer. */
function lastText(content: Content): string {
  return typeof content === "string" ? "" : contentText(content.filter(({ type }) => type === "text").slice(-1));
}

/** Models like to put JSON into a fence, with words around it; and JSON may hold fences. */
function parsed(text: string): { readonly value: unknown } | undefined {
  for (const candidate of [text, SHORTEST.exec(text)?.[1], LONGEST.exec(text)?.[1]]) {
    try {
      if (candidate !== undefined) return { value: JSON.parse(candidate) };
    } catch {
      // the next one may be it
    }
  }
  return undefined;
}

const SHORTEST = /```(?:json)?([\s\S]*?)```/i;
const LONGEST = /```(?:json)?([\s\S]*)```/i;

/** The JSON Schema of an output, for providers that can be told of it. */
export async function outputSchemaOf(output: InputSchema, limit: HookLimit): Promise<JsonObject | undefined> {
  const [spec] = await toolSpecsOf({ output: { inputSchema: output } }, { limit });
  return spec?.inputSchema;
}

type Type = "null" | "boolean" | "number" | "string" | "array" | "object" | "integer";

/**
 * What of a plain JSON Schema a value breaks: types, required fields, enums and constants, at every depth. Other keywords are
 * not looked at, so that nothing is refused that a validator would take.
 */
function shapeIssues(value: JsonValue, schema: JsonValue | undefined, path = ""): readonly string[] {
  if (!isObject(schema)) return [];
  const { type = [] } = schema;
  const types = (Array.isArray(type) ? type : [type]) as readonly Type[]; // what is no type fits nothing, and is told
  if (types.length > 0 && !types.some((type) => isOf(value, type)))
    return [told(path, `must be ${types.join(" or ")}`)];
  const { enum: allowed, const: only } = schema;
  if (Array.isArray(allowed) && !allowed.some((one) => sameJson(one, value))) {
    return [told(path, "must be one of the values allowed")];
  }
  if (only !== undefined && !sameJson(only, value)) return [told(path, "must be the value given")];
  if (Array.isArray(value))
    return value.flatMap((item, index) => shapeIssues(item, schema["items"], `${path}[${index}]`));
  return isObject(value) ? fieldIssues(value, schema, path) : [];
}

function fieldIssues(value: JsonObject, { required, properties }: JsonObject, path: string): readonly string[] {
  const at = (name: string): string => (path === "" ? name : `${path}.${name}`);
  const wanted = Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
  const missing = wanted.filter((name) => !Object.hasOwn(value, name)).map((name) => told(at(name), "is missing"));
  const known = isObject(properties) ? Object.entries(properties) : [];
  const wrong = known.flatMap(([name, schema]) => {
    const field = Object.hasOwn(value, name) ? value[name] : undefined;
    return field === undefined ? [] : shapeIssues(field, schema, at(name));
  });
  return [...missing, ...wrong];
}

function isOf(value: JsonValue, type: Type): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  return type === "object" ? isObject(value) : typeof value === type;
}

function told(path: string, trouble: string): string {
  return path === "" ? `it ${trouble}` : `${path}: ${trouble}`;
}

/** As a type it keeps what JSON can hold. */
function isObject(value: JsonValue | undefined): value is JsonObject {
  return isPlainObject(value);
}
