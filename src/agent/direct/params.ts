import { isPlainObject } from "../../thread/json.ts";
import type { InputSchema, JsonSchema, SchemaIssue, StandardSchema } from "../definition/schema.ts";

/** Parameters as they are given: values are never written down, so they need not be JSON. */
export type Params = { readonly [name: string]: unknown };

/** What a schema makes of parameters, or where they do not fit it. */
export type CheckedParams = { readonly value: unknown } | { readonly paths: readonly string[] };

/** Checks parameters; a promise only where the schema itself gives one. What the schema throws is thrown on. */
export function checkParams(given: InputSchema, params: Params): CheckedParams | PromiseLike<CheckedParams> {
  // Schemas of arktype are functions, so what a value carries is asked before what it is.
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

/** Where, and not what: a message may repeat the value. */
function pathsIn(issues: unknown): readonly string[] {
  if (!Array.isArray(issues)) return ["params"];
  const paths = (issues as readonly SchemaIssue[]).map(({ path = [] }) =>
    ["params", ...path.map((step) => String(isPlainObject(step) ? step["key"] : step))].join("."),
  );
  return [...new Set(paths)];
}
