import type { Directive } from "../../agent/directive.ts";
import type { Suspension } from "../../agent/event.ts";
import { type InFlightState, isWaiting, type ReactAgent } from "../../agent/react/agent.ts";
import type { Run } from "../../agent/react/state.ts";
import type { Failure, Signal } from "../../agent/signal.ts";
import type { ContextOperation } from "../../lanes/context-operation.ts";
import type { JsonValue } from "../../thread/json.ts";
import { perform } from "../directives/perform.ts";
import type { Scene } from "../directives/scene.ts";
import type { HookLimit } from "../hook.ts";
import type { Receipt } from "../request/receipt.ts";
import type { LiveRequest } from "../request/request.ts";
import { failureOf, RequestError, requestFailed, requestSuspended } from "../request/request-error.ts";
import { Kept } from "../session/kept.ts";
import { loadAgent, shortened } from "../session/load.ts";
import type { OperationSettled } from "../session/operation-answer.ts";
import { Promised } from "../session/promised.ts";
import { type Outcome, Session } from "../session/session.ts";
import { toolPool } from "../tools/pool.ts";
import { saidOnce } from "../warn.ts";
import { Breakage, isForGood } from "./breakage.ts";
import { nextEventSeq, toldBeside } from "./event-seq.ts";
import { Follower } from "./follower.ts";
import { GivenError, givenAgain } from "./given-again.ts";
import { LastCall } from "./last-call.ts";
import type { LiveThreadOptions } from "./live-options.ts";
import { Prompt } from "./prompt.ts";
import { Requests } from "./requests.ts";
import { settingsFor } from "./settings.ts";
import { takeUpOperation } from "./take-up-operation.ts";
import { itemsOf, Toolbox } from "./toolbox.ts";

/** So often a request is resumed in one process after its store was away; then it fails. */
const MAX_RESUMES = 3;

/** One thread with its agent at work: the session, the request under way, and what executors need. */
export class LiveThread {
  readonly options: LiveThreadOptions;
  readonly session: Session;
  readonly scene: Scene;
  readonly requests: Requests;
  readonly toolbox: Toolbox;
  readonly prompt: Prompt;
  readonly lastCall: LastCall;
  readonly #follower: Follower;
  readonly #stopped = new AbortController();
  readonly #work = new Set<Promise<unknown>>();
  readonly #tools = new Set<Promise<unknown>>();
  /** Calls of the last answer that have begun to run here. */
  readonly #begun = new Set<string>();
  readonly #looking = new Set<() => void>();
  readonly #breakage: Breakage;
  /** Signals of executors that are not in the log yet. */
  #sending = 0;
  #isResting = false;
  /** How often a request was resumed here because its store had been away. */
  #resumes: { readonly of: string | undefined; readonly count: number } = { of: undefined, count: 0 };
  #isHandingOver = false;

