import type { JsonObject } from "heddle";
import type { HttpError } from "../answer.ts";
import { type Problem, Refused } from "../problem.ts";

export function refuse(rule: string, message: string): never {
  throw new Refused({ rule, message, status: 400, type: "INVALID_ARGUMENT" });
}

export function geminiProblem(
  error: HttpError,
  { tokens, max }: { readonly tokens: number; readonly max: number },
): Problem {
  switch (error) {
    case "rate_limited": {
      const message = "You exceeded your current quota, please check your plan and billing details.";
      return { rule: error, status: 429, type: "RESOURCE_EXHAUSTED", message };
    }
    case "overloaded": {
      const message = "The model is overloaded. Please try again later.";
      return { rule: error, status: 503, type: "UNAVAILABLE", message };
    }
    case "auth": {
      const message = "API key not valid. Please pass a valid API key.";
      return { rule: error, status: 400, type: "INVALID_ARGUMENT", message };
    }
    case "server_error": {
      const message =
        "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting";
      return { rule: error, status: 500, type: "INTERNAL", message };
    }
    case "bad_request":
      return { rule: error, status: 400, type: "INVALID_ARGUMENT", message: "Request contains an invalid argument." };
    case "context_too_long": {
      const message = `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${max}).`;
      return { rule: error, status: 400, type: "INVALID_ARGUMENT", message };
    }
    default:
      return error satisfies never;
  }
}

export function geminiErrorBody({ status, type, message }: Problem, retryAfterMs?: number): JsonObject {
  const delay = retryAfterMs === undefined ? undefined : `${retryAfterMs / 1000}s`;
  const details =
    delay === undefined
      ? {}
      : { details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: delay }] };
  return { error: { code: status, message, status: type, ...details } };
}
