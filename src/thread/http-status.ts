import { HeddleError } from "./errors.ts";

/** The codes of each HTTP status. */
const STATUSES: { readonly [status: number]: string } = {
  400:
    "not_json thread_corrupt seq_out_of_range empty_ask not_a_thread unsupported_message_format policy_unknown_field " +
    "policy_impossible policy_invalid_value not_portable bad_usage file_unsendable entry_not_loaded lane_not_loaded agent_required",
  401: "unauthorized code_used token_expired token_revoked token_config_mismatch token_version_mismatch legacy_token_state",
  403: "host_refused origin_refused access_refused read_only owner_mismatch tool_denied",
  404: "thread_not_found call_not_found command_not_found message_not_found request_not_found answer_unknown route_not_found mode_unknown",
  405: "method_not_allowed",
  408: "request_half_sent",
  409:
    "busy conflict context_op_id_reused entry_id_reused not_accepted not_waiting nothing_to_summarize request_id_reused " +
    "stale_holder summary_failed summary_not_accepted summary_cancelled summary_range_mismatch thread_diverged thread_exists thread_held lease_ended command_id_reused " +
    "command_settled command_amended setting_id_reused instruction_id_reused request_running request_completed " +
    "request_superseded request_waiting request_cancelled request_interrupted token_superseded attempts_exhausted model_aborted " +
    "tool_aborted options_lost interrupted agent_mismatch",
  410: "feed_epoch_changed",
  413: "too_large body_too_large token_too_large",
  415: "content_type_refused",
  422:
    "budget_overflow pending_overflow tail_too_short entry_unreadable entry_too_new no_reader model_context_too_long " +
    "model_refused file_download_failed output_invalid tool_bad_arguments",
  429: "model_rate_limited queue_full",
  502:
    "model_auth model_not_found model_bad_request model_unavailable model_stream_interrupted model_answer_too_large " +
    "model_answer_empty model_error summary_too_long mcp_unavailable server_unreachable stream_ended",
  503: "server_stopped claim_lost too_many_streams store_busy store_closed store_unreachable store_timeout store_aborted request_suspended model_overloaded",
  504: "model_stream_idle model_answer_timeout request_timeout result_timeout summary_timeout tool_timeout deadline_exceeded",
  507: "store_full",
};

const BY_CODE: ReadonlyMap<string, number> = new Map(
  Object.entries(STATUSES).flatMap(([status, codes]) =>
    codes.split(" ").map((code) => [code, Number(status)] as const),
  ),
);

/** Codes of this form are mistakes of the caller. */
const OF_THE_CALLER = /^(invalid_|unknown_|context_op_|setting_|op_)|_(invalid|unknown)$/;

/**
 * The HTTP status for an error or a code, for an API around Heddle. A failed request has the status of its failure. An error that
 * is not Heddle's has 500, as has a code that needs a change on the server.
 *
 * @example
 * httpStatusOf("conflict"); // 409
 */
export function httpStatusOf(error: unknown): number {
  const code = HeddleError.isInstance(error) ? codeOf(error) : error;
  if (typeof code !== "string") return 500;
  return BY_CODE.get(code) ?? (OF_THE_CALLER.test(code) ? 400 : 500);
}

function codeOf(error: HeddleError & { readonly failure?: { readonly code: string } }): string {
  return error.failure?.code ?? error.code;
}
