import type { AnyAgent, OnNeedsSummary } from "../../agent/definition/config.ts";
import { checkAgent } from "../../agent/definition/define-agent.ts";
import type { AgentEvent } from "../../agent/event.ts";
import { type ReactAgent, wasHandedOver, willOnlyWait } from "../../agent/react/agent.ts";
import { heldFor } from "../../agent/react/call-context.ts";
import type { Run } from "../../agent/react/state.ts";
import type { Failure, Signal } from "../../agent/signal.ts";
import { StaleHolderError, ThreadHeldError } from "../../stores/errors.ts";
import type { Refs } from "../../thread/entry.ts";
import type { HeddleError } from "../../thread/errors.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import { checkPrices } from "../ask-options.ts";
import { ignoreErrorsOf, systemWarn, warnOnce } from "../callbacks.ts";
import { becoming, supplying } from "../live/asks.ts";
import { type Live, newLive, type RemoteCall } from "../live/live.ts";
import type { RequestValues } from "../live/signal.ts";
import { Loop } from "../loop.ts";
import { chooseModels, findModelsAgain, namesOf } from "../model/find-models.ts";
import { moveEarlierOperation, waitingRows } from "../perform/answer.ts";
import type { AskFunctions } from "../perform/prepare-ask.ts";
import { notePosted, type PostedCommands } from "../perform/request-effects.ts";
import { ownModels, type PerformedCall, type ThreadOptions, type TransientValues } from "../perform/scene.ts";
import { runtimePorts } from "../ports.ts";
import { failureOf, RequestError } from "../request/request-error.ts";
import { Holder } from "../session/holder.ts";
import { loadAgent } from "../session/load.ts";
import type { NodeLease } from "../session/node-lease.ts";
import { refTokens, type TokenPorts, type Tokens, tokenConfigOf } from "../session/tokens.ts";
import { guardTelemetry, noTelemetry } from "../telemetry/telemetry.ts";
import { untilAborted } from "../time-limits.ts";
import { findHeldTools, toolSources } from "../tools/held-tools.ts";
import { explainNext } from "./explain.ts";
import type { AskOptions, ServerOptions } from "./options.ts";
import { again, loadCounter, makeAgain, promptFor, ValueFunctionError } from "./request-values.ts";
import { settingsFor } from "./settings.ts";

export const LEASE_TTL_MS = 10_000;

type PerformCall = () => Promise<PerformedCall | undefined>;

export interface StartHooks {
  readonly listen?: (event: AgentEvent) => void;
  /** Called after the commit of a time at which the thread must be live. Its timers start it while it is. */
  readonly wake?: (at: number) => void;
  readonly tokens?: Tokens;
  /** The lease of the host. Default: a lease of this server. */
  readonly lease?: NodeLease | undefined;
  /** The tools that were registered on the thread before. Default: none. */
  readonly registered?: ThreadOptions["registered"] | undefined;
  /** Another thread got a command, or may have to be started for its own. Default: no host serves it. */
  readonly sent?: ThreadOptions["sent"];
  /** The places of the host for model calls. Default: no limit. */
  readonly modelPlaces?: ThreadOptions["modelPlaces"];
  /** The agents that the host serves, and called when the thread has another one of them. */
  readonly agents?: ReadonlyMap<string, AnyAgent> | undefined;
  readonly became?: ((name: string) => void) | undefined;
  /** Only this process uses the store, so the thread needs no claim. */
  readonly unclaimed?: boolean;
  /** Returns the signal for an open request, instead of `recover`. If it throws, the start fails. */
  readonly first?: ((agent: ReactAgent) => Signal | undefined | Promise<Signal | undefined>) | undefined;
  /** Resolves when an ask without a caller here may begin. If not, releases the thread. Default: at once. */
  readonly mayStart?: ThreadOptions["mayStart"];
  /** Called when the thread is claimed, before it is read. If it throws, the start fails. */
  readonly claimed?: () => Promise<void>;
  /** Called when the server stops by itself: another process holds the thread, or the store is closed. */
  readonly lost?: () => void;
  /** Answers the call of another process. Default: with `perform`, which calls the method of the server. */
  readonly answerCall?: (call: RemoteCall, perform: PerformCall) => ReturnType<PerformCall>;
  /** Called when the thread is live, before the server is returned. */
  readonly opened?: (live: Loop) => void;
}

