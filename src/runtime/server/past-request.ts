import type { EventDraft, Suspension } from "../../agent/event.ts";
import { usageOf } from "../../agent/react/finish.ts";
import { isAsk } from "../../agent/react/restore.ts";
import { continuedBy, type EndedRun, evolve, INITIAL_STATE, readRequestEnd } from "../../agent/react/state.ts";
import { CommandError } from "../../stores/errors.ts";
import type { Entry } from "../../thread/entry.ts";
import type { JsonObject } from "../../thread/json.ts";
import { lazyField } from "../../thread/lazy-field.ts";
import type { Thread } from "../../thread/thread.ts";
import { endOf } from "../live/inbox.ts";
import type { ThreadOptions } from "../perform/scene.ts";
import type { RuntimePorts } from "../ports.ts";
import { type AgentRequest, type EventsOptions, type LiveRequest, textOf } from "../request/request.ts";
import { notAccepted, RequestError, requestCancelled, requestSuspended } from "../request/request-error.ts";
import type { RequestResult } from "../request/result.ts";
import { pastResult } from "../request/result.ts";
import { findOlderEntry } from "../session/load.ts";
import { retryStore } from "../session/store-retry.ts";
import { inTime } from "../time-limits.ts";
import { FollowedLog, followEntry } from "./followed-events.ts";
import type { ResultOptions } from "./options.ts";

/** A thread in which requests are searched. It may be live here or held by another process. */
export interface RequestLog {
  readonly agent: { readonly thread: Thread };
  readonly options: Pick<ThreadOptions, "definition" | "store" | "ports">;
  readonly stopped: AbortSignal;
  /** Why this process does not run an open request. */
  readonly suspension: Suspension;
}

interface LiveLog extends RequestLog {
  request(requestId: string): LiveRequest | undefined;
}

/** The result of a request: a running one is waited for, at most `timeoutMs`; one that ended before is read from the log. */
export async function resultOfRequest(
  live: LiveLog,
  requestId: string,
  { timeoutMs }: ResultOptions,
): Promise<RequestResult> {
  const known = live.request(requestId);
  if (known !== undefined) return resultOfKnown(known, { timeoutMs }, live.options.ports);
  const ask = await findAsk(live, "requestId", requestId);
  if (ask === undefined) throw await withoutAsk(live.options, live.agent.thread.id, requestId);
  const { entries, ended } = await endedRequest(live, ask);
  return pastResult(live.options.definition, entries, ended);
}

/** The result of a request that has a handle: it is waited for, at most `timeoutMs`. */
export async function resultOfKnown(
  request: AgentRequest,
  { timeoutMs }: ResultOptions,
  ports: RuntimePorts,
): Promise<RequestResult> {
  const settled = request.settled();
  if (timeoutMs !== undefined && !(await inTime(ports, timeoutMs, settled))) throw timedOut(request.id, timeoutMs);
  if ((await settled) === "waiting") throw waits(request.id);
  return request.result;
}

/** The newest ask with this ref in the whole log. A request id is found by the index of the store, other refs by a scan. */
export async function findAsk(live: RequestLog, ref: string, value: string): Promise<Entry | undefined> {
  const { thread } = live.agent;
  const loaded = thread.filterByRef(ref, value, { partial: true }).findLast(isAsk);
  if (loaded !== undefined) return loaded;
  const is = (entry: Entry): boolean => entry.refs[ref] === value && isAsk(entry); // checks again, because a store may ignore the option `refs`
  const { store, ports } = live.options;
  const wanted = { kinds: ["ai_message", "note"], refs: { [ref]: value }, is };
  return findOlderEntry({ store, ports, signal: live.stopped }, thread, wanted);
}

/** An ended request from the log: its events, from the first to the terminal one, and its result. */
export async function pastRequest(live: RequestLog, ask: Entry): Promise<AgentRequest> {
  const { entries, ended } = await endedRequest(live, ask);
  const { requestId, runId, lane } = ended.run;
  const result = pastResult(live.options.definition, entries, ended);
  const continues = continuedBy(ask);
  const started = { kind: "request_started", data: { lane, ...(continues !== undefined && { continues }) } } as const;
  const log = new FollowedLog({ id: requestId, runId });
  for (const entry of entries) log.take((followed) => followEntry(followed, entry, [started]));
  log.push({
    ...(await terminalEvent(ended, result)),
    at: entries.at(-1)?.at ?? ask.at,
    iteration: ended.run.iteration,
  });
  log.events.close();
  const request: Omit<AgentRequest, "textStream"> = {
    id: requestId,
    runId,
    state: "done",
    result,
    settled: async () => "done",
    events: (_options?: EventsOptions) => log.events.iterate(),
  };
  return lazyField(request, "textStream", () => textOf(log.events));
}

