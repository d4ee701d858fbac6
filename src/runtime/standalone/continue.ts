import type { AnyAgent } from "../../agent/definition/config.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { AgentEvent } from "../../agent/event.ts";
import { openCalls, type Run } from "../../agent/react/state.ts";
import type { Signal } from "../../agent/signal.ts";
import type { Content, UserMessage } from "../../thread/message.ts";
import type { Loop } from "../loop.ts";
import { isSuspended, RequestError, requestCancelled } from "../request/request-error.ts";
import { AgentServer } from "../server/agent-server.ts";
import type { ApproveOptions } from "../server/options.ts";
import { factsOf } from "../server/request-values.ts";
import type { CancelOptions, ContinueOptions, Decisions, RunHandle, RunOptions } from "./options.ts";
import { beginRun } from "./run.ts";
import { endedHandle, handleOf, LastToken } from "./run-handle.ts";
import {
  agentAt,
  checkNotSuperseded,
  type RunSetup,
  type RunToken,
  readToken,
  revokedRun,
  runTokens,
  saveThread,
  setupOf,
  takeAtRest,
} from "./run-token.ts";

/** Resumes the run of a token from its checkpoint. */
export async function continueRun<Agent extends AnyAgent>(
  agent: Agent,
  token: string,
  options: ContinueOptions<Agent>,
): Promise<RunHandle<Agent>> {
  const { signal, revocations, query } = options;
  if (signal?.aborted) throw aborted();
  const setup = setupOf(agent, options);
  const verified = await readToken(token, agent, { ...setup, revocations });
  const restored = await agentAt(setup, verified);
  const { run, last: ended } = restored.state;
  if (query !== undefined) return askNext(agent, query, options, verified); // while the run is open, it is refused as busy
  if (ended !== undefined) return endedHandle(agent, restored, ended, token);
  if (run !== undefined) checkDecisions(run, options);
  const last = new LastToken(token);
  const { context, tools, headers } = options;
  if (tools !== undefined) await factsOf(tools); // throws here, because later it would fail the run
  let live: Loop | undefined;
  const opened = (loop: Loop): void => {
    live = loop;
  };
  const server = await openServer(agent, setup, verified, { context, tools, headers, listen: last.listen, opened });
  try {
    const { request } = server;
    if (request === undefined) {
      const now = live?.agent.state.last;
      if (live === undefined || now?.run.runId !== run?.runId || now === undefined)
        throw lost(verified.state.requestId);
      await server.stop({ graceMs: 0 }); // it ended as it was resumed, for example at its deadline
      return endedHandle(agent, live.agent, now, token);
    }
    cancelWith(server, request.id, signal);
    await decideAll(server, options);
    return handleOf(server, request, setup, last);
  } catch (error) {
    await server.stop({ graceMs: 0 }).catch(() => undefined); // the first error is the one to throw
    throw error;
  }
}

/** The next ask on the thread of a token: on its log, or on the thread in the store. */
async function askNext<Agent extends AnyAgent>(
  agent: Agent,
  query: Content | UserMessage,
  { query: _query, approve: _, deny: _deny, answers: _answers, revocations: _list, ...options }: ContinueOptions<Agent>,
  { thread, threadId }: RunToken,
): Promise<RunHandle<Agent>> {
  const place = thread === undefined ? { threadId } : { thread };
  return (await beginRun(agent, query, { ...options, ...place } as RunOptions<Agent>)).handle; // the caller typed its context
}

interface ServerStart {
  readonly context: unknown;
  /** The tools of the request. */
  readonly tools?: Tools | undefined;
  readonly headers?: ContinueOptions<AnyAgent>["headers"];
  readonly listen: (event: AgentEvent) => void;
  readonly opened?: (live: Loop) => void;
  /** A signal to post instead of resuming the run. */
  readonly instead?: Signal;
}

