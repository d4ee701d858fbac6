import type { AgentContext, AgentOutput, AnyAgent } from "../../agent/definition/config.ts";
import type { AgentEvent } from "../../agent/event.ts";
import { secretsOf, type TokenConfig } from "../../checkpoint/config.ts";
import type { Content, UserMessage } from "../../thread/message.ts";
import { ignoreErrorsOf, systemWarn } from "../callbacks.ts";
import { RequestError, requestCancelled, requestFailed } from "../request/request-error.ts";
import { type CallSummary, endedWith, type RequestResult } from "../request/result.ts";
import { AgentServer } from "../server/agent-server.ts";
import type { AskArguments, AskOptions } from "../server/options.ts";
import { handleOf, LastToken } from "./handle.ts";
import type { RunHandle, RunOptions, RunResult } from "./options.ts";
import { placeOf, savedWhole, tokensIn } from "./place.ts";

/** A run, and the server behind it. */
export interface Begun<Given extends AnyAgent> {
  readonly handle: RunHandle<Given>;
  readonly server: AgentServer<Given>;
}

interface Checkpoints {
  /** Called at each checkpoint: the run goes on when it resolves. */
  readonly told?: (() => Promise<void>) | undefined;
  /** Nobody sees the tokens as long as the run does not wait. */
  readonly isUnseen?: boolean;
}

/** Asks and waits for the result. Only who is handed a token, because the run waits, has to hear that no secret signs it. */
export async function runOnce<Given extends AnyAgent>(
  agent: Given,
  content: Content | UserMessage,
  options: RunOptions<Given>,
): Promise<RunResult<AgentOutput<Given>>> {
  const { handle } = await beginRun(agent, content, options, { isUnseen: true });
  return handle.result.catch((error: unknown) => {
    const waits = RequestError.isInstance(error) && error.code === "request_waiting";
    if (waits) secretsOf(agent.tokenSecret, ignoreErrorsOf(options.warn ?? systemWarn));
    throw error;
  });
}

/** Asks once, on a thread that is the caller's. */
export async function beginRun<Given extends AnyAgent>(
  agent: Given,
  content: Content | UserMessage,
  options: RunOptions<Given>,
  { told, isUnseen = false }: Checkpoints = {},
): Promise<Begun<Given>> {
  const { thread, threadId: named, store: _, telemetry: _telemetry, ports: _ports, warn: _warn, ...others } = options;
  const { onError: _onError, ...ask } = others;
  if (thread !== undefined && named !== undefined && named !== thread.id) throw otherThread();
  const place = placeOf(agent, options);
  const { store, isOwn, ports, telemetry, warn, onError } = place;
  const threadId = named ?? thread?.id ?? ports.ids("thread");
  const last = new LastToken();
  const tokens = tokensIn(place, threadId);
  const server = await AgentServer.open<Given>(
    { agent, store, threadId, telemetry, ports, warn, onError },
    {
      unclaimed: isOwn,
      tokens: { ...tokens, config: isUnseen ? unwarned(tokens.config) : tokens.config, told },
      listen: last.listen,
      claimed: async () => {
        if (thread !== undefined) await savedWhole(place, thread);
      },
      first: ({ state: { run } }) => {
        if (run !== undefined) throw busy(run.requestId);
        return undefined;
      },
    },
  );
  try {
    const given = [ask] as unknown as AskArguments<AskOptions<AgentContext<Given>>>; // what is left of its own options
    return { handle: handleOf(server, await server.ask(content, ...given), place, last), server };
  } catch (error) {
    await server.stop({ graceMs: 0 }).catch(() => undefined); // why the ask was refused is what is told
    throw error;
  }
}

/** The types want somebody to warn where the secret may be missing: here that comes later. */
function unwarned(config: TokenConfig): TokenConfig {
  return { ...config, warn: undefined } as TokenConfig;
}

/** A run never goes on with a request that somebody else has left open. */
function busy(requestId: string): RequestError {
  const message =
    "The thread has a request that is open: it was interrupted, or it waits for a call to be approved or answered. " +
    "Continue its token, or start the thread with AgentServer, and ask again.";
  return new RequestError({ code: "busy", requestId, retryable: true, message });
}

function otherThread(): RequestError {
  const message = "threadId and thread name two different threads. Give one of them.";
  return new RequestError({ code: "invalid_options", message });
}

