import type { AnyAgent } from "../agent/definition/config.ts";
import type { Tools } from "../agent/definition/tool.ts";
import type { Suspension } from "../agent/event.ts";
import type { ReactAgent } from "../agent/react/agent.ts";
import type { Signal } from "../agent/signal.ts";
import type { HeldSettings } from "../lanes/setting.ts";
import type { HeddleError } from "../thread/errors.ts";
import { warnOfChange } from "./callbacks.ts";
import { endOfWoken } from "./live/asks.ts";
import { decideLive } from "./live/decide-live.ts";
import type { CommandSettled, Live, Outcome, QueuedAsk, ToolFacts } from "./live/live.ts";
import { beginsNothing, isClosed } from "./live/perform-directive.ts";
import { dequeue, enqueue, NOTHING_CHECKED, skipNotDue } from "./live/queue.ts";
import { suspensionIn, workTime } from "./live/request-state.ts";
import { isDue } from "./live/schedule.ts";
import type { Change, Effect, LiveSignal, Moment, TimerName } from "./live/signal.ts";
import { RELEASE_LIMIT_MS } from "./live/stopping.ts";
import { answerOf, withdrawRow } from "./perform/answer.ts";
import { usedSoFar } from "./perform/call-model.ts";
import { type AskFunctions, askAborted, type PendingAsk, prepareAsk, warnOfRefused } from "./perform/prepare-ask.ts";
import {
  cancelOnAbort,
  followLog,
  leaveClaim,
  openRequest,
  PerformedCalls,
  performWork,
  releaseClaim,
} from "./perform/request-effects.ts";
import { ownModels, type Scene, type ThreadOptions, type TransientValues } from "./perform/scene.ts";
import type { AgentRequest, LiveRequest } from "./request/request.ts";
import { resultIn } from "./request/result.ts";
import { ScheduledRequest } from "./request/scheduled-request.ts";
import { pastRequest } from "./server/past-request.ts";
import { ThreadBlobs } from "./session/thread-blobs.ts";
import { mintToken } from "./session/tokens.ts";
import type { RequestSpan } from "./telemetry/telemetry.ts";
import { type HookLimit, inTime } from "./time-limits.ts";
import { Timers } from "./timers.ts";
import { findHeldTools, type HeldTools, toolSources } from "./tools/held-tools.ts";
import { toolPool } from "./tools/limits.ts";

/** The options and the parts that depend on the agent. A handoff replaces them. */
interface OwnParts extends Pick<HeldTools, "code" | "facts"> {
  readonly options: ThreadOptions;
  readonly scene: Scene;
}

/** Runs one live thread: takes a signal, decides, and performs the effects. All mutable state of a live thread is here. */
export class Loop {
  #own: OwnParts;
  #live: Live;
  readonly #queue: LiveSignal[] = [];
  #notDue = NOTHING_CHECKED;
  #isDeciding = false;
  #replies = 0;
  /** The handle of the last request, and its span. */
  #handle: LiveRequest | undefined;
  #span: RequestSpan | undefined;
  #follower: AbortController | undefined;
  readonly #waiting = new Map<string, PromiseWithResolvers<unknown>>();
  /** Callers that wait for the end of a command, by its id. */
  readonly #ends = new Map<string, PromiseWithResolvers<CommandSettled>>();
  readonly #asks = new Map<string, PendingAsk>();
  readonly #calls = new PerformedCalls(this);
  readonly #transient = new Map<string, TransientValues>();
  readonly #timers: Timers<TimerName>;
  /** Work that a stop waits for: all except tools, which may never end. */
  readonly #work = new Set<Promise<unknown>>();
  readonly #stopping = new AbortController();
  readonly #stopped = new AbortController();
  readonly #closed = Promise.withResolvers<void>();

