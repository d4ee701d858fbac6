import type { Suspension } from "../../agent/event.ts";
import type { Usage, UsageByModel } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import { type ErrorFacts, HeddleError } from "../../thread/errors.ts";

/**
 * A request that was not accepted, failed or was cancelled, or a call that a server refuses. `failure` has the code of the
 * model, tool or store that failed. `cause` is the original error, in the process where it was thrown. For a model call that
 * is the ModelError, whose own `cause` is the error of the provider.
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
  /** For `request_failed` and `request_cancelled`: the usage of the calls so far, as `result` has it. */
  declare readonly usage?: Usage;
  declare readonly usageByModel?: UsageByModel;
  /** For `request_suspended`: why the request has ended in this process, and the holder that has it now. */
  declare readonly suspension?: Suspension;
  /** For `request_waiting`: the token to continue the run. */
  declare readonly token?: string;

  constructor({ requestId, failure, suspension, usage, usageByModel, ...facts }: RequestErrorFacts) {
    super(facts);
    if (requestId !== undefined) this.requestId = requestId;
    if (failure !== undefined) this.failure = failure;
    if (suspension !== undefined) this.suspension = suspension;
    if (usage !== undefined) this.usage = usage;
    if (usageByModel !== undefined) this.usageByModel = usageByModel;
  }
}

type RequestErrorFacts = ErrorFacts & {
  readonly requestId?: string;
  readonly failure?: Failure;
  readonly suspension?: Suspension;
  readonly usage?: Usage | undefined;
  readonly usageByModel?: UsageByModel | undefined;
};

/** The usage of a request, of its run or of its last event. */
type UsageOfRequest = Pick<RequestErrorFacts, "usage" | "usageByModel">;

/** `cause` is the thrown error, if known. It is only in memory. */
export function requestFailed(
  requestId: string,
  failure: Failure,
  cause?: unknown,
  { usage, usageByModel }: UsageOfRequest = {},
): RequestError {
  const { retryable = false, message } = failure;
  const facts = { requestId, failure, retryable, message, cause, usage, usageByModel };
  return new RequestError({ code: "request_failed", ...facts });
}

export function requestCancelled(
  requestId: string,
  message: string,
  { usage, usageByModel }: UsageOfRequest = {},
): RequestError {
  return new RequestError({ code: "request_cancelled", requestId, message, usage, usageByModel });
}

/** `failure` and `cause` are the error of the store, if the store failed. */
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
 * Whether an abort only means that the request ends in this process. Work that it started elsewhere must not be cancelled then,
 * because the process that resumes the request needs it.
 */
export function isSuspended({ aborted, reason }: AbortSignal): boolean {
  return aborted && RequestError.isInstance(reason) && reason.code === "request_suspended";
}

/** The message of the event and the error. */
function suspendedBecause({ reason, holder }: Suspension): string {
  switch (reason) {
    case "store":
      return "The store cannot be reached. The request is open in the log, and is resumed when the store is back, here or in another process. Ask again with the same requestId to follow it.";
    case "lost":
      return `Another process${holder === undefined ? "" : `, ${holder},`} has claimed the thread and runs the request. Follow it there, or start the thread here when it is released.`;
    case "stopped":
      return "The server was stopped while the request was open. It is resumed where the thread is started again.";
    default:
      return reason satisfies never;
  }
}

/** The error of a run that waits. Its token is not enumerable, so that logging the error does not log the token. */
export function requestWaiting(requestId: string, token: string | undefined): RequestError {
  const message = "The run waits for a call to be approved or answered. Continue its `token` with what was decided.";
  const error = new RequestError({ code: "request_waiting", requestId, message });
  Object.defineProperty(error, "token", { value: token });
  return error;
}

/** The error of a refused ask, with one of the codes busy, empty_ask, unknown_tool, not_accepted, pending_overflow. */
export function notAccepted(requestId: string, { code, message, retryable = false }: Failure): RequestError {
  return new RequestError({ code, requestId, message, retryable });
}

export function queueFull(requestId: string, most: number): RequestError {
  const message = `${most} asks wait already (maxPending). Wait until one was taken, withdraw one, or raise maxPending.`;
  return new RequestError({ code: "queue_full", requestId, retryable: true, message });
}

/** The error of an ask whose id or key has other content in the log, or in the inbox. */
export function requestReused(requestId: string, ref: string): RequestError {
  const key = ref === "requestId" ? "requestId" : `refs.${ref}`;
  const message = `A message with this ${key} was asked before with other content. Send changed content under a new ${key}. \`result\` has the answer to the earlier one.`;
  return new RequestError({ code: "request_id_reused", requestId, message });
}

/** An error as data. The text of any error other than a HeddleError is left out, because it may be secret. */
export function failureOf(error: unknown, otherwise: Failure): Failure {
  if (HeddleError.isInstance(error)) return { code: error.code, message: error.message, retryable: error.retryable };
  return otherwise;
}
