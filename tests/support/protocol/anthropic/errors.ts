import type { JsonObject } from "heddle";
import type { HttpError } from "../answer.ts";
import { type Problem, Refused } from "../problem.ts";

export function refuse(rule: string, message: string): never {
  throw new Refused({ rule, message, status: 400, type: "invalid_request_error" });
}

export function anthropicProblem(
  error: HttpError,
  { tokens, max }: { readonly tokens: number; readonly max: number },
): Problem {
  switch (error) {
    case "rate_limited": {
      const message = "This request would exceed your organization's rate limit. Please try again later.";
      return { rule: error, status: 429, type: "rate_limit_error", message };
    }
    case "overloaded":
      return { rule: error, status: 529, type: "overloaded_error", message: "Overloaded" };
    case "auth":
      return { rule: error, status: 401, type: "authentication_error", message: "invalid x-api-key" };
    case "server_error":
      return { rule: error, status: 500, type: "api_error", message: "Internal server error" };
    case "bad_request":
      return { rule: error, status: 400, type: "invalid_request_error", message: "Invalid request" };
    case "context_too_long": {
      const message = `prompt is too long: ${tokens} tokens > ${max} maximum`;
      return { rule: error, status: 400, type: "invalid_request_error", message };
    }
    default:
      return error satisfies never;
  }
}

export function anthropicErrorBody({ type, message }: Problem): JsonObject {
  return { type: "error", error: { type, message }, request_id: "req_0" };
}