  /** `facts` are those of the tools of the definition. */
  constructor(options: ThreadOptions, live: Live, { code, facts }: Pick<HeldTools, "code" | "facts">) {
    const { definition, store, ports, threadId, telemetry, modelPlaces } = options;
    this.#live = live;
    this.#timers = new Timers(ports, (name) => this.post({ type: "timer", name }));
    const scene: Scene = {
      definition,
      resolveModel: options.resolveModel,
      ...{ threadId, store, ports, telemetry, modelPlaces, stopping: () => this.#stopping.signal },
      pool: toolPool({ concurrency: definition.toolConcurrency }),
      agent: () => this.agent,
      fail: (failure) => this.post({ type: "agent", signal: { type: "fail", failure } }),
      tools: () => this.tools,
      isHeld: () => this.isHeld,
      ensureHeld: () => this.#ensureHeld(),
      doubtHeld: () => options.holder?.doubt(),
      scope: (requestId) => {
        const { requestId: of, context: given } = this.#live.given ?? {};
        return { requestId, threadId, context: (of === requestId ? given : undefined) as never }; // the caller has typed it
      },
      transient: (requestId = "") => this.#transient.get(requestId) ?? { models: ownModels(this.options.definition) },
      shown: (callId) => {
        const directive = this.#live.lastCall?.directive;
        return directive?.callId === callId ? directive.messages : [];
      },
      worked: () => workTime(this.#live.request, this.#moment()),
      isStopping: () => beginsNothing(this.#live),
      isClosed: (call) => isClosed(this.#live, call),
      rest: () => this.read(() => undefined).catch(() => undefined),
      began: (toolCallId) => this.post({ type: "begun", toolCallId }),
      warn: options.warnOnce,
      onError: options.onError,
      blobs: new ThreadBlobs(store, threadId, ports),
      wake: options.wake,
      asksAgents: options.sent !== undefined,
      handOff: options.handOff,
    };
    this.#own = { options, scene, code, facts };
  }

  get options(): ThreadOptions {
    return this.#own.options;
  }

  get scene(): Scene {
    return this.#own.scene;
  }

  /** The thread has another agent. `facts` are those of the tools of its definition. */
  become(definition: AnyAgent, facts: ToolFacts): void {
    const scene = { ...this.scene, definition, pool: toolPool({ concurrency: definition.toolConcurrency }) };
    this.#own = { options: { ...this.options, definition }, scene, code: definition.tools, facts };
  }

  get live(): Live {
    return this.#live;
  }

  get agent(): ReactAgent {
    return this.#live.agent;
  }

  /** The request that has not ended here. */
  get current(): LiveRequest | undefined {
    return this.#handle?.state === "done" ? undefined : this.#handle;
  }

  /** The handle of this request, if it is the last one. */
  request(requestId: string): LiveRequest | undefined {
    return this.#handle?.id === requestId ? this.#handle : undefined;
  }

  /** Aborted when the thread is released. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  get suspension(): Suspension {
    return suspensionIn(this.#live);
  }

  /** The tools of the agent, and those of the request. */
  get tools(): Tools {
    return { ...this.#own.code, ...this.scene.transient(this.#live.given?.requestId).tools };
  }

  /** How long a function of the caller may take. */
  get hookLimit(): HookLimit {
    return { ports: this.options.ports, timeoutMs: this.options.definition.hookTimeoutMs };
  }

  /** Whether the claim is valid: no other process can hold the thread. */
  get isHeld(): boolean {
    return this.#live.broken === undefined && (this.options.holder?.isHeld ?? true);
  }

  async #ensureHeld(): Promise<boolean> {
    if (this.#live.broken !== undefined || (await this.options.holder?.ensure()) === false) return false;
    return this.#live.broken === undefined;
  }

  /** Throws if another process holds the thread. Calls the store only when the last renewal is too old. */
  async confirmHeld(): Promise<void> {
    if (this.#live.broken === undefined && !this.stopped.aborted) await this.options.holder?.check();
  }

  /** Decides the signals that are due, one after the other, and performs the effects of each. */
  post(...signals: readonly LiveSignal[]): void {
    enqueue(this.#queue, signals);
    if (this.#isDeciding) return;
    this.#isDeciding = true;
    try {
      for (;;) {
        this.#notDue = skipNotDue(this.#live, this.#queue, this.#notDue);
        const signal = dequeue(this.#queue, this.#notDue.count);
        if (signal === undefined) return;
        const { live, effects } = decideLive(this.#live, signal, this.#moment());
        this.#live = live;
        for (const effect of effects) this.#perform(effect);
        const next = effects.flatMap((effect) => (effect.type === "next" ? [effect.signal] : []));
        if (next.length > 0) this.#notDue = NOTHING_CHECKED;
        this.#queue.unshift(...next);
      }
    } finally {
      this.#isDeciding = false;
    }
  }

  #moment(): Moment {
    const { ports, threadId } = this.options;
    const [now, clock] = [ports.monotonic(), ports.clock()];
    const used = () => usedSoFar(this.#handle);
    return { now, clock, eventSeq: this.current?.eventSeq ?? 0, threadId, waiting: this.#queue.length, used };
  }

  /** Sends a command to the agent. Resolves when the command is durable and its effects have started. */
  async command(signal: Signal): Promise<Outcome> {
    return (await this.reply((reply) => ({ type: "agent", signal, reply }))) as Outcome; // as `settle` answers a turn
  }

  /** Sends a command that may be deferred. Resolves when it is durable or refused. `settled` has its end, and never rejects. */
  async send(id: string, signal: Signal): Promise<Outcome & { readonly settled: Promise<CommandSettled> }> {
    const known = this.#ends.get(id);
    const waiting = known ?? Promise.withResolvers<CommandSettled>();
    this.#ends.set(id, waiting);
    try {
      return { ...(await this.command(signal)), settled: waiting.promise };
    } catch (error) {
      if (known === undefined) this.#settleEnd(id, { end: { status: "dropped", reason: "closed" }, error });
      throw error;
    }
  }

  #settleEnd(id: string, settled: CommandSettled): void {
    this.#ends.get(id)?.resolve(settled);
    this.#ends.delete(id);
  }

  /** Reads from the agent, and loads more of the thread where that is needed. */
  async read<Value>(read: (agent: ReactAgent) => Value): Promise<Value> {
    return (await this.reply((reply) => ({ type: "read", read, reply }))) as Value; // what `read` returned
  }

  /** Loads what `read` would need. Never fails. */
  async readAhead(read: (agent: ReactAgent) => unknown): Promise<void> {
    await this.reply((reply) => ({ type: "read", read, reply, isAhead: true }));
  }

  async change(change: Change): Promise<void> {
    await this.reply((reply) => ({ type: "change", change, reply }));
  }

  /** Reloads the log after a failed write. Resolves when the agent is up to date with the log. */
  async reload(): Promise<void> {
    if (this.#live.broken !== undefined) await this.reply((reply) => ({ type: "reload", reply }));
  }

  /** Resolves to the answer to a signal. */
  reply(signal: (reply: string) => LiveSignal): Promise<unknown> {
    const reply = `reply ${++this.#replies}`;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(reply, waiting);
    this.post(signal(reply));
    return waiting.promise;
  }

  /** Sends an ask. Resolves when it is durable and the model call has started. One with a time: when it is durable. */
  ask(ask: Omit<QueuedAsk, "id">, functions: AskFunctions): Promise<AgentRequest> {
    const id = `ask ${++this.#replies}`;
    const { promise: durable, resolve: waits } = Promise.withResolvers<void>();
    const asked = Object.assign(Promise.withResolvers<AgentRequest>(), { functions, waits });
    this.#asks.set(id, asked);
    const { signal } = functions;
    const leave = (): void => this.post({ type: "withdraw", askId: id, error: askAborted() });
    signal?.addEventListener("abort", leave, { once: true });
    this.post({ type: "ask", ask: { ...ask, id } });
    const started = asked.promise.finally(() => signal?.removeEventListener("abort", leave));
    if (ask.at === undefined) return started;
    return Promise.race([started, durable.then(() => new ScheduledRequest(ask.requestId, started))]);
  }

  /** The queued ask that continues this request. */
  continuing(requestId: string): Promise<AgentRequest> | undefined {
    const ask = this.#live.asks.find(({ continues }) => continues === requestId);
    return ask && this.#asks.get(ask.id)?.promise;
  }

  /** Resolves when the first ask that waits was taken or refused, if its time has come. */
  async nextAsk(): Promise<void> {
    const [ask] = this.#live.asks;
    if (ask === undefined || !isDue(ask, this.options.ports.clock())) return;
    const asked =
      this.#asks.get(ask.id) ?? Object.assign(Promise.withResolvers<AgentRequest>(), { functions: undefined });
    this.#asks.set(ask.id, asked);
    await asked.promise.catch(() => undefined);
  }

  /** Finds the code of the tools that the next request has. */
  async prepareTools(held: HeldSettings): Promise<HeldTools> {
    const tools = await findHeldTools({ ...toolSources(this.options), facts: this.#own.facts }, held);
    this.#own = { ...this.#own, code: tools.code };
    return tools;
  }

  /** Sets values of a request that are not in the log. */
  setTransient(requestId: string, values: Partial<TransientValues>): void {
    this.#transient.set(requestId, { ...this.scene.transient(requestId), ...values });
  }

  /** Stops the thread. No work starts. Running work may end within the grace period; then the thread is released. */
  async stop(graceMs: number, why: HeddleError): Promise<void> {
    this.post({ type: "stop", graceMs, why });
    this.#stopping.abort();
    await this.#closed.promise;
  }

  /** Performs an effect. The result is not used. */
  #perform(effect: Effect): unknown {
    switch (effect.type) {
      case "append":
      case "catch_up":
      case "load":
      case "post":
      case "read_inbox":
      case "restore":
      case "shorten":
        return this.#answer(effect.id, answerOf(effect, this.#live.agent.settings, this.scene, this.options.holder));
      case "mint":
        return this.#answer(effect.id, this.#mint(effect));
      case "perform_call":
        return this.#calls.perform(effect);
      case "withdraw_row":
        return this.#track(withdrawRow(this.options, effect.commandId));
      case "start":
        return this.#start(effect);
      case "prepare":
        return this.#prepare(effect.ask);
      case "open_request":
        return this.#openRequest(effect);
      case "emit":
        return this.#emit(effect);
      case "rest":
        return this.#handle?.turn(effect.waits ? "waiting" : "running");
      case "complete": {
        const { run } = effect.ended;
        const entries = effect.thread.filterByRef("requestId", run.requestId, { partial: true });
        return this.request(run.requestId)?.complete(resultIn(entries, effect.ended, effect.object));
      }
      case "reject":
        return this.#handle?.reject(effect.error);
      case "suspend":
        this.#span?.suspended(this.#handle?.state === "waiting");
        return this.#handle?.suspend(effect.suspension, effect.iteration, effect.error);
      case "interrupt":
        return this.#handle?.abort.abort(effect.reason);
      case "sent":
        return this.options.sent?.(
          effect.threadId,
          effect.agent,
          this.scene.scope(this.#live.request?.id ?? "").context,
        );
      case "forget":
        return void this.#transient.delete(effect.requestId);
      case "settle":
        return this.#settle(effect);
      case "ask_waits":
        return this.#asks.get(effect.askId)?.waits?.();
      case "settle_ask":
        return this.#settleAsk(effect);
      case "outcome":
        return this.#settleEnd(effect.commandId, { end: effect.end });
      case "settle_all": {
        const settled = { end: { status: "dropped", reason: effect.reason }, error: effect.error } as const;
        return [...this.#ends.keys()].map((id) => this.#settleEnd(id, settled));
      }
      case "timer":
        return this.#timers.set(effect);
      case "follow":
        return this.#follow(effect.fromSeq);
      case "close":
        return void this.#close(effect.gaveUp);
      case "report":
        return this.options.onError(effect.error, effect.origin);
      case "warn":
        return this.options.warnOnce(effect.message);
      case "warn_of_change":
        return warnOfChange(this.options);
      case "lost":
        return this.options.lost(effect.error);
      case "next": // put first in the queue when all effects are performed
        return;
      default:
        return effect satisfies never;
    }
  }

  /** Other signals wait for the answer. */
  #answer(id: string, answer: Promise<LiveSignal>): void {
    const failed = (error: unknown): void => this.post({ type: "failed", id, error });
    answer.then((signal) => this.post(signal), failed);
  }

  /** Emits a token. The next work starts after its listener has received it. */
  async #mint({ id, agent, run, phase }: Extract<Effect, { type: "mint" }>): Promise<LiveSignal> {
    const { tokens } = this.options;
    const token = tokens && (await mintToken(tokens, agent, run, phase));
    if (token !== undefined) {
      const event = { kind: "checkpoint", data: { token, reason: phase } } as const;
      this.#emit({ type: "emit", event, iteration: run.iteration });
      if (phase !== "terminal") await tokens?.onCheckpoint?.();
    }
    return { type: "minted", id };
  }

  #start({ id, directive }: Extract<Effect, { type: "start" }>): void {
    const { requestId = "" } = directive;
    const work = performWork(this.scene, directive, this.request(requestId));
    if (work === undefined) return;
    const done = this.#worked(id, work);
    if (directive.type !== "tool_exec") this.#track(done);
  }

  /** Posts the result of work as one signal. Work that throws has an unexpected internal error. */
  async #worked(
    id: string,
    work: Promise<Omit<Extract<LiveSignal, { type: "agent" }>, "type" | "from"> | undefined>,
  ): Promise<void> {
    try {
      const result = await work;
      this.post(result === undefined ? { type: "worked", id } : { ...result, type: "agent", from: id });
    } catch (error) {
      this.post({ type: "worked", id, error });
    }
  }

  #track(work: Promise<unknown>): void {
    const tracked = work.finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
  }

  #prepare(ask: QueuedAsk): void {
    const same = this.#live.asks.filter((one) => one === ask || (ask.row && one.requestId === ask.requestId));
    const [functions] = same.flatMap(({ id }) => this.#asks.get(id)?.functions ?? []);
    prepareAsk(this, ask, functions).then(
      (signal) => this.post(signal),
      (error: unknown) => this.post({ type: "unprepared", askId: ask.id, error }),
    );
  }

  #openRequest(effect: Extract<Effect, { type: "open_request" }>): void {
    const before = this.#handle?.id === effect.requestId ? this.#handle.eventSeq : 0;
    ({ handle: this.#handle, span: this.#span } = openRequest(this.options, this.scene, { ...effect, before }));
  }

  #emit({ event, iteration, isReplayed = false }: Extract<Effect, { type: "emit" }>): void {
    const request = this.#handle;
    if (!isReplayed) request?.emit(event, iteration);
    else if (!request?.hasTold(event)) request?.emit({ ...event, replayed: true }, iteration);
  }

  #settle({ reply, turn, value, ...rest }: Extract<Effect, { type: "settle" }>): void {
    const waiting = this.#waiting.get(reply);
    this.#waiting.delete(reply);
    if ("error" in rest) waiting?.reject(rest.error);
    else if (turn === undefined) waiting?.resolve(value);
    else waiting?.resolve({ before: turn.before, after: this.agent, directives: turn.performed } satisfies Outcome);
  }

  #settleAsk({ askId, known, ...rest }: Extract<Effect, { type: "settle_ask" }>): void {
    const asked = this.#asks.get(askId);
    const request = this.#handle;
    this.#asks.delete(askId);
    const woken = endOfWoken(askId, this.agent, known, rest);
    if (woken !== undefined) this.#settleEnd(woken.id, { end: woken.end });
    if (asked?.functions === undefined && "error" in rest) warnOfRefused(this.options, askId, rest.error);
    if (known !== undefined) asked?.resolve(this.request(known.refs.requestId ?? "") ?? pastRequest(this, known));
    else if ("error" in rest || request === undefined) asked?.reject(rest.error);
    else {
      cancelOnAbort(request, asked?.functions?.signal, (signal) => this.post({ type: "agent", signal }));
      asked?.resolve(request);
    }
  }

  /** Watches the log while a request waits: another process may write a decision into it. */
  #follow(fromSeq: number | undefined): void {
    this.#follower?.abort();
    this.#follower = undefined;
    if (fromSeq === undefined) return;
    const follower = new AbortController();
    this.#follower = follower;
    followLog(this.scene, fromSeq, follower.signal, () => this.command({ type: "notice" })).catch((error: unknown) => {
      if (!follower.signal.aborted) this.post({ type: "lost", error });
    });
  }

  async #close(gaveUp: boolean): Promise<void> {
    this.#stopped.abort(this.#live.stopping?.why);
    this.#timers.clear();
    if (gaveUp || !(await inTime(this.options.ports, RELEASE_LIMIT_MS, this.#release()))) leaveClaim(this.options);
    this.#closed.resolve();
  }

  async #release(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled(this.#work);
    await releaseClaim(this.options);
  }
}
