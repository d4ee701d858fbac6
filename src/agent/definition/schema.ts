import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import { lazyField } from "../../thread/lazy-field.ts";
import { ToolError } from "./errors.ts";

/** The result of a validation, as Standard Schema defines it. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A schema of zod, valibot, arktype or any other library with Standard Schema (https://standardschema.dev). */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** From Standard JSON Schema. Libraries without it need a converter. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => object } | undefined;
  };
}

/** A JSON Schema with an optional validation, as `jsonSchema()` returns it here and in the AI SDK. */
export interface JsonSchema<Output = unknown> {
  readonly jsonSchema: object | PromiseLike<object>;
  /** Checks the arguments of a call. Default: none, only that they are an object is checked. */
  readonly validate?: ((value: unknown) => Validation<Output> | PromiseLike<Validation<Output>>) | undefined;
  /** Only for types; never set at run time. Default: none. */
  readonly _type?: Output | undefined;
}

/** The result of `validate`: the value, or the error. */
export type Validation<Output> =
  | { readonly success: true; readonly value: Output }
  | { readonly success: false; readonly error: Error };

/** A JSON Schema as plain data. */
export type PlainJsonSchema = { readonly type: "object" } & { readonly [keyword: string]: unknown };

/** Any schema for a tool's input. A function is called when the schema is first needed. */
export type InputSchema = StandardSchema | JsonSchema | PlainJsonSchema | (() => StandardSchema | JsonSchema);

/** The input type of `execute`: the schema's output type, or any object when the schema has no type. */
export type InferInput<Schema> = Schema extends { readonly "~standard": { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : Schema extends { readonly jsonSchema: unknown; readonly _type?: infer Output }
    ? Exclude<Output, undefined>
    : Schema extends () => infer T
      ? InferInput<T>
      : JsonObject;

/**
 * The result of `jsonSchema()`. The AI SDK takes it, and any library that takes Standard JSON Schema. A type and not an
 * interface, so that TypeScript can write it into the declarations of a user's module.
 */
type SharedJsonSchema<Output> = JsonSchema<Output> & {
  readonly jsonSchema: Readonly<Record<string, unknown>> | PromiseLike<Readonly<Record<string, unknown>>>;
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "heddle";
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly jsonSchema: Record<"input" | "output", (options: { readonly target: string }) => Record<string, unknown>>;
  };
};

/** The AI SDK knows its own schemas by this mark, and so does Heddle. */
const MARK = Symbol.for("vercel.ai.schema");

/** Whether `jsonSchema()` of Heddle or of the AI SDK made it. It then has `jsonSchema` and perhaps `validate`, whatever else it has. */
export function isMarkedSchema(schema: object): boolean {
  return MARK in schema;
}

/**
 * A JSON Schema for a tool's input or an output. Without `validate`, only the type "object" of a tool's arguments is
 * checked. The AI SDK takes it where it takes a schema. A function is called when the schema is first needed.
 *
 * @example
 * const place = jsonSchema<{ city: string }>({ type: "object", properties: { city: { type: "string" } }, required: ["city"] });
 */
export function jsonSchema<Output = JsonObject>(
  schema: object | PromiseLike<object> | (() => object | PromiseLike<object>),
  options: { readonly validate?: JsonSchema<Output>["validate"] } = {},
): SharedJsonSchema<Output> {
  const { validate } = options;
  let made: SharedJsonSchema<Output>["jsonSchema"] | undefined;
  // An object that is JSON Schema is a record; the parameter is `object`, so that interfaces are taken too.
  const plain = () => (made ??= (typeof schema === "function" ? schema() : schema) as NonNullable<typeof made>);
  const converted = () => syncSchema(plain());
  const shared = {
    [MARK]: true,
    validate, // the AI SDK asks for this key, also when it is undefined
    "~standard": {
      version: 1,
      vendor: "heddle",
      // Without `validate` the type argument is a promise of the caller.
      validate: (value: unknown) =>
        validate === undefined ? { value: value as Output } : standardResult(validate(value)),
      jsonSchema: { input: converted, output: converted },
    },
  };
  return lazyField(shared, "jsonSchema", plain) as SharedJsonSchema<Output>; // the type does not name the mark
}

/** Standard JSON Schema is synchronous. */
function syncSchema(schema: SharedJsonSchema<unknown>["jsonSchema"]): Record<string, unknown> {
  if (!isPromiseLike(schema)) return schema;
  const message = "This JSON Schema is a promise. Await it before you give it to jsonSchema().";
  throw new ToolError({ code: "tool_schema_unsupported", message });
}

function standardResult<Output>(
  result: Validation<Output> | PromiseLike<Validation<Output>>,
): StandardResult<Output> | Promise<StandardResult<Output>> {
  if (isPromiseLike(result))
    return Promise.resolve(result.then(standardResult<Output>)) as Promise<StandardResult<Output>>;
  return result.success ? { value: result.value } : { issues: [{ message: result.error.message }] };
}

export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/**
 * The schema of an output, for providers with structured outputs. They take objects only, so any other value is asked for in one,
 * as the AI SDK does: a list as `elements`, a choice or a scalar as `result`.
 */
export function objectSchemaOf({ $defs, definitions, ...schema }: JsonObject): JsonObject {
  const shared = { ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }) };
  if (isOfObject(schema)) return { type: "object", ...schema, ...shared };
  const key = schema["type"] === "array" ? "elements" : "result";
  return { type: "object", properties: { [key]: schema }, required: [key], additionalProperties: false, ...shared };
}

function isOfObject(schema: JsonValue | undefined): boolean {
  if (!isPlainObject(schema)) return false;
  const { type, anyOf, oneOf } = schema as JsonObject; // JSON
  const branches = anyOf ?? oneOf;
  if (type !== undefined) return type === "object";
  if (Array.isArray(branches)) return branches.every(isOfObject);
  return !("enum" in schema || "const" in schema);
}
