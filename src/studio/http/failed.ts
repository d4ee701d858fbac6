import { ProjectionError } from "../../projection/error.ts";
import { PolicyError } from "../../projection/policy/error.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { JsonObject } from "../../thread/json.ts";
import { StudioError } from "./error.ts";
import { json } from "./reply.ts";

/** What our codes are in HTTP; what is not here is the caller's mistake when the code says so, else ours. */
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
  thread_corrupt: 400, // of what was sent; what is stored is `corrupt`
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

/** Codes that begin so are about what was asked for. */
const OF_THE_CALLER = /^(invalid_|unknown_|context_op_|op_)|_(invalid|unknown)$/;

/** Any error as an answer. Of what is not ours only that it happened is told: its message may name files or keys. */
export function failed(error: unknown): Response {
  if (!HeddleError.isInstance(error)) {
    const message = "Studio met an error that it does not know. Look at what the process printed.";
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

/** A budget that cannot be met says by how much. */
function numbersOf(error: HeddleError): JsonObject {
  if (!ProjectionError.isInstance(error)) return {};
  const { needed, available, parts } = error;
  return {
    ...(needed !== undefined && { needed }),
    ...(available !== undefined && { available }),
    ...(parts !== undefined && { parts }),
  };
}