  private constructor(options: LiveThreadOptions, agent: ReactAgent, items: Awaited<ReturnType<typeof itemsOf>>) {
    const { definition, store, ports, threadId, telemetry, holder, listen } = options;
    const { captureDeltas, toolConcurrency: concurrency } = definition;
    this.options = options;
    this.#breakage = new Breakage(ports, () => this.#mend());
    this.session = new Session({
      store,
      ports,
      agent,
      epoch: () => holder?.epoch,
      perform: (directive, after, before) => this.#perform(directive, after, before),
      beside: (after, directives) => {
        const more = directives.filter(({ type }) => type === "emit" || type === "checkpoint").length;
        return toldBeside(after, this.requests.current?.eventSeq ?? 0, more);
      },
      taken: () => this.#look(),
      threw: (error) => this.#threw(error),
      broken: (error) => this.collapse(error),
    });
    this.toolbox = new Toolbox(items, (settings) => {
      this.session.change((now) => ({ ...now, settings: { ...now.settings, ...settings } }));
    });
    this.prompt = new Prompt(definition.systemPrompt, limitOf(options), (error) => {
      options.onError(error, { code: "system_prompt_failed", threadId });
    });
    this.lastCall = new LastCall(agent, definition, options.warn);
    this.requests = new Requests({
      epoch: holder?.epoch,
      ports,
      captureDeltas,
      listen,
      hold: { isHeld: () => this.isHeld, ensure: () => this.#ensureHeld() },
      span: (of) => telemetry.request(of, this.scene),
    });
    this.#follower = new Follower(store, this.session, (error) => this.collapse(error));
    this.scene = {
      definition,
      threadId,
      store,
      ports,
      telemetry,
      pool: toolPool({ concurrency }),
      tools: () => this.toolbox.tools,
      agent: () => this.session.agent,
      request: (requestId) => this.requests.get(requestId),
      isHeld: () => this.isHeld,
      ensureHeld: () => this.#ensureHeld(),
      scope: (requestId) => ({ requestId, threadId, context: this.requests.context(requestId) as never }), // as the caller typed it
      shown: (callId) => this.lastCall.messagesOf(callId),
      limit: (requestId, limit, over) =>
        this.requests.limit(requestId, limit, {
          over,
          loggedMs: () => this.agent.state.run?.workedMs ?? 0,
          note: (workedMs) => this.#noteTime(workedMs),
        }),
      worked: () => this.requests.worked,
      isStopping: () => this.#isResting,
      began: (toolCallId) => this.#begun.add(toolCallId),
      warn: saidOnce(options.warn),
      onError: options.onError,
      send: (signal) => this.#send(signal),
      track: (work) => this.#track(work, this.#work),
      trackTool: (work) => this.#track(work, this.#tools),
      sendNext: (signal, then) =>
        this.#track(
          this.session.submitNext(signal).then(() => then(undefined), then),
          this.#work,
        ),
      kept: new Kept({ store, threadId, ports, holder }),
      receipts: new Promised<Receipt>(),
      operations: new Promised<OperationSettled>(),
      tokens: options.tokens,
      objects: new Map<string, JsonValue>(),
    };
  }

  /** Loads the thread and takes up what a crash has left: a request that is open, an operation that waits. */
  static async open(options: LiveThreadOptions): Promise<LiveThread> {
    const { definition, store, threadId, ports } = options;
    const settings = await settingsFor(definition, { ports, warn: saidOnce(options.warn) });
    const agent = await loadAgent(store, threadId, settings, ports);
    const live = new LiveThread(options, agent, await itemsOf(definition.tools, limitOf(options)));
    try {
      await live.#takeUp();
      await live.#readAhead();
    } catch (error) {
      void live.session.close(error);
      live.suspend();
      throw error;
    }
    return live;
  }

  get agent(): ReactAgent {
    return this.session.agent;
  }

  /** How long a function of the caller may take. */
  get hookLimit(): HookLimit {
    return limitOf(this.options);
  }

  /** Aborted when the server stops. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  /** What it holds is not what the log says, until it is mended. */
  get isBroken(): boolean {
    return this.#breakage.isThere;
  }

  /** The request that is under way. */
  get current(): LiveRequest | undefined {
    return this.requests.current;
  }

  /** A signal from outside; after a failure of the store the log is read anew first. */
  async submit(signal: Signal): Promise<Outcome> {
    await this.mend();
    return this.session.submit(signal);
  }

  /** Resolves when nothing runs. */
  async idle(): Promise<void> {
    while (this.agent.state.run !== undefined && this.current !== undefined) {
      await this.current.result.catch(() => undefined);
    }
  }

  /** Called whenever the state of the request may have changed. Answers what ends it. */
  onChange(look: () => void): () => void {
    this.#looking.add(look);
    return () => this.#looking.delete(look);
  }

