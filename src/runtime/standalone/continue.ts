import type { AnyAgent } from "../../agent/definition/config.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { AgentEvent } from "../../agent/event.ts";
import { openCalls, type Run } from "../../agent/react/state.ts";
import type { Signal } from "../../agent/signal.ts";
import { isSuspended, RequestError, requestCancelled } from "../request/request-error.ts";
import { AgentServer } from "../server/agent-server.ts";
import { factsOf } from "../server/given.ts";
import type { Decider } from "../server/options.ts";
import { endedHandle, handleOf, LastToken } from "./handle.ts";
import type { CancelOptions, ContinueOptions, Decisions, RunHandle } from "./options.ts";
import {
  checkStanding,
  type Place,
  placeOf,
  type RunToken,
  readToken,
  revokedRun,
  saved,
  stoodAt,
  takeAtRest,
  tokensIn,
} from "./place.ts";

/** Goes on with the run of a token, where the token says it stands. */
export async function continueRun<Given extends AnyAgent>(
  agent: Given,
  token: string,
  options: ContinueOptions<Given>,
): Promise<RunHandle<Given>> {
  const { signal, revocations } = options;
  if (signal?.aborted) throw aborted();
  const place = placeOf(agent, options);
  const good = await readToken(token, agent, { ...place, revocations });
  const stood = await stoodAt(place, good);
  const { run, last: ended } = stood.state;
  if (ended !== undefined) return endedHandle(agent, stood, ended, token);
  if (run !== undefined) checkDecisions(run, options);
  const last = new LastToken(token);
  const { context, tools } = options;
  if (tools !== undefined) await factsOf(tools); // refused here: later it would be the run that fails
  const server = await openServer(agent, place, good, { context, tools, listen: last.listen });
  try {
    const { request } = server;
    if (request === undefined) throw lost(good.state.requestId);
    cancelWith(server, request.id, signal);
    await decideAll(server, options);
    return handleOf(server, request, place, last);
  } catch (error) {
    await server.stop({ graceMs: 0 }).catch(() => undefined); // what went wrong first is what is told
    throw error;
  }
}

interface Opening {
  readonly context: unknown;
  /** Of its own. */
  readonly tools?: Tools | undefined;
  readonly listen: (event: AgentEvent) => void;
  /** What to do with the run instead of going on. */
  readonly instead?: Signal;
}

/** The thread of a token with its server, which has taken up the run. */
async function openServer<Given extends AnyAgent>(
  agent: Given,
  place: Place,
  good: RunToken,
  { context, tools, listen, instead }: Opening,
): Promise<AgentServer<Given>> {
  const { store, isOwn, ports, telemetry, warn, onError } = place;
  const { thread, threadId, rev } = good;
  // A store that had all of it may have been gone on from; what was begun there is not known.
  let wentOn = thread === undefined;
  return AgentServer.open<Given>(
    {
      agent,
      store,
      threadId,
      telemetry,
      ports,
      warn,
      onError,
      context: () => context as never, // as the caller typed it
      ...(tools !== undefined && { tools: () => tools }),
    },
    {
      unclaimed: isOwn,
      tokens: tokensIn(place, threadId),
      listen,
      claimed: async () => {
        if (thread !== undefined) wentOn = (await saved(place, thread)) >= rev;
      },
      first: async (standing) => {
        checkStanding(standing, good, instead !== undefined);
        if (instead !== undefined) return instead;
        // What a token carries was minted before any of these calls ran, as far as it can know.
        const untouched = !wentOn || (!isOwn && (await takeAtRest(store, standing)));
        return { type: "resume", recover: "resume", untouched };
      },
    },
  );
}

function cancelWith(server: AgentServer, requestId: string, signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  const reason = "The signal of the request was aborted.";
  const cancel = (): void => {
    if (!isSuspended(signal)) server.cancel(requestId, reason).catch(() => undefined); // it has ended by itself
  };
  signal.addEventListener("abort", cancel, { once: true });
  void server.request?.result.catch(() => undefined).then(() => signal.removeEventListener("abort", cancel));
  if (signal.aborted) cancel();
}