interface Ended {
  readonly entries: readonly Entry[];
  readonly ended: EndedRun;
}

async function endedRequest(live: RequestLog, ask: Entry): Promise<Ended> {
  const requestId = ask.refs.requestId ?? "";
  const entries = await entriesOf(live, ask, requestId);
  const { last } = entries.reduce(evolve, INITIAL_STATE);
  if (last === undefined) throw requestSuspended(requestId, live.suspension); // open, but not run by this process
  return { entries, ended: last };
}

/** The entries from the ask to the end. Reads those that are not loaded. */
async function entriesOf(
  { agent: { thread }, options: { store } }: RequestLog,
  ask: Entry,
  requestId: string,
): Promise<readonly Entry[]> {
  if (ask.seq >= thread.firstSeq) return thread.filterByRef("requestId", requestId, { partial: true });
  const entries: Entry[] = [];
  for await (const entry of store.read(thread.id, { fromSeq: ask.seq, refs: { requestId } })) {
    entries.push(entry);
    if (readRequestEnd(entry.payload as JsonObject) !== undefined) break; // payloads are JSON
  }
  return entries;
}

export async function terminalEvent({ end, run }: EndedRun, result: Promise<RequestResult>): Promise<EventDraft> {
  result.catch(() => undefined); // reading only events must not raise an unhandled rejection
  if (end.status === "failed") return { kind: "request_failed", data: { failure: end.failure, ...usageOf(run) } };
  if (end.status === "cancelled") return { kind: "request_cancelled", data: { reason: end.reason, ...usageOf(run) } };
  const { text, terminationReason, finishReason, usage, usageByModel, object } = await result;
  const data = {
    text,
    terminationReason,
    usage,
    usageByModel,
    ...(finishReason !== undefined && { finishReason }),
    ...(object !== undefined && { object: object as never }), // JSON from the model
  };
  return { kind: "request_completed", data };
}

function waits(requestId: string): RequestError {
  const message =
    "The request waits for a call to be approved or answered: waiting() lists them. Decide, then ask again.";
  return new RequestError({ code: "request_waiting", requestId, message });
}

function timedOut(requestId: string, timeoutMs: number): RequestError {
  const message = `The request has no result after ${timeoutMs} ms and still runs. Ask for the result later, or cancel it.`;
  return new RequestError({ code: "result_timeout", requestId, retryable: true, message });
}

/** Why the log has no ask of the request. One that was refused or withdrawn while it waited has only an outcome in the inbox. */
export async function withoutAsk(
  { store, ports }: Pick<ThreadOptions, "store" | "ports">,
  threadId: string,
  requestId: string,
): Promise<RequestError> {
  const waits = (await retryStore(ports, () => store.pending(threadId))).some(({ id }) => id === requestId);
  if (waits) return requestNotFound(requestId); // `outcome` would wait for its end
  const outcome = await store.outcome(threadId, requestId).catch((error: unknown) => {
    if (CommandError.isInstance(error)) return undefined;
    throw error;
  });
  return (outcome && endedInQueue(requestId, outcome)) ?? requestNotFound(requestId);
}

/** The error of an ask that ended while it waited. Undefined for one that has begun. */
export function endedInQueue(requestId: string, outcome: Parameters<typeof endOf>[0]): RequestError | undefined {
  const end = endOf(outcome);
  if (end.status === "refused") return notAccepted(requestId, end);
  return end.status === "dropped" ? requestCancelled(requestId, "The ask was withdrawn before its turn.") : undefined;
}

export function requestNotFound(requestId: string): RequestError {
  const message = `The thread has no request ${requestId}. It was never accepted: ask again, with this requestId if you like.`;
  return new RequestError({ code: "request_not_found", requestId, message });
}
