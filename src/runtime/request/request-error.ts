import type { Suspension } from "../../agent/event.ts";
import type { Failure } from "../../agent/signal.ts";
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
  /** Of `request_suspended`: why this process no longer carries the request, and who does. */
  declare readonly suspension?: Suspension;
  /** Of `request_waiting`: continue the run with it. */
  declare readonly token?: string;

  constructor({ requestId, failure, suspension, ...facts }: RequestErrorFacts) {
    super(facts);
    if (requestId !== undefined) this.requestId = requestId;
    if (failure !== undefined) this.failure = failure;
    if (suspension !== undefined) this.suspension = suspension;
  }
}

type RequestErrorFacts = ErrorFacts & {
  readonly requestId?: string;
  readonly failure?: Failure;
  readonly suspension?: Suspension;
};

/** `cause` is what was thrown, where that is known: it lives in memory alone. */
export function requestFailed(requestId: string, failure: Failure, cause?: unknown): RequestError {
  const { retryable = false, message } = failure;
  return new RequestError({ code: "request_failed", requestId, failure, retryable, message, cause });
}

export function requestCancelled(requestId: string, reason: string): RequestError {
  return new RequestError({ code: "request_cancelled", requestId, message: reason });
}

/** `failure` and `cause` are what the store answered, where it was that. */
export function requestSuspended(
  requestId: string,
  suspension: Suspension,
  { failure, cause }: { readonly failure?: Failure; readonly cause?: unknown } = {},
): RequestError {
  const facts = { requestId, suspension, ...(failure && { failure }), cause };
  const message = suspendedBecause(suspension);
  return new RequestError({ code: "request_suspended", retryable: suspension.reason === "store", message, ...facts });
}

/**
 * Whether an abort only says that a request stops in this process. What was asked in its name must not be cancelled then: the
 * process that resumes the request asks for it again.
 */
export function isSuspended({ aborted, reason }: AbortSignal): boolean {
  return aborted && RequestError.isInstance(reason) && reason.code === "request_suspended";
}

/** What a reader of the event or the error can do. */
export function suspendedBecause({ reason, holder }: Suspension): string {
  switch (reason) {
    case "store":
      return "The store cannot be reached. The request is open in the log and goes on when the store is back, here or in another process. Ask again with the same requestId to follow it.";
    case "lost":
      return `Another process${holder === undefined ? "" : `, ${holder},`} has claimed the thread and goes on with the request. Follow it there, or start the thread here when it is released.`;
    case "stopped":
      return "The server was stopped while the request was open. It goes on where the thread is started again.";
    default:
      return reason satisfies never;
  }
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