/**
 * Starts the loop of a thread. Ends when its signal is aborted, even if the store or a function of the caller never
 * answers.
 */
export async function startLoop<Agent extends AnyAgent>(
  options: ServerOptions<Agent>,
  hooks: StartHooks,
  performCall: ThreadOptions["performCall"],
): Promise<Loop> {
  const { signal = new AbortController().signal } = options;
  try {
    return await untilAborted(signal, () => start(options, hooks, performCall, signal));
  } catch (error) {
    throw signal.aborted ? givenUp() : error;
  }
}

async function start<Agent extends AnyAgent>(
  options: ServerOptions<Agent>,
  hooks: StartHooks,
  performCall: ThreadOptions["performCall"],
  signal: AbortSignal,
): Promise<Loop> {
  const { agent, store, context = () => undefined as never } = options;
  const warn = ignoreErrorsOf(options.warn ?? systemWarn);
  const telemetry = options.telemetry === undefined ? noTelemetry : guardTelemetry(options.telemetry);
  checkAgent("agent", agent);
  const ports = runtimePorts(options.ports);
  const threadId = options.threadId ?? ports.ids("thread");
  const ttlMs = options.leaseTtlMs ?? LEASE_TTL_MS;
  let loop: Loop | undefined;
  let early: { readonly error: unknown } | undefined;
  const lost = (error: unknown): void => {
    if (loop === undefined) early = { error };
    else loop.post({ type: "lost", error });
  };
  const claim = {
    holder: options.holder ?? ports.ids("holder"),
    ttlMs,
    lease: hooks.lease,
    waitMs: options.claimWaitMs ?? ttlMs,
    ports,
    lost,
    signal,
  };
  const posted = hooks.unclaimed ? undefined : notePosted(store, threadId);
  const holder = posted && (await claimed(posted, Holder.claim(store, threadId, claim)));
  const letGo = (): void => void holder?.release().catch(() => undefined); // stops the renewal, even if the release fails
  signal.addEventListener("abort", letGo, { once: true });
  try {
    signal.throwIfAborted();
    const tokens = hooks.tokens ?? tokensOf(agent, threadId, { warn, clock: ports.clock });
    await hooks.claimed?.();
    const threadOptions: ThreadOptions = {
      definition: withSummaryHook(options),
      threadId,
      store,
      ports,
      telemetry,
      holder,
      warn,
      warnOnce: warnOnce(warn),
      onError: ignoreErrorsOf(options.onError),
      context,
      tools: options.tools,
      registered: hooks.registered ?? new Map(),
      resolveTool: options.resolveTool,
      resolveModel: options.resolveModel,
      headers: options.headers,
      tokens,
      listen: hooks.listen ?? (() => undefined),
      performCall,
      wake: hooks.wake ?? (() => undefined),
      sent: hooks.sent,
      mayStart: hooks.mayStart,
      modelPlaces: hooks.modelPlaces,
      handOff: hooks.agents && {
        serves: (name) => hooks.agents?.has(name) ?? false,
        change: async (name, signal) => {
          const next = hooks.agents?.get(name);
          if (next === undefined || loop === undefined) return undefined; // `serves` was asked first, and a request runs
          hooks.became?.(name);
          return handOver(loop, withSummaryHook({ ...options, agent: next }), signal);
        },
      },
      lost: (error) => {
        loop?.stop(0, lostBecause(threadId, error) ?? serverStopped()).catch(() => undefined); // the claim expires
        hooks.lost?.();
      },
    };
    loop = await openLoop(threadOptions, { first: hooks.first, posted }, signal);
    hooks.opened?.(loop);
    if (early !== undefined) loop.post({ type: "lost", error: early.error });
    if (signal.aborted) await loop.stop(0, serverStopped());
    return loop;
  } catch (error) {
    posted?.end();
    await holder?.release().catch(() => undefined); // the first error is reported
    throw error;
  } finally {
    signal.removeEventListener("abort", letGo);
  }
}

