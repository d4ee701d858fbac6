import type { AgentContext, AgentOutput, AnyAgent } from "../../agent/definition/config.ts";
import type { AgentEvent } from "../../agent/event.ts";
import { secretsOf, type TokenConfig } from "../../checkpoint/config.ts";
import type { Content, UserMessage } from "../../thread/message.ts";
import { ignoreErrorsOf, systemWarn } from "../callbacks.ts";
import { RequestError, requestCancelled, requestFailed } from "../request/request-error.ts";
import { type CallSummary, endedWith, type RequestResult } from "../request/result.ts";
import { AgentServer } from "../server/agent-server.ts";
import type { AskArguments, AskOptions } from "../server/options.ts";
import type { RunHandle, RunOptions, RunResult } from "./options.ts";
import { handleOf, LastToken } from "./run-handle.ts";
import { runTokens, saveWholeThread, setupOf } from "./run-token.ts";

/** A started run, and its server. */
export interface StartedRun<Agent extends AnyAgent> {
  readonly handle: RunHandle<Agent>;
  readonly server: AgentServer<Agent>;
}

interface CheckpointOptions {
  /** Called at each checkpoint. The run continues when it resolves. */
  readonly onCheckpoint?: (() => Promise<void>) | undefined;
  /** The caller gets no token before the run waits, so the warning about a missing secret comes only then. */
  readonly hidesTokens?: boolean;
}

/** Asks and waits for the result. Warns about a missing token secret only if the run waits, and so returns a token. */
export async function runOnce<Agent extends AnyAgent>(
  agent: Agent,
  content: Content | UserMessage,
  options: RunOptions<Agent>,
): Promise<RunResult<AgentOutput<Agent>>> {
  const { handle } = await beginRun(agent, content, options, { hidesTokens: true });
  return handle.result.catch((error: unknown) => {
    const waits = RequestError.isInstance(error) && error.code === "request_waiting";
    if (waits) secretsOf(agent.tokenSecret, ignoreErrorsOf(options.warn ?? systemWarn));
    throw error;
  });
}

/** Asks once, on the thread of the caller. */
export async function beginRun<Agent extends AnyAgent>(
  agent: Agent,
  content: Content | UserMessage,
  options: RunOptions<Agent>,
  { onCheckpoint, hidesTokens = false }: CheckpointOptions = {},
): Promise<StartedRun<Agent>> {
  const { thread, threadId: named, store: _, telemetry: _telemetry, ports: _ports, warn: _warn, ...others } = options;
  const { onError: _onError, ...ask } = others;
  if (thread !== undefined && named !== undefined && named !== thread.id) throw otherThread();
  const setup = setupOf(agent, options);
  const { store, isOwn, ports, telemetry, warn, onError } = setup;
  const threadId = named ?? thread?.id ?? ports.ids("thread");
  const last = new LastToken();
  const tokens = runTokens(setup, threadId);
  const server = await AgentServer.open<Agent>(
    { agent, store, threadId, telemetry, ports, warn, onError },
    {
      unclaimed: isOwn,
      tokens: { ...tokens, config: hidesTokens ? withoutWarn(tokens.config) : tokens.config, onCheckpoint },
      listen: last.listen,
      claimed: async () => {
        if (thread !== undefined) await saveWholeThread(setup, thread);
      },
      first: ({ state: { run } }) => {
        if (run !== undefined) throw busy(run.requestId);
        return undefined;
      },
    },
  );
  try {
    const rest = [ask] as unknown as AskArguments<AskOptions<AgentContext<Agent>>>; // the options of the ask
    return { handle: handleOf(server, await server.ask(content, ...rest), setup, last), server };
  } catch (error) {
    await server.stop({ graceMs: 0 }).catch(() => undefined); // the error of the ask is the one to throw
    throw error;
  }
}

/** Removes `warn`, although the type requires it: the warning comes when the run waits. */
function withoutWarn(config: TokenConfig): TokenConfig {
  return { ...config, warn: undefined } as TokenConfig;
}

/** A run does not resume an open request of its thread. */
function busy(requestId: string): RequestError {
  const message =
    "The thread has an open request: it was interrupted, or a call waits for an approval or an answer. " +
    "Continue its token, or start the thread with AgentServer, and ask again.";
  return new RequestError({ code: "busy", requestId, retryable: true, message });
}