  /** Has those look who wait for a change. */
  changed(): void {
    for (const look of this.#looking) look();
  }

  /** Whether nothing that could still give a result is at work here. */
  get isQuiet(): boolean {
    return this.#work.size === 0 && this.#tools.size === 0 && this.#sending === 0;
  }

  /** Waits for what executors have begun, but not for tools: they were told to end, and may never do. */
  async settle(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled(this.#work);
  }

  /** Whether this process may start something: no other one can have the thread. */
  get isHeld(): boolean {
    return !this.isBroken && (this.options.holder?.isHeld ?? true);
  }

  /** The same, after a renewal where the last one is too old. False when the request was suspended or has failed. */
  async #ensureHeld(): Promise<boolean> {
    return !this.isBroken && ((await this.options.holder?.ensure()) ?? true) && !this.isBroken;
  }

  /** Throws where another process has the thread. Asks the store only when the last renewal is too old. */
  async confirmHeld(): Promise<void> {
    if (!this.isBroken && !this.stopped.aborted) await this.options.holder?.check();
  }

  /**
   * What could not be written did not happen. Where another process may go on with the request, it is suspended here. Else it
   * has failed: the log is read anew, gets that end, and only then is the end emitted.
   */
  collapse(error: unknown): void {
    if (this.session.isClosed || this.#isHandingOver) return;
    if (this.isBroken) {
      this.#collapseForGood(error);
      return;
    }
    this.#breakage.begin(error);
    this.session.halt(error);
    const { failure, suspension, isForGood: isLost } = this.#breakage;
    const request = this.current;
    if (suspension !== undefined) this.requests.suspend(suspension, this.#iteration, { failure, cause: error });
    else if (request !== undefined) {
      request.thrown = { error, code: failure.code };
      request.abort.abort(new RequestError({ code: failure.code, message: failure.message }));
    }
    this.scene.receipts.settleAll((id) => ({ id, delivered: false, reason: "run_failed" }));
    this.scene.objects.clear();
    this.#cleanUp(suspension?.reason === "store" ? undefined : request?.id);
    if (isLost) this.options.lost(error);
    else if (suspension === undefined) void this.#closeNow(failure, error);
  }

  /** The store was away, and now it is known that another process has the thread, or that the store is closed. */
  #collapseForGood(error: unknown): void {
    if (this.#breakage.isForGood || !isForGood(error)) return;
    this.#breakage.begin(error);
    this.session.halt(error);
    this.requests.suspend(this.suspension, this.#iteration);
    this.options.lost(error);
  }

  /** What cannot be closed in the log now is left open there, until the log can be written. */
  async #closeNow(failure: Failure, cause: unknown): Promise<void> {
    await this.mend().catch(() => {
      this.requests.suspend({ reason: "store" }, this.#iteration, { failure, cause });
      this.changed();
    });
  }

  /** Why this process carries no request that is open. */
  get suspension(): Suspension {
    return this.#breakage.suspension ?? { reason: this.isBroken ? "store" : "stopped" };
  }

  /** How a request ends here that the log has, and that this server cannot carry. */
  endOf(requestId: string): RequestError {
    const isSuspended = this.#breakage.suspension !== undefined || this.stopped.aborted;
    return isSuspended
      ? requestSuspended(requestId, this.suspension)
      : requestFailed(requestId, this.#breakage.failure);
  }

  get #iteration(): number {
    return this.agent.state.run?.iteration ?? 0;
  }

  /** What is to be begun next lies in the log, for whoever starts the thread again. */
  beginNothing(): void {
    this.#isResting = true;
  }

  /** Notes in the log that a request at work is left to the next server. Where that fails, it looks like a crash. */
  async handOver(): Promise<void> {
    if (this.isBroken || this.current === undefined) return;
    this.#isHandingOver = true;
    const signal = { type: "hand_over", begun: [...this.#begun], ...this.requests.worked } as const;
    await this.session.submit(signal).catch(() => undefined);
  }

  /** Ends what runs here without a word in the log: another process may go on with it. */
  suspend(): void {
    this.#breakage.close();
    this.#stopped.abort(new RequestError({ code: "server_stopped", message: "The server was stopped." }));
    this.#follower.follow(false);
    this.requests.suspend(this.suspension, this.#iteration);
  }

  /** The last chance to close in the log what has failed here: whoever starts the thread next would go on with it. */
  async closeFailed(): Promise<void> {
    if (this.#breakage.suspension === undefined) await this.mend().catch(() => undefined); // whoever starts it next reads the log as it is
  }

  /** Reads the log anew after a failure. A request that was suspended goes on; one that has failed is closed there. */
  mend(): Promise<void> {
    return this.#breakage.mend();
  }

  async #mend(): Promise<void> {
    const { store, threadId, ports, warn } = this.options;
    const { failure, suspension } = this.#breakage;
    const request = this.requests.last;
    const goesOn = suspension !== undefined && this.#mayResume();
    if (goesOn) await this.#confirmHeld();
    let prompt: Pick<InFlightState, "systemPrompt"> | Record<never, never> = {};
    await this.session.replace(async ({ settings, contextPolicy, flight }) => {
      const fresh = await loadAgent(store, threadId, settings, ports);
      if (flight.systemPrompt !== undefined) prompt = { systemPrompt: flight.systemPrompt };
      // The core emits the end of a run that it knows, also when the log has it already.
      const isOver = request !== undefined && this.requests.isOpen && fresh.state.run?.runId !== request.runId;
      return { ...fresh, contextPolicy, flight: { ...fresh.flight, ...(isOver && { runId: request.runId }) } };
    });
    this.#breakage.end();
    await takeUpOperation(this.scene, this.session, warn); // the end of an open run takes it along
    const { run } = this.agent.state;
    if (run !== undefined) {
      const isKnown = request?.id === run.requestId; // a caller that was told of no request asks once more
      this.requests.open(run, nextEventSeq(this.agent.thread, run));
      await this.session.submit({
        type: "resume",
        ...(goesOn && isKnown ? { ...prompt, continued: true } : { failure }),
      });
    } else if (request !== undefined && this.requests.isOpen) {
      this.requests.open({ requestId: request.id, runId: request.runId }, 1);
      await this.session.submit({ type: "notice" });
      this.requests.fail(failure, 0, request.thrown?.error); // the log has nothing of it: the thread was deleted
    }
  }

  /** A store that answers and takes no entries would have the model called for ever. */
  #mayResume(): boolean {
    const { last } = this.requests;
    if (last === undefined || this.options.definition.recover === "fail") return false;
    this.#resumes = { of: last.id, count: this.#resumes.of === last.id ? this.#resumes.count + 1 : 1 };
    return this.#resumes.count <= MAX_RESUMES;
  }

  async #confirmHeld(): Promise<void> {
    try {
      await this.options.holder?.confirm();
    } catch (error) {
      this.#collapseForGood(error);
      throw error;
    }
  }

  async #takeUp(): Promise<void> {
    const { options, agent } = this;
    const { run } = agent.state;
    const first = options.first?.(agent) ?? { type: "resume", recover: options.definition.recover };
    if (run !== undefined) {
      const goesOn = first.type === "resume" && first.recover !== "fail";
      this.requests.open(run, nextEventSeq(agent.thread, run));
      const signal = goesOn ? { ...first, ...(await this.#givenAgain(run)) } : first;
      await takeUpOperation(this.scene, this.session, options.warn); // it waits for the end of the run, as it did before
      await this.session.submit(signal);
    }
    if (run === undefined) await takeUpOperation(this.scene, this.session, options.warn);
  }

  /** What a request that goes on was given by its caller, or why it fails: at every start its function would throw again. */
  async #givenAgain(run: Run): Promise<{ readonly systemPrompt?: string; readonly failure?: Failure }> {
    try {
      return await givenAgain(this, run);
    } catch (error) {
      if (!(error instanceof GivenError)) throw error;
      const { failure, cause } = error;
      const { requestId } = run;
      const request = this.requests.get(requestId);
      if (request !== undefined) request.thrown = { error: cause, code: failure.code };
      this.options.onError(cause, { code: failure.code, threadId: this.options.threadId, requestId });
      return { failure };
    }
  }

  /** What a projector, a reader or a counter threw ends the request, with this as its cause. */
  #threw(error: unknown): Failure {
    const message =
      "`accept`, the projector, a reader or the token counter of the agent threw an error; `cause` has it.";
    const failure = failureOf(error, { code: "projection_failed", message });
    const { current } = this;
    if (current !== undefined) current.thrown = { error, code: failure.code };
    const { threadId, onError } = this.options;
    onError(error, { code: failure.code, threadId, ...(current && { requestId: current.id }) });
    return failure;
  }

  /** Loads of a long thread what a view shows, as the first call would: `explain` answers at once and cannot wait for it. */
  async #readAhead(): Promise<void> {
    if (this.agent.thread.firstSeq === 0) return;
    await this.session.readAhead((agent) => this.lastCall.explain(agent)).catch(() => undefined); // the call will say why
  }

  async #perform(directive: Directive, after: ReactAgent, before: ReactAgent): Promise<void> {
    if (this.isBroken || this.stopped.aborted) {
      // The request has ended here, whatever was still to be done, but for the result of one whose end was emitted.
      if (directive.type === "stop" && this.requests.last?.hasEmittedEnd) await perform(this.scene, directive, after);
      return;
    }
    if (this.#isResting && BEGINNINGS.has(directive.type)) return;
    if ("requestId" in directive && "runId" in directive) this.requests.open(directive, 1);
    if (directive.type === "llm_stream") {
      this.lastCall.made(directive, after);
      this.#begun.clear();
    }
    if (directive.type === "stop") this.#ending(directive.requestId);
    try {
      await perform(this.scene, directive, after);
    } catch (error) {
      const isKeeping = directive.type === "keep_context_op";
      if (!isKeeping || isForGood(error)) this.collapse(error);
      else await this.#unkept(before.flight.contextOp); // the request goes on
      if (isKeeping) throw error; // whoever asked is told
    }
  }

  /** What could not be kept does not wait, before anything else happens; what waited before still does. */
  async #unkept(contextOp: ContextOperation | undefined): Promise<void> {
    this.session.change((agent) => ({ ...agent, flight: { ...agent.flight, contextOp } }));
    await this.scene.kept.keep(contextOp).catch(() => undefined); // nobody knows whether the other one was written
  }

  #ending(requestId: string): void {
    this.requests.forget(requestId);
    this.#cleanUp(requestId);
    void this.session.replace((agent) => shortened(this.options.store, agent)).catch(() => undefined); // it stays long
  }

  #cleanUp(requestId: string | undefined): void {
    if (requestId !== undefined) this.toolbox.takeBack(requestId);
    this.#follower.follow(false);
    this.changed();
  }