function aborted(): RequestError {
  return new RequestError({ code: "request_cancelled", message: "The signal was aborted before the run went on." });
}

function lost(requestId: string): RequestError {
  const message = "The run ended while it was taken up: its store failed. Continue the token once more.";
  return new RequestError({ code: "runtime_failed", requestId, retryable: true, message });
}

/** Refused before anything runs: a decision on a call that is not open, and two on one call. */
function checkDecisions(run: Run, { approve, deny, answers = {} }: Decisions): void {
  const ids = [...idsOf(approve), ...idsOf(deny), ...Object.keys(answers)];
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) {
    const message = `There are two decisions on call ${twice}. Make one.`;
    throw new RequestError({ code: "invalid_options", requestId: run.requestId, message });
  }
  const open = openCalls(run).map(({ call }) => call.id);
  const unknown = ids.find((id) => !open.includes(id));
  if (unknown === undefined) return;
  const message = `No call ${unknown} of this run waits for a decision. Open are: ${open.join(", ") || "none"}.`;
  throw new RequestError({ code: "not_waiting", requestId: run.requestId, message });
}

/** Passes on what was decided. Calls that have to be asked for first are: the run goes on until it waits for them. */
async function decideAll(server: AgentServer<AnyAgent>, { approve, deny, answers = {} }: Decisions): Promise<void> {
  if (idsOf(approve).length + idsOf(deny).length + Object.keys(answers).length === 0) return;
  for await (const _event of server.request?.events({ until: "waiting" }) ?? []);
  for (const [toolCallId, decider] of decidersOf(approve)) await server.approve(toolCallId, decider);
  for (const [toolCallId, output] of Object.entries(answers)) await server.answer(toolCallId, output);
  for (const [toolCallId, decider] of decidersOf(deny)) await server.deny(toolCallId, decider);
}

type Deciders = Decisions["approve"];

function decidersOf(given: Deciders): readonly (readonly [string, Decider])[] {
  if (given === undefined) return [];
  return isList(given) ? given.map((toolCallId) => [toolCallId, {}] as const) : Object.entries(given);
}

function idsOf(given: Deciders): readonly string[] {
  return decidersOf(given).map(([toolCallId]) => toolCallId);
}

function isList(given: NonNullable<Deciders>): given is readonly string[] {
  return Array.isArray(given);
}

/** Ends the run of a token where it stands, without another call. */
export async function cancelRun<Given extends AnyAgent>(
  agent: Given,
  token: string,
  options: CancelOptions<Given>,
): Promise<RunHandle<Given>> {
  const { revocations } = options;
  const reason = (options.reason ?? "The run was cancelled.").toWellFormed();
  const place = placeOf(agent, options);
  const good = await readToken(token, agent, { ...place, revocations });
  const stood = await stoodAt(place, good);
  if (stood.state.last !== undefined) return endedHandle(agent, stood, stood.state.last, token);
  const { runId, requestId } = good.state;
  const events: AgentEvent[] = [];
  const last = new LastToken(token);
  const listen = (event: AgentEvent): void => {
    last.listen(event);
    events.push(event);
  };
  const instead = { type: "cancel", reason } as const;
  const server = await openServer(agent, place, good, { context: options.context, listen, instead });
  await server.stop({ graceMs: 0 });
  // Of the run rather than of this token: older ones must not go on either.
  await revocations?.revoke(revokedRun(runId));
  const result = Promise.reject(requestCancelled(requestId, reason));
  result.catch(() => undefined); // an ignored result must not raise an unhandled rejection
  return Object.freeze({ runId, requestId, token: last.token, events: replayed(events), result });
}

function replayed(events: readonly AgentEvent[]): AsyncIterable<AgentEvent> {
  return {
    async *[Symbol.asyncIterator]() {
      yield* events;
    },
  };
}
