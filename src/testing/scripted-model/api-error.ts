import type { ScriptedApiError } from "./script.ts";

/** The AI SDK recognizes its errors by these symbols, across copies of the package. */
const MARKS = ["vercel.ai.error", "vercel.ai.error.AI_APICallError"].map((name) => Symbol.for(name));

/** The error that AI SDK packages throw for an error response of a provider. */
export function apiError({ status, message = `Status ${status}.`, retryAfterMs }: ScriptedApiError): Error {
  const isRetryable = status === 408 || status === 409 || status === 429 || status >= 500;
  const error = Object.assign(new Error(message), {
    url: "https://scripted.invalid/",
    requestBodyValues: {},
    statusCode: status,
    isRetryable,
    responseHeaders: retryAfterMs === undefined ? {} : { "retry-after-ms": String(retryAfterMs) },
    responseBody: JSON.stringify({ error: { message } }),
    data: { error: { message } },
  });
  Object.defineProperty(error, "name", { value: "AI_APICallError" });
  for (const mark of MARKS) Object.defineProperty(error, mark, { value: true });
  return error;
}
