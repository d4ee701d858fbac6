import type { JsonObject } from "../../thread/json.ts";

/** What a validation says, in the words of Standard Schema. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A schema of zod, valibot, arktype or whoever else keeps to Standard Schema (https://standardschema.dev). */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** Of Standard JSON Schema: libraries that lack it need a converter. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => object } | undefined;
  };
}

/** A JSON Schema with its own validation: what `jsonSchema()` gives, here and in the AI SDK. */
export interface JsonSchema<Output = unknown> {
  readonly jsonSchema: object | PromiseLike<object>;
  readonly validate?: ((value: unknown) => Validation<Output> | PromiseLike<Validation<Output>>) | undefined;
  /** Only for types; never there. */
  readonly _type?: Output | undefined;
}

export type Validation<Output> =
  | { readonly success: true; readonly value: Output }
  | { readonly success: false; readonly error: Error };

/** A JSON Schema as plain data. */
export type PlainJsonSchema = { readonly type: "object" } & { readonly [keyword: string]: unknown };

/** Anything a tool may say its input with; a function gives a schema when it is first needed. */
export type InputSchema = StandardSchema | JsonSchema | PlainJsonSchema | (() => StandardSchema | JsonSchema);

/** What `execute` gets: the output of a schema that transforms, any object for one that says no type. */
export type InputOf<Schema> = Schema extends { readonly "~standard": { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : Schema extends { readonly jsonSchema: unknown; readonly _type?: infer Output }
    ? Exclude<Output, undefined>
    : Schema extends () => infer Given
      ? InputOf<Given>
      : JsonObject;

/**
 * A JSON Schema for a tool's input. Without `validate` the arguments are only known to be an object.
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
