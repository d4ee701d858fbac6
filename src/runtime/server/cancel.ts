import type { ReactAgent } from "../../agent/react/agent.ts";
import type { Signal } from "../../agent/signal.ts";
import type { Loop } from "../loop.ts";
import type { AgentRequest } from "../request/request.ts";
import { RequestError, requestCancelled, requestSuspended } from "../request/request-error.ts";
import { commandRefs } from "./command-refs.ts";
import { cutToSpoken } from "./modify.ts";
import type { CancelRequestOptions } from "./options.ts";
import { type PendingCommand, pendingAsk, pendingWords, withdrawAsks } from "./pending.ts";

const CANCELLED = "The ask was cancelled before its turn.";

/** Cancels the open request or a queued ask, and resolves when that is durable. */
export async function cancel(
  live: Loop,
  { requestId, reason }: { readonly requestId: string | undefined; readonly reason: string | undefined },
  { pending = "keep", spoken, ...sender }: CancelRequestOptions,
): Promise<boolean | readonly PendingCommand[]> {
  const refs = commandRefs(sender);
  const request = openRequest(live, requestId);
  const error = requestCancelled(requestId ?? "", reason ?? CANCELLED);
  const isOther = request === undefined && requestId !== undefined;
  const isStopped = live.live.stopping !== undefined;
  const mayWithdraw = !isStopped && (isOther || pending !== "keep");
  // The queued asks are removed first, in one commit, so that none of them starts when the request ends.
  const leaving = mayWithdraw ? withdrawAsks(live, isOther ? requestId : undefined, error) : [];
  const cancelling = request && live.command(cancelSignal(request.id, reason, { spoken, ...refs }));
  const [asks, cancelled] = await Promise.all([leaving, cancelling]);
  const hasEffect = request !== undefined && (await endOf(request)) === "cancelled";
  const wasQueued = isOther && asks.length > 0;
  if (spoken !== undefined && !wasQueued) await cutToSpoken(live, { requestId, spoken, ...sender });
  if (pending !== "return") return hasEffect || asks.length > 0;
  return [...(cancelled?.before.flight.steers ?? []).map(pendingWords), ...asks.map(pendingAsk)];
}

/**
 * The cancel of the open request of a thread that starts, instead of its resume: no work of it begins again. Undefined for another
 * request. Queued asks that are to be dropped must go before the request ends, so that is left to `cancel`.
 */
export function cancelAtStart(
  { state: { run } }: ReactAgent,
  { requestId, reason }: { readonly requestId: string | undefined; readonly reason: string | undefined },
  { pending = "keep", spoken, ...sender }: CancelRequestOptions = {},
): Extract<Signal, { type: "cancel" }> | undefined {
  if (run === undefined || pending !== "keep" || run.requestId !== (requestId ?? run.requestId)) return undefined;
  return cancelSignal(run.requestId, reason, { spoken, ...commandRefs(sender) });
}

/** Ends the open request with the results so far. False when there was none. */
export async function finish(live: Loop, requestId: string | undefined): Promise<boolean> {
  const request = openRequest(live, requestId);
  if (request === undefined) return false;
  await live.command({ type: "finish", requestId: request.id, terminationReason: "stopped" });
  await endOf(request);
  return true;
}

/** The request that runs or waits here, if it has this id. Throws for a suspended one, because its end is not known here. */
function openRequest({ current, live, suspension }: Loop, requestId: string | undefined): AgentRequest | undefined {
  const { request } = live;
  if (request === undefined || request.id !== (requestId ?? request.id)) return undefined;
  if (request.phase === "suspended") throw requestSuspended(request.id, suspension);
  return current;
}

function cancelSignal(
  requestId: string,
  reason: string | undefined,
  { spoken, ...refs }: ReturnType<typeof commandRefs> & { readonly spoken: string | undefined },
): Extract<Signal, { type: "cancel" }> {
  const cut = spoken === undefined ? {} : { spoken };
  return { type: "cancel", requestId, ...(reason !== undefined && { reason: reason.toWellFormed() }), ...cut, ...refs };
}

/** The request may have ended before the command came. Rejects for one that was suspended: another process may resume it. */
function endOf({ result }: AgentRequest): Promise<"completed" | "cancelled" | "failed"> {
  return result.then(
    () => "completed",
    (error: unknown) => {
      const code = RequestError.isInstance(error) ? error.code : undefined;
      if (code === "request_suspended") throw error;
      return code === "request_cancelled" ? "cancelled" : "failed";
    },
  );
}
