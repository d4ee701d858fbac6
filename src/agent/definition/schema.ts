import type { JsonObject } from "../../thread/json.ts";

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
 * A JSON Schema for a tool's input. Without `validate`, only the type "object" of the arguments is checked.
 *
 * @example
 * const place = jsonSchema<{ city: string }>({ type: "object", properties: { city: { type: "string" } }, required: ["city"] });
 */
export function jsonSchema<Output = JsonObject>(
  schema: object | PromiseLike<object>,
  options: { readonly validate?: JsonSchema<Output>["validate"] } = {},
): JsonSchema<Output> {
  return { jsonSchema: schema, ...options };
}
