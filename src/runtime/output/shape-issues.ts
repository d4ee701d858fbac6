import { isPlainObject, type JsonObject, type JsonValue, sameJson } from "../../thread/json.ts";

type Type = "null" | "boolean" | "number" | "string" | "array" | "object" | "integer";

/**
 * What of a plain JSON Schema a value breaks: types, required fields, enums and constants, at every depth. Other keywords are
 * not looked at, so that nothing is refused that a validator would take.
 */
export function shapeIssues(value: JsonValue, schema: JsonValue | undefined, path = ""): readonly string[] {
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
