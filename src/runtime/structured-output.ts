import type { InputSchema } from "../agent/definition/schema.ts";
import type { OutputCheck } from "../agent/signal.ts";
import { copyJsonRepaired, isPlainObject, type JsonObject, type JsonValue, sameJson } from "../thread/json.ts";
import { type Content, contentText } from "../thread/message.ts";
import type { HookLimit } from "./time-limits.ts";
import { isJsonSchema, isStandard, jsonSchemaOf, resolveSchema } from "./tools/schemas.ts";

const MAX_ISSUES = 10;

/** Checks whether an answer is JSON that matches the schema. A code fence around the JSON is removed. */
export async function checkOutput(content: Content, schema: InputSchema): Promise<OutputCheck> {
  const json = parseJson(contentText(content)) ?? parseJson(lastText(content));
  if (json === undefined) return { ok: false, issues: ["it is not JSON"] };
  const checked = await validate(json.value, schema);
  const inner = unwrapped(json.value);
  // An issue at the key means that the schema has this key itself.
  if (checked.ok || inner === undefined || checked.issues.some((issue) => /^(elements|result)\b/.test(issue)))
    return checked;
  return validate(inner.value, schema);
}

async function validate(value: unknown, input: InputSchema): Promise<OutputCheck> {
  try {
    const schema = resolveSchema(input);
    if (isStandard(schema)) {
      const result = await schema["~standard"].validate(value);
      if (result.issues === undefined) return accepted(result.value);
      return { ok: false, issues: result.issues.slice(0, MAX_ISSUES).map(({ path, message }) => at(path, message)) };
    }
    if (!isJsonSchema(schema) || schema.validate === undefined) {
      const plain = isJsonSchema(schema) ? await schema.jsonSchema : schema;
      const issues = shapeIssues(value as JsonValue, plain as JsonValue); // both are JSON
      return issues.length === 0 ? accepted(value) : { ok: false, issues: issues.slice(0, MAX_ISSUES) };
    }
    const result = await schema.validate(value);
    return result.success ? accepted(result.value) : { ok: false, issues: [at(undefined, result.error.message)] };
  } catch {
    return { ok: false, issues: ["the schema threw an error"] };
  }
}

/** The value as JSON, because it becomes part of events. A schema may transform it to anything. */
function accepted(value: unknown): OutputCheck {
  return { ok: true, object: copyJsonRepaired(value, "output") };
}

function at(path: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined, message: string): string {
  const keys = (path ?? []).map((key) => String(typeof key === "object" ? key.key : key));
  // Both may quote the answer, which may have half a surrogate pair.
  return (keys.length === 0 ? String(message) : `${keys.join(".")}: ${message}`).toWellFormed();
}

/** The last text part. Some models put a comment in a part before the answer. */
function lastText(content: Content): string {
  return typeof content === "string" ? "" : contentText(content.filter(({ type }) => type === "text").slice(-1));
}

/** Parses JSON, also inside a code fence with text around it. The JSON itself may have fences. */
function parseJson(text: string): { readonly value: unknown } | undefined {
  for (const candidate of [text, SHORTEST_FENCE.exec(text)?.[1], LONGEST_FENCE.exec(text)?.[1]]) {
    try {
      if (candidate !== undefined) return { value: JSON.parse(candidate) };
    } catch {
      // try the next candidate
    }
  }
  return undefined;
}

const SHORTEST_FENCE = /```(?:json)?([\s\S]*?)```/i;
const LONGEST_FENCE = /```(?:json)?([\s\S]*)```/i;

/** The JSON Schema of the output, as it is: `objectSchemaOf` makes the one that providers take. */
export async function outputSchemaOf(output: InputSchema, limit: HookLimit): Promise<JsonObject> {
  return jsonSchemaOf("output", output, { limit });
}

/** The value in the object in which a list, a choice or a scalar was asked for. */
function unwrapped(value: unknown): { readonly value: unknown } | undefined {
  if (!isPlainObject(value)) return undefined;
  const [[key, inner] = [], ...others] = Object.entries(value);
  return others.length === 0 && (key === "elements" || key === "result") ? { value: inner } : undefined;
}

type Type = "null" | "boolean" | "number" | "string" | "array" | "object" | "integer";

/**
 * The issues of a value with a plain JSON Schema: types, required fields, enums and constants, at every depth. Other keywords
 * are ignored, so that no valid value is refused.
 */
export function shapeIssues(value: JsonValue, schema: JsonValue | undefined, path = ""): readonly string[] {
  if (!isObject(schema)) return [];
  const { type = [] } = schema;
  const types = (Array.isArray(type) ? type : [type]) as readonly Type[]; // an unknown type matches no value
  if (types.length > 0 && !types.some((type) => isOf(value, type)))
    return [issueAt(path, `must be ${types.join(" or ")}`)];
  const { enum: allowed, const: only } = schema;
  if (Array.isArray(allowed) && !allowed.some((one) => sameJson(one, value))) {
    return [issueAt(path, "must be one of the allowed values")];
  }
  if (only !== undefined && !sameJson(only, value)) return [issueAt(path, "must be the value given")];
  if (Array.isArray(value))
    return value.flatMap((item, index) => shapeIssues(item, schema["items"], `${path}[${index}]`));
  return isObject(value) ? fieldIssues(value, schema, path) : [];
}

function fieldIssues(value: JsonObject, { required, properties }: JsonObject, path: string): readonly string[] {
  const at = (name: string): string => (path === "" ? name : `${path}.${name}`);
  const wanted = Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
  const missing = wanted.filter((name) => !Object.hasOwn(value, name)).map((name) => issueAt(at(name), "is missing"));
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

function issueAt(path: string, problem: string): string {
  return path === "" ? `it ${problem}` : `${path}: ${problem}`;
}

/** Narrows to JsonObject, because the value is JSON. */
function isObject(value: JsonValue | undefined): value is JsonObject {
  return isPlainObject(value);
}
