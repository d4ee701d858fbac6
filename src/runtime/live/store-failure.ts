import type { Suspension } from "../../agent/event.ts";
import { nextDue, willOnlyWait } from "../../agent/react/agent.ts";
import type { Failure, Signal } from "../../agent/signal.ts";
import { CommandError, ConflictError, StaleHolderError, StoreError, ThreadHeldError } from "../../stores/errors.ts";
import { failureOf, RequestError } from "../request/request-error.ts";
import { endToParent } from "./children.ts";
import { currentRequest, effects, followedBy, update, updateRequest, wait } from "./decision.ts";
import { consume, inboxRead, unwritten } from "./inbox.ts";
import type { Command, Hold, Outcomes } from "./live.ts";
import { forgetRequest, openRequest, removeRequestTools, suspendRequest, suspensionIn } from "./request-state.ts";
import type { Decision, LiveSignal, Moment } from "./signal.ts";
import { nextEventSeq } from "./thread-metadata.ts";

export const UNKNOWN: Failure = { code: "runtime_failed", message: "Unexpected internal error. See `cause`." };

/** After these errors this process can never write to the thread again. */
const PERMANENT_CODES: ReadonlySet<string> = new Set(["stale_holder", "store_closed", "thread_held"]);

export function isPermanent(error: unknown): boolean {
  return PERMANENT_CODES.has(failureOf(error, UNKNOWN).code);
}

/** Whether the thread was deleted. */
export function isDeleted(error: unknown): error is StoreError {
  return StoreError.isInstance(error) && error.code === "thread_not_found";
}

/**
 * Why the request is suspended. When another process may hold the thread, an end that is emitted here might not be the
 * only one.
 */
function suspensionOf(error: unknown): Suspension | undefined {
  if (StaleHolderError.isInstance(error) || ThreadHeldError.isInstance(error)) {
    const { holder } = error;
    return { reason: "lost", ...(holder !== undefined && { holder }) };
  }
  const isAway = StoreError.isInstance(error) && (error.retryable || error.code === "store_closed");
  return isAway ? { reason: "store" } : undefined;
}

/** After a failure the log is read again: soon at first, then at longer intervals. */
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 60_000;

/**
 * Handles a failed write; its entries count as not written. If another process may resume the request, it is suspended
 * here. Otherwise it has failed: the log is reloaded, the failure is appended, and only then is it emitted.
 */
export function breakDown(decision: Decision, error: unknown): Decision {
  const { broken, stopping } = decision.live;
  if (stopping !== undefined && stopping.phase !== "grace") return decision;
  if (broken !== undefined)
    return isPermanent(error) && !broken.isPermanent ? breakPermanently(decision, error) : decision;
  const failure = failureOf(error, UNKNOWN);
  const suspension = suspensionOf(error);
  const lost = isPermanent(error);
  const { nextRetryMs } = decision.live;
  const retryMs = nextRetryMs ?? FIRST_RETRY_MS;
  const request = currentRequest(decision.live);
  const state = { error, failure, suspension, isPermanent: lost, retryMs };
  let next = update(decision, { broken: state, work: [] });
  if (suspension !== undefined) next = suspendRequest(next, suspension, { failure, cause: error });
  else if (request !== undefined) {
    const { code, message } = failure;
    next = effects(updateRequest(next, { thrown: { error, code } }), {
      type: "interrupt",
      reason: new RequestError({ code, message }),
    });
  }
  next = effects(next, { type: "follow", fromSeq: undefined });
  if (request !== undefined && suspension?.reason !== "store") next = removeRequestTools(next, request.id);
  if (lost) return effects(next, { type: "lost", error });
  if (suspension === undefined && nextRetryMs === undefined) {
    const isBusy = decision.live.hold !== undefined;
    return isBusy ? followedBy(next, { type: "timer", name: "reload" }) : restore(next);
  }
  // A request that cannot be closed in the log stays open there until the log can be written.
  const left = suspendRequest(next, suspension ?? { reason: "store" }, { failure, cause: error });
  return effects(left, { type: "timer", name: "reload", ms: retryMs });
}

/** After a temporary failure: another process has the thread, or the store is closed. */
function breakPermanently(decision: Decision, error: unknown): Decision {
  const broken = {
    error,
    failure: failureOf(error, UNKNOWN),
    suspension: suspensionOf(error),
    isPermanent: true,
    retryMs: 0,
  };
  const lost = effects(update(decision, { broken }), { type: "timer", name: "reload", ms: undefined });
  return effects(suspendRequest(lost, suspensionIn(lost.live), {}), { type: "lost", error });
}

/**
 * How often one process resumes a request after its store was away, if nothing could be written in between. With a read-only
 * store it would call the model forever.
 */
const MAX_RESUMES = 3;

/** Reloads the log, then decides the signals `after`. */
export function restore(decision: Decision, ...after: readonly Command[]): Decision {
  const { agent, broken, given, request, recover, resumes } = decision.live;
  const of = given?.requestId ?? request?.id;
  const mayResume = broken?.suspension !== undefined && of !== undefined && recover !== "fail";
  const count = (resumes.of === of ? resumes.count : 0) + Number(!willOnlyWait(agent));
  const isResuming = mayResume && count <= MAX_RESUMES;
  const counted = mayResume ? update(decision, { resumes: { of, count } }) : decision;
  const off = effects(counted, { type: "timer", name: "reload", ms: undefined });
  const isGone = isDeleted(broken?.error);
  return wait(off, { type: "restore", isResuming, after }, (id) => {
    return { type: "restore", id, confirm: isResuming, isGone };
  });
}