async function claimed(posted: PostedCommands, claim: Promise<Holder>): Promise<Holder> {
  try {
    return await claim;
  } catch (error) {
    posted.end();
    throw error;
  }
}

const hooked = new WeakMap<OnNeedsSummary, WeakMap<AnyAgent, AnyAgent>>();

/** The agent with the hook of its server. The threads of a host share one object, so that each warning is emitted once. */
function withSummaryHook({
  agent,
  onNeedsSummary,
}: Pick<ServerOptions<AnyAgent>, "agent" | "onNeedsSummary">): AnyAgent {
  if (onNeedsSummary === undefined) return agent;
  const known = hooked.get(onNeedsSummary) ?? new WeakMap<AnyAgent, AnyAgent>();
  hooked.set(onNeedsSummary, known);
  const own = known.get(agent) ?? { ...agent, onNeedsSummary };
  known.set(agent, own);
  return own;
}

/** Loads the thread and resumes what a crash has left: an open request, and waiting commands. */
async function openLoop(
  options: ThreadOptions,
  { first, posted }: { readonly first: StartHooks["first"]; readonly posted: PostedCommands | undefined },
  signal: AbortSignal,
): Promise<Loop> {
  const { definition, store, threadId, ports, holder } = options;
  const settings = await settingsFor(definition, { ports, warn: options.warnOnce });
  // Both at once: only the holder of the claim takes rows.
  const [loaded, waiting] = await Promise.all([
    loadAgent(store, threadId, settings, ports),
    waitingRows(options, holder),
  ]);
  const { tools, traits } = settings;
  const sources = { ...toolSources(options), facts: { tools, traits } };
  const { code, facts, unresolved } = await findHeldTools(sources, heldFor(loaded));
  const agent = { ...loaded, settings: { ...settings, ...facts } };
  const loop = new Loop(options, { ...startOf(agent, options), unresolved }, { code, facts: sources.facts });
  try {
    const { run } = agent.state;
    const asked = (await first?.(agent)) ?? ({ type: "resume", recover: definition.recover } as const);
    const isResumed = run !== undefined && asked.type === "resume" && asked.recover !== "fail";
    const given = isResumed ? await resumedValues(loop, run, signal) : undefined;
    // Version 0.1 stored an operation beside the log, only while a request was open.
    const isMoved = run !== undefined && holder !== undefined && (await moveEarlierOperation(loop.scene, holder.epoch));
    const rows = isMoved ? await waitingRows(loop.scene, holder) : waiting;
    await loop.reply((reply) => ({ type: "opened", rows, first: run && asked, given, reply }));
    posted?.readBy(loop);
    if (agent.thread.firstSeq > 0) await loop.readAhead(explainNext);
    if (run === undefined && asked.type === "resume") await loop.nextAsk(); // it is the request of the server
    return loop;
  } catch (error) {
    void loop.stop(0, serverStopped()).catch(() => undefined); // the caller did not get the loop
    throw error;
  }
}

/** Gives the thread to another agent, and the open request with the values of its ask. */
async function handOver(
  loop: Loop,
  definition: AnyAgent,
  signal: AbortSignal | undefined,
): Promise<Failure | undefined> {
  const { ports, warnOnce: warn, threadId, onError } = loop.options;
  const { run } = loop.agent.state;
  try {
    const settings = await settingsFor(definition, { ports, warn });
    loop.become(definition, settings);
    await loop.change(becoming(settings, rulesOf(definition)));
    if (run === undefined) return undefined;
    const { requestId, options: asked } = run;
    checkPrices(asked, definition);
    const held = heldFor(loop.agent, run);
    const found = await loop.prepareTools(held);
    const { context } = loop.scene.scope(requestId);
    const hookLimit = { ports, timeoutMs: definition.hookTimeoutMs, signal };
    const sources = { options: loop.options, hookLimit, wasHandedOver: true };
    const scope = { context, state: { threadId, requestId, thread: loop.agent.thread } };
    const chosen = await chooseModels(sources, undefined, held, scope);
    loop.setTransient(requestId, { models: chosen?.models ?? ownModels(definition) });
    const models = chosen && namesOf(chosen);
    const exactCounter = await loadCounter(loop, asked.contextPolicy ?? held.contextPolicy ?? {}, models?.names[0]);
    const prompt = await promptFor(sources, held, context);
    const tools = loop.live.given?.requestId === requestId ? loop.live.given.tools : undefined;
    await loop.change(supplying(requestId, { ...prompt, context, tools, models, exactCounter, held: found }));
    return undefined;
  } catch (error) {
    const failed = {
      code: "handoff_failed",
      message: `The agent ${definition.name} could not be started. See onError.`,
    };
    const failure = failureOf(error, failed);
    if (failure.code === failed.code)
      onError(error, { code: failed.code, threadId, ...(run && { requestId: run.requestId }) });
    return failure;
  }
}

