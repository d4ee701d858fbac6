import type { ScriptedApiError } from "./script.ts";

/** By these the AI SDK recognises its errors, whichever copy of it made them. */
const MARKS = ["vercel.ai.error", "vercel.ai.error.AI_APICallError"].map((name) => Symbol.for(name));

/** What a package of the AI SDK throws when a provider answers with an error. */
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