/** The log was reloaded. A suspended request is resumed; a failed one is closed in the log. */
export function restored(
  before: Decision,
  { isResuming, after }: Extract<Hold, { type: "restore" }>,
  { agent: fresh, rows }: Extract<LiveSignal, { type: "restored" }>,
  { threadId, clock }: Pick<Moment, "threadId" | "clock">,
): Decision {
  const { run } = fresh.state;
  const { given, request } = before.live;
  const isUnwritten = given !== undefined && ![request?.id, run?.requestId].includes(given.requestId);
  const decision = isUnwritten ? forgetRequest(before, given.requestId) : before;
  const { live } = decision;
  const { broken } = live;
  if (broken === undefined) return decision;
  if (broken.isPermanent) return refuse(decision, after, broken.error);
  // The agent emits the end of a run that it knows, even if the log has that end already.
  const isOver = request !== undefined && request.phase !== "over" && run?.runId !== request.runId;
  const { steers, deferred } = live.agent.flight;
  const systemPrompt = live.given?.systemPrompt ?? live.agent.flight.systemPrompt;
  const flight = {
    ...fresh.flight,
    ...(!live.postsCommands && { steers, deferred }),
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...(isOver && { runId: request.runId }),
  };
  const agent = { ...fresh, settings: live.agent.settings, flight };
  // A request that waits for people writes nothing when it is resumed, unless something is due.
  const isQuiet = isResuming && willOnlyWait(agent) && !run?.handedOver && (nextDue(agent) ?? Infinity) > clock;
  const nextRetryMs = isQuiet ? undefined : Math.min(2 * broken.retryMs, LONGEST_RETRY_MS);
  const reloaded = update(decision, { agent, broken: undefined, nextRetryMs });
  const { failure } = broken;
  const deleted = failure.code === "thread_not_found" ? failure : undefined;
  const read = (before: Decision): Decision => inboxRead(before, rows, { threadId, isFolded: true, deleted });
  if (run !== undefined) {
    // Otherwise its ask had no key, so its caller asks again.
    const isKnown = [request?.id, given?.requestId].includes(run.requestId);
    const resume: Signal =
      isResuming && isKnown
        ? { type: "resume", continued: true, ...(systemPrompt !== undefined && { systemPrompt }) }
        : { type: "resume", failure };
    const begun = read(openRequest(reloaded, run, nextEventSeq(agent.thread, run)));
    return followedBy(begun, { type: "agent", signal: resume }, ...after);
  }
  if (!isOver) return followedBy(read(reloaded), ...after);
  const { id: requestId, runId } = request;
  const { run: gone } = live.agent.state;
  const sends = deleted && gone ? endToParent(gone, { status: "failed", failure }) : [];
  // The notice ends the request. If the thread was deleted, the log has no request, and `close_request` ends it.
  const closed = followedBy(
    read(openRequest(reloaded, { requestId, runId }, 1)),
    { type: "agent", signal: { type: "notice" } },
    { type: "close_request", failure, cause: request.thrown?.error },
  );
  return followedBy(consume(closed, [], [], {}, sends), ...after);
}

/** Rejects the callers that waited for the log. */
function refuse(decision: Decision, waiting: readonly Command[], error: unknown): Decision {
  return waiting.reduce<Decision>((before, { reply }) => {
    return reply === undefined ? before : effects(before, { type: "settle", reply, error });
  }, decision);
}

/** The log could not be reloaded. */
export function notRestored(
  decision: Decision,
  { isResuming, after }: Extract<Hold, { type: "restore" }>,
  error: unknown,
): Decision {
  const { agent, broken, resumes } = decision.live;
  if (broken === undefined) return decision;
  const answered = refuse(decision, after, error);
  if (isPermanent(error)) return breakPermanently(answered, error);
  const { failure, error: cause, retryMs } = broken;
  const left = suspendRequest(answered, { reason: "store" }, { failure, cause });
  const later = update(left, {
    broken: { ...broken, retryMs: Math.min(2 * retryMs, LONGEST_RETRY_MS) },
    resumes: { ...resumes, count: resumes.count - Number(isResuming && !willOnlyWait(agent)) }, // nothing was resumed
  });
  return effects(later, { type: "timer", name: "reload", ms: retryMs });
}

/** Another process has written entries. They are read before anything else is decided. */
export const READ_ENTRIES: LiveSignal = { type: "agent", signal: { type: "notice" } };

/** Outcomes could not be written. Their callers hear of success only where the rows have left with their thread. */
export function notConsumed(decision: Decision, again: Outcomes, error: unknown): Decision {
  const { consumes, then, sends = [] } = again;
  const isConflict = ConflictError.isInstance(error);
  if (isConflict && error.actual > decision.live.agent.thread.rev) return followedBy(decision, READ_ENTRIES, again);
  if (CommandError.isInstance(error)) {
    // Another process has changed or withdrawn one of the rows.
    if (consumes.some(({ id }) => id === error.commandId)) {
      return wait(decision, { type: "read_inbox", turn: undefined, again }, (id) => ({ type: "read_inbox", id }));
    }
    // The other thread has a command with this id already.
    if (sends.length > 0) return followedBy(decision, { ...again, sends: [] });
  }
  const broken = breakDown(decision, error);
  const isGone = isDeleted(error) || (isConflict && error.actual === 0);
  return effects(broken, ...(isGone ? then : unwritten(broken.live, again, error)));
}