/** The values of a continued request that are not stored: those that the caller passes now, else as for a resumed one. */
export async function continuedValues(
  { options: { threadId, context: contextOf, tools: toolsOf, headers: headersOf, ports, definition } }: Loop,
  { refs: json, options: asked }: Run,
  { context, tools, headers, model, signal }: AskOptions<unknown>,
): Promise<Omit<AskFunctions, "signal">> {
  const { hookTimeoutMs: timeoutMs, name: agent } = definition;
  const limit = { ports, timeoutMs, signal };
  const refs = json as Refs; // the refs of the ask
  try {
    return {
      context: context ?? (await again("context", limit, () => contextOf(threadId, refs, agent))),
      tools: tools ?? (await again("tools", limit, () => toolsOf?.(threadId, refs, agent))),
      headers:
        headers ?? (asked.askedHeaders && (await again("headers", limit, () => headersOf?.(threadId, refs, agent)))),
      model: model ?? (typeof definition.model === "function" ? undefined : asked.model),
    };
  } catch (error) {
    if (!(error instanceof ValueFunctionError)) throw error;
    const { code, message, cause } = error;
    throw new RequestError({ code, message, cause });
  }
}

/** The values of a resumed request that are not in the log, made again by functions of the caller. */
async function resumedValues(loop: Loop, run: Run, signal: AbortSignal): Promise<RequestValues> {
  const { values, error, isWhole } = await makeValues(loop, run, signal);
  if (isWhole) return values;
  // A request that waits needs them for its next call, which makes them.
  if (error !== undefined && !willOnlyWait(loop.agent)) {
    return { failed: { error: error.cause, code: error.code, message: error.message } };
  }
  const make = async (): ReturnType<NonNullable<TransientValues["makeMissing"]>> => {
    const { values: made, error: failed, isWhole: isAll } = await makeValues(loop, run, loop.stopped);
    if (failed !== undefined) return { failure: { code: failed.code, message: failed.message }, isNewContext: false };
    if (isAll) loop.setTransient(run.requestId, { makeMissing: undefined });
    await loop.change(supplying(run.requestId, made));
    return { isNewContext: made.systemPrompt !== undefined || made.tools !== undefined };
  };
  let making: ReturnType<typeof make> | undefined;
  // Calls that run at once share an attempt.
  const makeMissing = () => {
    making ??= make().finally(() => {
      making = undefined;
    });
    return making;
  };
  loop.setTransient(run.requestId, { makeMissing });
  return values;
}

interface MadeValues {
  readonly values: RequestValues;
  /** A function failed. */
  readonly error?: ValueFunctionError;
  /** All were made, also the models. */
  readonly isWhole: boolean;
}

