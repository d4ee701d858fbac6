import { ProjectionError } from "../../projection/error.ts";
import { PolicyError } from "../../projection/policy/error.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { JsonObject } from "../../thread/json.ts";
import { StudioError } from "./error.ts";
import { json } from "./reply.ts";

/** The HTTP status of error codes. For other codes see `statusOf`. */
const STATUS: { readonly [code: string]: number } = {
  thread_not_found: 404,
  call_not_found: 404,
  busy: 409,
  conflict: 409,
  context_op_id_reused: 409,
  entry_id_reused: 409,
  not_accepted: 409,
  not_waiting: 409,
  nothing_to_summarize: 409,
  request_id_reused: 409,
  stale_holder: 409,
  summary_failed: 409,
  summary_not_accepted: 409,
  thread_diverged: 409,
  thread_exists: 409,
  thread_held: 409,
  not_json: 400,
  thread_corrupt: 400, // a thread in the request body; a stored thread has the code `corrupt`
  seq_out_of_range: 400,
  empty_ask: 400,
  too_large: 413,
  pending_overflow: 422,
  store_full: 507,
  server_stopped: 503,
  store_busy: 503,
  store_closed: 503,
  store_unreachable: 503,
};

/** Codes of this form are mistakes of the caller. */
const OF_THE_CALLER = /^(invalid_|unknown_|context_op_|op_)|_(invalid|unknown)$/;

/** Turns any error into an answer. The message of a foreign error is not sent, because it may name files or keys. */
export function failed(error: unknown): Response {
  if (!HeddleError.isInstance(error)) {
    const message = "Unexpected error in Studio. See the output of its process.";
    return json({ error: { code: "internal", message, retryable: false } }, 500);
  }
  const { code, message, retryable } = error;
  const headers: { [name: string]: string } = {};
  if (StudioError.isInstance(error) && error.allow !== undefined) headers["allow"] = error.allow;
  return json({ error: { code, message, retryable, ...numbersOf(error) } }, statusOf(error), headers);
}

function statusOf(error: HeddleError): number {
  if (StudioError.isInstance(error)) return error.status;
  const known = STATUS[error.code];
  if (known !== undefined) return known;
  if (PolicyError.isInstance(error) || OF_THE_CALLER.test(error.code)) return 400;
  return ProjectionError.isInstance(error) ? 422 : 500;
}

/** The token numbers of an error about the budget. */
function numbersOf(error: HeddleError): JsonObject {
  if (!ProjectionError.isInstance(error)) return {};
  const { needed, available, parts } = error;
  return {
    ...(needed !== undefined && { needed }),
    ...(available !== undefined && { available }),
    ...(parts !== undefined && { parts }),
  };
}