  /** Whether the request waits for somebody outside. */
  #look(): void {
    if (this.current !== undefined) {
      const waits = isWaiting(this.agent);
      this.requests.turn(waits);
      this.#follower.follow(waits);
    }
    this.changed();
  }

  #send(signal: Signal): void {
    // What comes from a request that has failed here is told nobody: the log is read anew without it.
    if (this.isBroken) return;
    this.#sending += 1;
    this.session
      .submit(signal)
      .catch((error: unknown) => this.collapse(error))
      .finally(() => {
        this.#sending -= 1;
        this.changed();
      });
  }

  /** A note that is not written costs little time of the limit, and must not cost the request anything. */
  #noteTime(workedMs: number): void {
    if (this.isHeld) this.session.submit({ type: "worked", workedMs }).catch(() => undefined);
  }

  #track(work: Promise<unknown>, among: Set<Promise<unknown>>): void {
    const tracked = work
      .catch((error: unknown) => this.collapse(error))
      .finally(() => {
        among.delete(tracked);
        this.changed();
      });
    among.add(tracked);
  }
}

function limitOf({ ports, definition }: LiveThreadOptions): HookLimit {
  return { ports, timeoutMs: definition.hookTimeoutMs };
}

/** What begins work. */
const BEGINNINGS: ReadonlySet<Directive["type"]> = new Set(["llm_stream", "tool_exec", "summarize"]);
