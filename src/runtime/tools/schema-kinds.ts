import { isMarkedSchema, type JsonSchema, type StandardSchema } from "../../agent/definition/schema.ts";

/** Schemas of arktype are functions, so what a value carries is asked before what it is. */
export function isStandard(schema: unknown): schema is StandardSchema {
  const standard = fieldOf(schema, "~standard");
  return typeof fieldOf(standard, "validate") === "function" && !isMarkedSchema(Object(schema));
}

export function isJsonSchema(schema: unknown): schema is JsonSchema {
  const given = fieldOf(schema, "jsonSchema");
  return typeof given === "object" && given !== null;
}

/** A schema that is made when it is first needed, as the AI SDK allows. */
export function resolved(schema: unknown): unknown {
  return typeof schema === "function" && !isStandard(schema) && !isJsonSchema(schema) ? schema() : schema;
}

export function fieldOf(value: unknown, name: string): unknown {
  return (typeof value === "object" && value !== null) || typeof value === "function"
    ? Reflect.get(value, name)
    : undefined;
}