/** Starts a server on the thread of a token. It has resumed the run, or got the signal `instead`. */
async function openServer<Agent extends AnyAgent>(
  agent: Agent,
  setup: RunSetup,
  token: RunToken,
  { context, tools, headers, listen, opened, instead }: ServerStart,
): Promise<AgentServer<Agent>> {
  const { store, isOwn, ports, telemetry, warn, onError } = setup;
  const { thread, threadId, rev } = token;
  // If the store has the whole log already, another process may have resumed the run and started calls.
  let mayHaveStarted = thread === undefined;
  return AgentServer.open<Agent>(
    {
      agent,
      store,
      threadId,
      telemetry,
      ports,
      warn,
      onError,
      context: () => context as never, // typed by the caller
      ...(tools !== undefined && { tools: () => tools }),
      ...(headers !== undefined && { headers: () => headers }),
    },
    {
      unclaimed: isOwn,
      tokens: runTokens(setup, threadId),
      listen,
      ...(opened && { opened }),
      claimed: async () => {
        if (thread !== undefined) mayHaveStarted = (await saveThread(setup, thread)) >= rev;
      },
      first: async (current) => {
        checkNotSuperseded(current, token, instead !== undefined);
        if (instead !== undefined) return instead;
        // The log in a token ends before any open call has started.
        const untouched = !mayHaveStarted || (!isOwn && (await takeAtRest(store, current)));
        return { type: "resume", recover: "resume", untouched };
      },
    },
  );
}

function cancelWith(server: AgentServer, requestId: string, signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  const reason = "The signal of the request was aborted.";
  const cancel = (): void => {
    if (!isSuspended(signal)) server.cancel(requestId, reason).catch(() => undefined); // the request has ended
  };
  signal.addEventListener("abort", cancel, { once: true });
  void server.request?.result.catch(() => undefined).then(() => signal.removeEventListener("abort", cancel));
  if (signal.aborted) cancel();
}

function aborted(): RequestError {
  return new RequestError({ code: "request_cancelled", message: "The signal was aborted before the run was resumed." });
}

function lost(requestId: string): RequestError {
  const message = "The store failed while the run was resumed. Continue the token again.";
  return new RequestError({ code: "runtime_failed", requestId, retryable: true, message });
}

/** Throws before anything runs if a call is not open, or has two decisions. */
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

/** Sends the decisions to the server, after the run has reached the state in which it waits for them. */
async function decideAll(server: AgentServer<AnyAgent>, { approve, deny, answers = {} }: Decisions): Promise<void> {
  if (idsOf(approve).length + idsOf(deny).length + Object.keys(answers).length === 0) return;
  for await (const _event of server.request?.events({ until: "waiting" }) ?? []);
  for (const [toolCallId, decider] of decidersOf(approve)) await server.approve(toolCallId, decider);
  for (const [toolCallId, output] of Object.entries(answers)) await server.answer(toolCallId, output);
  for (const [toolCallId, decider] of decidersOf(deny)) await server.deny(toolCallId, decider);
}

type Deciders = Decisions["approve"];

function decidersOf(decisions: Deciders): readonly (readonly [string, ApproveOptions])[] {
  if (decisions === undefined) return [];
  return isList(decisions) ? decisions.map((toolCallId) => [toolCallId, {}] as const) : Object.entries(decisions);
}

function idsOf(decisions: Deciders): readonly string[] {
  return decidersOf(decisions).map(([toolCallId]) => toolCallId);
}

function isList(decisions: NonNullable<Deciders>): decisions is readonly string[] {
  return Array.isArray(decisions);
}

/** Cancels the run of a token. No model or tool is called. */
export async function cancelRun<Agent extends AnyAgent>(
  agent: Agent,
  token: string,
  options: CancelOptions<Agent>,
): Promise<RunHandle<Agent>> {
  const { revocations } = options;
  const reason = (options.reason ?? "The run was cancelled.").toWellFormed();
  const setup = setupOf(agent, options);
  const verified = await readToken(token, agent, { ...setup, revocations });
  const restored = await agentAt(setup, verified);
  if (restored.state.last !== undefined) return endedHandle(agent, restored, restored.state.last, token);
  const { runId, requestId } = verified.state;
  const events: AgentEvent[] = [];
  const last = new LastToken(token);
  const listen = (event: AgentEvent): void => {
    last.listen(event);
    events.push(event);
  };
  const instead = { type: "cancel", reason } as const;
  const server = await openServer(agent, setup, verified, { context: options.context, listen, instead });
  await server.stop({ graceMs: 0 });
  // Revokes the run and not only this token, so that older tokens cannot resume it either.
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