async function makeValues(
  loop: Loop,
  { requestId, refs: json, options: asked }: Run,
  signal: AbortSignal,
): Promise<MadeValues> {
  const { threadId, warnOnce: warn, onError, ports, definition } = loop.options;
  const limit = { ports, timeoutMs: definition.hookTimeoutMs, signal };
  const refs = json as Refs; // the refs of the ask
  try {
    const { context, tools, facts, headers } = await makeAgain(loop.options, { refs, asked }, limit);
    const isLost = asked.hasContext === true && context === undefined;
    if (isLost) warn(noContext(threadId, requestId));
    if (tools !== undefined) loop.setTransient(requestId, { tools });
    if (headers !== undefined) loop.setTransient(requestId, { headers });
    const held = heldFor(loop.agent);
    const sources = { options: loop.options, hookLimit: limit, wasHandedOver: wasHandedOver(loop.agent) };
    const scope = { context: context as never, state: { threadId, requestId, thread: loop.agent.thread } }; // the caller has typed it
    const found = await findModelsAgain(sources, asked.model, held, scope);
    if (found !== undefined) loop.setTransient(requestId, { models: found.models });
    const models = found && namesOf(found);
    const exactCounter = await loadCounter(loop, asked.contextPolicy ?? held.contextPolicy ?? {}, models?.names[0]);
    // Without its context the request makes no call, and the prompt could throw.
    const prompt = isLost ? {} : await untilAborted(signal, () => promptFor(loop, held, context));
    return { values: { ...prompt, context, tools: facts, models, exactCounter }, isWhole: found?.models.length !== 0 };
  } catch (error) {
    if (!(error instanceof ValueFunctionError)) throw error;
    onError(error.cause, { code: error.code, threadId, requestId });
    return { values: {}, error, isWhole: false };
  }
}

function noContext(threadId: string, requestId: string): string {
  return `Thread ${threadId}: the request ${requestId} was asked with a context and is resumed without one. It fails with options_lost at its next call. Give \`context\` here too: it is never stored.`;
}

/** The error of every later call of the server. */
function lostBecause(threadId: string, error: unknown): HeddleError | undefined {
  if (ThreadHeldError.isInstance(error)) return error;
  if (!StaleHolderError.isInstance(error)) return undefined;
  const { holder, until } = error;
  if (holder !== undefined && until !== undefined) return new ThreadHeldError(threadId, holder, until);
  const message = `Thread ${threadId} was claimed by another process, and this server has stopped. Start the thread again.`;
  return new RequestError({ code: "server_stopped", message });
}

/** The error of calls of a server that was stopped. */
export function serverStopped(): RequestError {
  return new RequestError({ code: "server_stopped", message: "This server was stopped. Start the thread again." });
}

function givenUp(): RequestError {
  const message = "The start was cancelled: its signal was aborted, or its host stopped. Start the thread again.";
  return new RequestError({ code: "server_stopped", message });
}

/** The tokens of a server refer to its thread, because the process that resumes reads the log. */
function tokensOf(agent: AnyAgent, threadId: string, ports: TokenPorts): Tokens | undefined {
  return agent.tokenSecret === undefined ? undefined : refTokens(tokenConfigOf(agent, ports), threadId);
}

function startOf(agent: ReactAgent, { definition, tokens, holder }: ThreadOptions): Live {
  const rules = { ...rulesOf(definition), mintsTokens: tokens !== undefined, postsCommands: holder !== undefined };
  const { handedTo, callId } = agent.state.run ?? agent.state.last?.run ?? {};
  const environment = environmentIn(agent);
  // The first call of the next agent has another environment, as it should.
  const known =
    handedTo !== undefined && handedTo.callId === callId ? { ...environment, hash: undefined } : environment;
  return { ...newLive(agent, rules), environment: known };
}

function rulesOf({ recover, busy, onRequestEnd }: AnyAgent): Pick<Live, "recover" | "queuesAsks" | "reportsEnds"> {
  return { recover, queuesAsks: busy === "queue", reportsEnds: onRequestEnd !== undefined };
}

/** The environment of the last recorded call, and whether it has changed before. The search ends at two different ones. */
function environmentIn({ thread }: ReactAgent): Live["environment"] {
  const found = new Set<string>();
  for (let seq = thread.lastSeq; seq >= thread.firstSeq && found.size < 2; seq--) {
    const call = (thread.at(seq)?.payload as JsonObject | undefined)?.["call"]; // payloads are JSON
    if (isPlainObject(call) && typeof call["environment"] === "string") found.add(call["environment"]);
  }
  const [hash] = found;
  return { hash, hasChanged: found.size > 1 }; // that change was reported
}
