import { isPlainObject } from "../../thread/json.ts";
import type { InputSchema, JsonSchema, SchemaIssue, StandardSchema } from "../definition/schema.ts";

/** Parameters of an instruction. Values are never stored, so they need not be JSON. */
export type Params = { readonly [name: string]: unknown };

/** The schema's output, or the paths of the invalid parameters. */
export type CheckedParams = { readonly value: unknown } | { readonly paths: readonly string[] };

/** Validates parameters. Returns a promise only when the schema does. Does not catch errors of the schema. */
export function checkParams(given: InputSchema, params: Params): CheckedParams | PromiseLike<CheckedParams> {
  // Schemas of arktype are functions with a "~standard" field, so check the fields before the type.
  const schema = typeof given === "function" && !isStandard(given) && !isJsonSchema(given) ? given() : given;
  if (isStandard(schema)) {
    const { validate } = schema["~standard"];
    return after(validate(params), (result) =>
      result.issues === undefined ? { value: result.value } : { paths: pathsIn(result.issues) },
    );
  }
  if (!isJsonSchema(schema) || schema.validate === undefined) return { value: params };
  return after(schema.validate(params), (result) =>
    result.success ? { value: result.value } : { paths: pathsIn(Object(result.error).issues) },
  );
}

function isStandard(schema: object): schema is StandardSchema {
  return "~standard" in schema;
}

function isJsonSchema(schema: object): schema is JsonSchema {
  return "jsonSchema" in schema;
}

export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && "then" in value;
}

function after<T, R>(value: T | PromiseLike<T>, next: (value: T) => R): R | PromiseLike<R> {
  return isPromiseLike(value) ? value.then(next) : next(value);
}

/** Only the paths, because an issue's message may contain the value. */
function pathsIn(issues: unknown): readonly string[] {
  if (!Array.isArray(issues)) return ["params"];
  const paths = (issues as readonly SchemaIssue[]).map(({ path = [] }) =>
    ["params", ...path.map((step) => String(isPlainObject(step) ? step["key"] : step))].join("."),
  );
  return [...new Set(paths)];
}
