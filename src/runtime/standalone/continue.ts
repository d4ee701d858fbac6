import type { AnyAgent } from "../../agent/definition/config.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { AgentEvent } from "../../agent/event.ts";
import type { Signal } from "../../agent/signal.ts";
import type { Thread } from "../../thread/thread.ts";
import { isSuspended, RequestError } from "../request/request-error.ts";
import type { AgentServer } from "../server/port.ts";
import { startServer } from "../server/start.ts";
import { factsOf } from "../server/toolbox.ts";
import { takeFromRest } from "./at-rest.ts";
import { checkDecisions, decideAll } from "./decisions.ts";
import { endedHandle } from "./ended.ts";
import { handleOf, LastToken } from "./handle.ts";
import type { ContinueOptions, RunHandle } from "./options.ts";
import { type Place, placeOf, saved, tokensIn } from "./place.ts";
import { checkStanding, type RunToken, readToken } from "./run-token.ts";
import { stoodAt } from "./stood.ts";

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
export async function openServer<Given extends AnyAgent>(
  agent: Given,
  place: Place,
  good: RunToken,
  { context, tools, listen, instead }: Opening,
): Promise<AgentServer<Given>> {
  const { store, isOwn, ports, telemetry, warn, onError } = place;
  const { thread, threadId, rev } = good;
  // A store that had all of it may have been gone on from; what was begun there is not known.
  let wentOn = thread === undefined;
  let isAtRest: (thread: Thread) => boolean = () => false;
  return startServer<Given>(
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
        if (!isOwn) isAtRest = await takeFromRest(store, threadId);
      },
      first: (standing) => {
        checkStanding(standing, good, instead !== undefined);
        // What a token carries was minted before any of these calls ran, as far as it can know.
        const untouched = !wentOn || isAtRest(standing.thread);
        return instead ?? { type: "resume", recover: "resume", untouched };
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
