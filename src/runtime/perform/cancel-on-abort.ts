import type { Signal } from "../../agent/signal.ts";
import type { LiveRequest } from "../request/request.ts";
import { isSuspended } from "../request/request-error.ts";

const ABORTED = "The signal of the request was aborted.";

/** Cancels the request when its caller's signal is aborted. */
export function cancelOnAbort(
  request: LiveRequest,
  signal: AbortSignal | undefined,
  send: (signal: Signal) => void,
): void {
  if (signal === undefined) return;
  const cancel = (): void => {
    if (isSuspended(signal)) return;
    request.abort.abort(new Error(ABORTED)); // what is about to begin need not
    send({ type: "cancel", requestId: request.id, reason: ABORTED });
  };
  if (signal.aborted) cancel();
  signal.addEventListener("abort", cancel, { once: true });
  void request.result.catch(() => undefined).then(() => signal.removeEventListener("abort", cancel));
}
