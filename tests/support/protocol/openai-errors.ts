import type { IncomingHttpHeaders } from "node:http";
import type { JsonObject, JsonValue } from "heddle";
import type { HttpError } from "./answer.ts";
import { countOf, kindOf, objectOf, textOf } from "./json.ts";
import { type Problem, Refused } from "./problem.ts";

const NAME = /^[a-zA-Z0-9_-]+$/;

type Details = { readonly code?: string; readonly status?: number; readonly type?: string };

/** Throws what both APIs of OpenAI say to a request they do not like. */
export function refuse(rule: string, param: string, message: string, details: Details = {}): never {
  throw new Refused({ rule, param, message, status: 400, type: "invalid_request_error", ...details });
}

export function checkKey(headers: IncomingHttpHeaders): void {
  if (/^Bearer \S/.test(headers.authorization ?? "")) return;
  const message =
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth " +
    "(i.e. Authorization: Bearer YOUR_KEY).";
  throw new Refused({ rule: "no_api_key", status: 401, type: "invalid_request_error", message });
}

export function checkText(value: JsonValue | undefined, param: string): string {
  const text = textOf(value);
  if (text !== undefined) return text;
  const message = `Invalid type for '${param}': expected a string, but got ${kindOf(value)} instead.`;
  return refuse("wrong_type", param, message, { code: "invalid_type" });
}

export function checkRequired(value: JsonValue | undefined, param: string): void {
  if (value === undefined) {
    refuse("missing_field", param, `Missing required parameter: '${param}'.`, { code: "missing_required_parameter" });
  }
}

export function checkNotEmpty(list: readonly JsonValue[], param: string, rule: string): void {
  if (list.length > 0) return;
  const message = `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`;
  refuse(rule, param, message, { code: "empty_array" });
}

export function checkCallId(value: JsonValue | undefined, param: string, max: number): string {
  checkRequired(value, param);
  const id = checkText(value, param);
  if (id === "") {
    const message = `Invalid '${param}': empty string. Expected a string with minimum length 1, but got an empty string instead.`;
    refuse("invalid_call_id", param, message, { code: "empty_string" });
  }
  if (id.length > max) {
    const message = `Invalid '${param}': string too long. Expected a string with maximum length ${max}, but got a string with length ${id.length} instead.`;
    refuse("invalid_call_id", param, message, { code: "string_above_max_length" });
  }
  return id;
}

export function checkName(value: JsonValue | undefined, param: string): string {
  checkRequired(value, param);
  const name = checkText(value, param);
  if (!NAME.test(name)) {
    const message = `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
    refuse("invalid_tool_name", param, message, { code: "invalid_value" });
  }
  if (name.length > 64) {
    const message = `Invalid '${param}': string too long. Expected a string with maximum length 64, but got a string with length ${name.length} instead.`;
    refuse("invalid_tool_name", param, message, { code: "string_above_max_length" });
  }
  return name;
}

export function checkOneOf(
  value: JsonValue | undefined,
  allowed: readonly string[],
  param: string,
  rule: string,
): void {
  if (allowed.includes(textOf(value) ?? "")) return;
  const names = allowed.map((name) => `'${name}'`);
  const list = names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")}, and ${names.at(-1)}`;
  const message = `Invalid value: '${String(value)}'. Supported values are: ${list}.`;
  refuse(rule, param, message, { code: "invalid_value" });
}

/** A schema may be left out; one that is there describes an object. */
export function checkParameters(schema: JsonValue | undefined, name: string, param: string): void {
  if (schema === undefined || schema === null) return;
  const type = objectOf(schema)["type"];
  if (type === "object") return;
  const message = `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"', got 'type: "${textOf(type) ?? "None"}"'.`;
  refuse("invalid_tool_schema", param, message, { code: "invalid_function_parameters" });
}

export function checkNoForeignFields(body: JsonObject, param: string): void {
  if (countOf("cache_control", body) > 0) {
    refuse("foreign_field", param, "Unknown parameter: 'cache_control'.", { code: "unknown_parameter" });
  }
}

export function openaiProblem(error: Exclude<HttpError, "context_too_long">): Problem {
  switch (error) {
    case "rate_limited": {
      const message = "Rate limit reached for requests. Please try again later.";
      return { rule: error, status: 429, type: "requests", code: "rate_limit_exceeded", message };
    }
    case "overloaded": {
      const message = "The engine is currently overloaded, please try again later.";
      return { rule: error, status: 503, type: "server_error", code: "overloaded", message };
    }
    case "auth": {
      const message =
        "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.";
      return { rule: error, status: 401, type: "invalid_request_error", code: "invalid_api_key", message };
    }
    case "server_error": {
      const message = "The server had an error while processing your request. Sorry about that!";
      return { rule: error, status: 500, type: "server_error", code: "server_error", message };
    }
    case "bad_request":
      return {
        rule: error,
        status: 400,
        type: "invalid_request_error",
        code: "invalid_value",
        message: "Invalid value.",
      };
    default:
      return error satisfies never;
  }
}

export function openaiErrorBody({
  message,
  type,
  param = null,
  code = null,
}: Omit<Problem, "param" | "code"> & { readonly param?: string | null; readonly code?: string | null }): JsonObject {
  return { error: { message, type, param, code } };
}

/** Older models take ids of 40 characters, newer ones of 64. */
export function maxCallId(model: string): number {
  return /^(?:chatgpt-|gpt-)?(?:3|4)|^o[13]/.test(model) ? 40 : 64;
}