function otherThread(): RequestError {
  const message = "threadId and thread name two different threads. Pass one of them.";
  return new RequestError({ code: "invalid_options", message });
}

interface StreamedRun extends StartedRun<AnyAgent> {
  readonly events: AsyncIterator<AgentEvent>;
}

/** Starts a run that calls `onCheckpoint` at each checkpoint, and waits for it. */
export type RunStarter = (onCheckpoint: () => Promise<void>) => Promise<StartedRun<AnyAgent>>;

/**
 * The events of a run that its reader controls. The run starts with the first `next`. At a checkpoint it pauses until the next
 * event is read, so a reader that stops there has a token after which nothing has started. `return` stops the run.
 */
export class EventStream implements AsyncIterableIterator<AgentEvent, undefined> {
  readonly #startRun: RunStarter;
  readonly #signal: AbortSignal | undefined;
  #run: Promise<StreamedRun> | undefined;
  /** Continues the run after the checkpoint at which it waits. */
  #resume: (() => void) | undefined;
  /** Whether the last event that was read is a checkpoint. */
  #isAtCheckpoint = false;
  /** Calls of `next` that wait for an event. */
  #pending = 0;
  /** Checkpoints do not pause the run any more. */
  #isStopped = false;
  #leaving: Promise<void> | undefined;

  /** `signal` cancels the run, also one that waits at a checkpoint. */
  constructor(startRun: RunStarter, signal: AbortSignal | undefined) {
    this.#startRun = startRun;
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<AgentEvent, undefined>> {
    if (this.#leaving !== undefined) return { done: true, value: undefined };
    this.#pending += 1;
    const { events, handle } = await this.#start();
    if (this.#isAtCheckpoint) this.#pass();
    const { done, value } = await events.next();
    this.#pending -= 1;
    if (done !== true) {
      this.#isAtCheckpoint = value.kind === "checkpoint";
      if (this.#isAtCheckpoint && this.#pending > 0) this.#pass(); // the next event is requested already
      return { done: false, value };
    }
    // Waits for the server to stop. The events have reported a failure.
    await handle.result.catch(() => undefined);
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<AgentEvent, undefined>> {
    this.#leaving ??= this.#leave();
    await this.#leaving;
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
    this.#resume?.();
  }

  #start(): Promise<StreamedRun> {
    this.#run ??= this.#startRun(() => this.#pauseAtCheckpoint()).then((started) => {
      const release = (): void => {
        this.#isStopped = true;
        this.#resume?.();
      };
      const signal = this.#signal;
      signal?.addEventListener("abort", release, { once: true });
      void started.handle.result.catch(() => undefined).then(() => signal?.removeEventListener("abort", release));
      return { ...started, events: started.handle.events[Symbol.asyncIterator]() };
    });
    return this.#run;
  }

  #pauseAtCheckpoint(): Promise<void> {
    if (this.#isStopped || this.#signal?.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#resume = resolve;
    return promise;
  }

  async #leave(): Promise<void> {
    if (this.#run === undefined) return;
    const run = await this.#run.catch(() => undefined);
    if (run === undefined) return; // the start failed
    const { server } = run;
    const stopped = server.stop({ graceMs: 0 });
    this.#isStopped = true;
    this.#resume?.();
    await stopped.catch(() => undefined); // a claim that cannot be released expires
  }
}

/** The result of a run, from its events. It has no thread, because events do not contain it. */
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
        const { object, terminationReason, ...fields } = event.data;
        const ended = endedWith(terminationReason, object);
        return Object.freeze({ requestId, runId: event.runId, ...fields, calls, ...ended });
      }
      case "request_failed":
        throw requestFailed(requestId, event.data.failure, undefined, event.data);
      case "request_cancelled":
        throw requestCancelled(requestId, event.data.reason, event.data);
      default:
        break;
    }
  }
  const message = "The events have no terminal event: the run waits, or the stream was cut. Continue its last token.";
  throw new RequestError({ code: "events_incomplete", message, ...(requestId !== undefined && { requestId }) });
}
