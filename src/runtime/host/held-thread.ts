import type { AnyAgent } from "../../agent/definition/config.ts";
import { ThreadHeldError } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Content, UserMessage } from "../../thread/message.ts";
import type { RuntimePorts } from "../ports.ts";
import type { AgentRequest } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import type { RequestResult } from "../request/result.ts";
import { askedBefore } from "../server/ask.ts";
import type { AskOptions, ResultOptions } from "../server/options.ts";
import { type RequestLog, resultOfRequest } from "../server/past-request.ts";
import { FIRST } from "../session/load.ts";
import { retryStore } from "../session/store-retry.ts";

/** A thread that another process holds. */
interface HeldThread {
  readonly threadId: string;
  readonly agent: AnyAgent;
  readonly store: ThreadStore;
  readonly ports: RuntimePorts;
  readonly stopped: AbortSignal;
  /** The error of the claim. */
  readonly held: ThreadHeldError;
}

/** A repeated ask does not wait for the claim: it is answered from the log, or refused because another process runs it. */
export async function repeatedAsk(
  thread: HeldThread,
  content: Content | UserMessage,
  options: AskOptions,
): Promise<AgentRequest | undefined> {
  const log = await logOf(thread);
  return log && askedBefore(log, content, options).catch(runsThere(thread));
}

/** The result of a request that has ended, from the log. An open one is refused because another process runs it. */
export async function resultElsewhere(
  thread: HeldThread,
  requestId: string,
  options: ResultOptions,
): Promise<RequestResult> {
  const log = await logOf(thread);
  if (log === undefined) throw thread.held;
  return resultOfRequest({ ...log, request: () => undefined }, requestId, options).catch(runsThere(thread));
}

async function logOf({ threadId, agent, store, ports, stopped, held }: HeldThread): Promise<RequestLog | undefined> {
  const thread = await retryStore(ports, () => store.load(threadId, { last: FIRST }));
  const suspension = { reason: "lost", holder: held.holder } as const;
  return thread && { agent: { thread }, options: { definition: agent, store, ports }, stopped, suspension };
}

function runsThere({ threadId, held: { holder, until } }: HeldThread): (error: unknown) => never {
  return (error) => {
    const isOpen = RequestError.isInstance(error) && error.code === "request_suspended";
    throw isOpen ? new ThreadHeldError(threadId, holder, until, error.requestId) : error;
  };
}
