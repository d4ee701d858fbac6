import type { Failure } from "../../agent/failure.ts";
import { type ErrorFacts, HeddleError } from "../../thread/errors.ts";

/**
 * A request that was not accepted, failed or was cancelled, or a call to a server that cannot be done. `failure` says what
 * failed: its code is the model's, the tool's or the store's own. `cause` is the error behind it, in the process that met it: of a
 * model call the ModelError, whose `cause` has the provider's words.
 *
 * @example
 * const server = await AgentServer.start({ agent: defineAgent({ model: scriptedModel(["4"]) }), store });
 * const request = await server.ask("What's 2+2?");
 * const end = await request.result.catch((error: unknown) => {
 *   if (RequestError.isInstance(error) && error.code === "request_cancelled") return undefined;
 *   throw error;
 * });
 * console.log(end?.text); // 4
 * await server.stop();
 */
export class RequestError extends HeddleError {
  static override readonly className: string = "RequestError";
  declare readonly requestId?: string;
  declare readonly failure?: Failure;
  /** Of `request_waiting`: continue the run with it. */
  declare readonly token?: string;

  constructor({
    requestId,
    failure,
    ...facts
  }: ErrorFacts & { readonly requestId?: string; readonly failure?: Failure }) {
    super(facts);
    if (requestId !== undefined) this.requestId = requestId;
    if (failure !== undefined) this.failure = failure;
  }
}

/** `cause` is what was thrown, where that is known: it lives in memory alone. */
export function requestFailed(requestId: string, failure: Failure, cause?: unknown): RequestError {
  const { retryable = false, message } = failure;
  return new RequestError({ code: "request_failed", requestId, failure, retryable, message, cause });
}

export function requestCancelled(requestId: string, reason: string): RequestError {
  return new RequestError({ code: "request_cancelled", requestId, message: reason });
}

export function requestSuspended(requestId: string): RequestError {
  const message = "The server was stopped while the request was open. It goes on where the thread is started again.";
  return new RequestError({ code: "request_suspended", requestId, message });
}

/** A standalone run that waits. Its token is not enumerable: who logs the error does not log what the token carries. */
export function requestWaiting(requestId: string, token: string | undefined): RequestError {
  const message = "The run waits for a call to be approved or answered. Continue its `token` with what was decided.";
  const error = new RequestError({ code: "request_waiting", requestId, message });
  Object.defineProperty(error, "token", { value: token });
  return error;
}

/** An ask that was not accepted has its own code: busy, empty_ask, unknown_tool, not_accepted, pending_overflow. */
export function notAccepted(requestId: string, { code, message, retryable = false }: Failure): RequestError {
  return new RequestError({ code, requestId, message, retryable });
}

/** Any error as data: ours by its code, another's without what it may hold. */
export function failureOf(error: unknown, otherwise: Failure): Failure {
  if (HeddleError.isInstance(error)) return { code: error.code, message: error.message, retryable: error.retryable };
  return otherwise;
}