interface Streamed extends Begun<AnyAgent> {
  readonly events: AsyncIterator<AgentEvent>;
}

/** Begins a run whose checkpoints wait for `told`. */
export type Begin = (told: () => Promise<void>) => Promise<Begun<AnyAgent>>;

/**
 * The events of a run that is pulled: it begins with the first `next`, and goes past a checkpoint when the event behind it is
 * asked for. Who stops there has a token behind which nothing was begun. Leaving it anywhere stops the run where it stands.
 */
export class EventStream implements AsyncIterableIterator<AgentEvent, undefined> {
  readonly #begin: Begin;
  readonly #signal: AbortSignal | undefined;
  #streamed: Promise<Streamed> | undefined;
  /** Lets the run go past the checkpoint at which it waits. */
  #go: (() => void) | undefined;
  /** Whether a checkpoint is the last that was handed out. */
  #isAtCheckpoint = false;
  /** Events that were asked for and have not come. */
  #wanted = 0;
  #isFree = false;
  #left: Promise<void> | undefined;

  /** `signal` cancels the run, also one that waits at a checkpoint. */
  constructor(begin: Begin, signal: AbortSignal | undefined) {
    this.#begin = begin;
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<AgentEvent, undefined>> {
    if (this.#left !== undefined) return { done: true, value: undefined };
    this.#wanted += 1;
    const { events, handle } = await this.#start();
    if (this.#isAtCheckpoint) this.#pass();
    const { done, value } = await events.next();
    this.#wanted -= 1;
    if (done !== true) {
      this.#isAtCheckpoint = value.kind === "checkpoint";
      if (this.#isAtCheckpoint && this.#wanted > 0) this.#pass(); // the event behind it is asked for already
      return { done: false, value };
    }
    // Its server has ended when this has; why it failed, the events have told.
    await handle.result.catch(() => undefined);
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<AgentEvent, undefined>> {
    this.#left ??= this.#leave();
    await this.#left;
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<never> {
    await this.return();
    throw error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #pass(): void {
    this.#isAtCheckpoint = false;
    this.#go?.();
  }

  #start(): Promise<Streamed> {
    this.#streamed ??= this.#begin(() => this.#told()).then((begun) => {
      const free = (): void => {
        this.#isFree = true;
        this.#go?.();
      };
      const signal = this.#signal;
      signal?.addEventListener("abort", free, { once: true });
      void begun.handle.result.catch(() => undefined).then(() => signal?.removeEventListener("abort", free));
      return { ...begun, events: begun.handle.events[Symbol.asyncIterator]() };
    });
    return this.#streamed;
  }

  #told(): Promise<void> {
    if (this.#isFree || this.#signal?.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#go = () => {
      this.#go = undefined;
      resolve();
    };
    return promise;
  }

  async #leave(): Promise<void> {
    if (this.#streamed === undefined) return;
    const streamed = await this.#streamed.catch(() => undefined);
    if (streamed === undefined) return; // it never began
    const { server } = streamed;
    const stopped = server.stop({ graceMs: 0 });
    this.#isFree = true;
    this.#go?.();
    await stopped.catch(() => undefined); // a claim that could not be given back runs out
  }
}

/** The result that a run's events tell of: the same as the run's own, but for the thread, which no event carries. */
export async function collectEvents(events: AsyncIterable<AgentEvent>): Promise<RequestResult> {
  const calls: CallSummary[] = [];
  let requestId: string | undefined;
  for await (const event of events) {
    requestId = event.requestId;
    switch (event.kind) {
      case "llm_completed":
        calls.push({ callId: event.callId, usage: event.data.usage, view: event.data.view });
        break;
      case "request_completed": {
        const { object, terminationReason, ...said } = event.data;
        const ended = endedWith(terminationReason, object);
        return Object.freeze({ requestId, runId: event.runId, ...said, calls, ...ended });
      }
      case "request_failed":
        throw requestFailed(requestId, event.data.failure);
      case "request_cancelled":
        throw requestCancelled(requestId, event.data.reason);
      default:
        break;
    }
  }
  const message =
    "The events ended without a terminal one: the run waits, or the stream was cut. Continue its last token.";
  throw new RequestError({ code: "events_incomplete", message, ...(requestId !== undefined && { requestId }) });
}
