import type { AgentContext, AgentOutput, AnyAgent, InferOutput } from "../../agent/definition/config.ts";
import type { InputSchema } from "../../agent/definition/schema.ts";
import type { ReactAgent, WaitingCall } from "../../agent/react/agent.ts";
import { rulesOf } from "../../agent/react/permission-rules.ts";
import { reactSettings } from "../../agent/react/settings.ts";
import type { PermissionRule } from "../../lanes/setting.ts";
import type { ExplainedEntry, ProjectionMeta } from "../../projection/projection.ts";
import { ThreadHeldError } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Content, UserMessage } from "../../thread/message.ts";
import { checkName } from "../../thread/options.ts";
import type { Thread } from "../../thread/thread.ts";
import { withDates } from "../ask-options.ts";
import { ignoreErrorsOf, systemWarn } from "../callbacks.ts";
import {
  checkAdvanceOptions,
  checkAnswer,
  checkDecider,
  checkGetOptions,
  checkHostAskOptions,
  checkHostOptions,
  checkResultOptions,
  checkStopOptions,
  checkThreadOptions,
  checkWorkOptions,
} from "../option-names.ts";
import { askAborted } from "../perform/prepare-ask.ts";
import type { RegisteredTool } from "../perform/scene.ts";
import { type RuntimePorts, runtimePorts } from "../ports.ts";
import type { AgentRequest } from "../request/request.ts";
import type { RequestResult } from "../request/result.ts";
import type { AgentServer } from "../server/agent-server.ts";
import { explain, readView, type ViewedThread, view } from "../server/explain.ts";
import type {
  AnswerOptions,
  ApproveOptions,
  AskArguments,
  AskOptions,
  AskOutput,
  AskTime,
  DecideOptions,
  ResultOptions,
  StopOptions,
} from "../server/options.ts";
import { resultOfKnown, withoutAsk } from "../server/past-request.ts";
import { LEASE_TTL_MS } from "../server/start.ts";
import type { ThreadUsage } from "../server/thread-usage.ts";
import { loadAgent } from "../session/load.ts";
import { NodeLease } from "../session/node-lease.ts";
import { retryStore } from "../session/store-retry.ts";
import { type Advanced, type AdvanceOptions, advanceLoop } from "./advance.ts";
import { AskSignals } from "./ask-signals.ts";
import { type Decision, decideByEntry, ofEndedRequest } from "./decide-by-entry.ts";
import { DueThreads, guarded } from "./due-threads.ts";
import { familyUsage, familyWaiting } from "./family.ts";
import { listWaiting, type WaitingList } from "./list-waiting.ts";
import { LiveEvents } from "./live-events.ts";
import { LiveThreads, type SharedParts, type Used } from "./live-threads.ts";
import type {
  AgentChoice,
  HostGetOptions,
  HostOptions,
  RequestEnded,
  ThreadReadOptions,
  WaitingListOptions,
  WorkOptions,
} from "./options.ts";
import { RemoteCalls } from "./remote-calls.ts";
import { Takeovers } from "./takeovers.ts";
import { agentsOf, askedAgent, chooseAgent, type HostAgents, isWithoutAgent, lastAsk } from "./thread-agent.ts";
import { type CallHere, type CommandPlace, ThreadCommands } from "./thread-commands.ts";
import { type Target, targetOf } from "./thread-token.ts";
import { titleWriter } from "./titles.ts";
import type { Gate } from "./worker.ts";

/** A call that starts a request. */
interface RequestCall<Agent extends AnyAgent> {
  readonly method: "ask" | "continueRequest";
  readonly args: readonly unknown[];
  readonly here: (used: Used<Agent>) => Promise<AgentRequest<AgentOutput<Agent>>>;
  readonly signal: AbortSignal | undefined;
  /** The time of an ask that waits in the inbox. */
  readonly at?: AskTime["at"];
}

/** A call waits for the end of the lease of a dead holder, and then for the answer. */
const LEASES_TO_WAIT = 2;

/**
 * Runs an agent on many threads. Each thread has at most one live server. A released thread uses no memory.
 *
 * @example
 * const host = AgentHost.create({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
 * const request = await host.ask("thread_1", "What's 2+2?");
 * const { text } = await request.result; // "4"
 * await host.stop();
 */
export class AgentHost<Agent extends AnyAgent = AnyAgent> extends ThreadCommands<Agent> implements AsyncDisposable {
  readonly #options: HostOptions<Agent>;
  readonly #agents: HostAgents<Agent>;
  readonly #ports: RuntimePorts;
  readonly #lease: NodeLease | undefined;
  readonly #threads: LiveThreads<Agent>;
  readonly #warn: (message: string) => void;
  /** Threads to start at a deadline, and those whose holder may be dead: they are checked when its claim has expired. */
  readonly #due: DueThreads;
  readonly #takeovers: Takeovers<Agent>;
  readonly #signals: AskSignals;
  readonly #titles: ReturnType<typeof titleWriter>;
  protected override readonly calls: RemoteCalls;

  protected constructor(options: HostOptions<Agent>, sharedParts?: object) {
    super();
    const shared = sharedParts as SharedParts | undefined; // `TenantHosts` passes them; they are no public types
    this.#options = options;
    const own = runtimePorts(options.ports);
    const { leaseTtlMs = LEASE_TTL_MS, claimWaitMs = leaseTtlMs, store, bus = store.bus } = options;
    this.#lease = shared?.lease ?? (store.leases && new NodeLease(store.leases, { ports: own, ttlMs: leaseTtlMs }));
    this.#ports = { ...own, clock: () => own.clock() + (this.#lease?.offMs ?? 0) };
    this.#warn = ignoreErrorsOf(options.warn ?? systemWarn);
    this.#agents = agentsOf(options);
    this.#signals = new AskSignals({
      cancel: (id, requestId, why) => this.cancel(id, requestId, why),
      isStopped: () => this.#threads.isStopped,
      warn: this.#warn,
    });
    const scheduler = guarded(options, this.#warn, this.#lease);
    this.#due = new DueThreads(this.#ports, (ids) => this.#takeovers.startDue(ids), scheduler);
    const { stopped } = this;
    this.#titles = titleWriter(options, { ports: this.#ports, warn: this.#warn, stopped });
    const ended: RequestEnded = ({ kind, requestId, threadId, agent }) => {
      this.#signals.forget(requestId);
      this.#takeovers.placeIsFree();
      shared?.placeIsFree();
      if (kind === "request_completed") this.#titles?.answered(threadId, agent);
    };
    const parts = { ports: this.#ports, lease: this.#lease, due: this.#due, stopped };
    const modelPlaces = shared?.places ?? (() => this.#takeovers.places);
    const kept = { ...parts, isShared: shared !== undefined, ended, modelPlaces };
    this.#threads = new LiveThreads(this.#agents, options, kept);
    this.#takeovers = new Takeovers(options, {
      ...parts,
      agents: this.#agents,
      threads: this.#threads,
      warn: this.#warn,
    });
    const takeOver = (id: string) => this.#threads.takeOver(id);
    const limitMs = Math.max(claimWaitMs, LEASES_TO_WAIT * leaseTtlMs);
    const live =
      bus && new LiveEvents({ bus, ports: this.#ports, stopped, held: (...of) => this.#threads.heldRequest(...of) });
    this.calls = new RemoteCalls({ store, ports: this.#ports, stopped, live, limitMs, takeOver });
  }

  static create<Agent extends AnyAgent>(options: HostOptions<Agent>): AgentHost<Agent> {
    checkHostOptions(options);
    return new AgentHost<Agent>(options);
  }

  /** The store of the threads, to list, watch and delete them. */
  get store(): ThreadStore {
    return this.#options.store;
  }

  /** The number of threads that start or have a request that runs. */
  protected get busy(): number {
    return this.#threads.busy;
  }
  /** Starts a thread whose claim this process has. `agent`: the one that the store knows. */
  protected startTaken(threadId: string, agent: string | undefined, gate: object): Promise<unknown> {
    return this.#takeovers.start(threadId, agent, gate as Gate); // it is no public type
  }
  protected reportTaken(threadId: string, error: unknown): void {
    this.#takeovers.report(threadId, error);
  }

  /** The number of threads that are live now. */
  get size(): number {
    return this.#threads.size;
  }

  /**
   * The live server of a thread. It is started when there is none, and an interrupted request is resumed. It stops when the
   * thread is idle: call `get` again. With several agents, a thread that was not asked before needs `{ agent }`.
   */
  async get(threadId: string, options: HostGetOptions<AgentContext<Agent>> = {}): Promise<AgentServer<Agent>> {
    checkGetOptions(options);
    const { signal, ...start } = options;
    return this.#threads.use(
      threadId,
      async ({ server }) => {
        await this.#threads.takePosted(threadId);
        const { request } = server;
        if (signal !== undefined && request !== undefined) this.#signals.follow(signal, threadId, request.id);
        return server;
      },
      start,
    );
  }

  /**
   * Asks. The thread stays live while a caller iterates the events of the request or waits for its `result`. With several agents
   * the first ask of a thread names one: `{ agent }`. Another one is refused later (`agent_mismatch`).
   */
  async ask<const Schema extends InputSchema>(
    threadId: string,
    content: Content | UserMessage,
    options: AskOptions<AgentContext<Agent>> & AgentChoice & AskOutput<Schema>,
  ): Promise<AgentRequest<InferOutput<Schema>>>;
  async ask(
    threadId: string,
    content: Content | UserMessage,
    ...given: AskArguments<AskOptions<AgentContext<Agent>> & AgentChoice>
  ): Promise<AgentRequest<AgentOutput<Agent>>>;
  async ask(
    threadId: string,
    content: Content | UserMessage,
    ...given: AskArguments<AskOptions<AgentContext<Agent>> & AgentChoice>
  ): Promise<AgentRequest<AgentOutput<Agent>>> {
    const [all = {}] = given as [all?: AskOptions & AgentChoice]; // the type of the context does not matter here
    checkHostAskOptions(all);
    const { agent, ...relative } = all;
    if (all.at !== undefined || all.deadline !== undefined) await this.#lease?.current(); // the clock is that of the store
    const options = withDates(relative, this.#ports.clock());
    const { signal, ...data } = options;
    if (signal?.aborted) throw askAborted();
    const here = async ({ server, hosted }: Used<Agent>): Promise<AgentRequest<AgentOutput<Agent>>> =>
      hosted(await server.ask(content, ...([options] as AskArguments<AskOptions<AgentContext<Agent>>>))); // as it was given
    const args = [content, { ...data, requestId: data.requestId ?? this.ids("req") }];
    return this.#request(threadId, { method: "ask", args, here, signal, at: data.at }, agent);
  }

  /** Continues the last request of a thread, as `continueRequest` of a server does. */
  async continueRequest(
    threadId: string,
    requestId: string,
    options: Partial<AskOptions<AgentContext<Agent>>> = {},
  ): Promise<AgentRequest<AgentOutput<Agent>>> {
    const dated = withDates(options, this.#ports.clock());
    const { signal, ...data } = dated;
    const args = [requestId, { ...data, requestId: data.requestId ?? this.ids("req") }];
    const here = async ({ server, hosted }: Used<Agent>) => hosted(await server.continueRequest(requestId, dated));
    return this.#request(threadId, { method: "continueRequest", args, here, signal, at: data.at });
  }

  /**
   * The result of a request, as `result` of a server returns it. While another process holds the thread, the request is followed
   * in the log.
   */
  async result(
    threadId: string,
    requestId: string,
    options: ResultOptions = {},
  ): Promise<RequestResult<AgentOutput<Agent>>> {
    checkResultOptions(options);
    const here = ({ server }: Used<Agent>) => server.result(requestId, options);
    return this.#threads.use(threadId, here, { claimWaitMs: 0 }).catch(async (error: unknown) => {
      if (isWithoutAgent(error)) throw await withoutAsk(this.#log, threadId, requestId); // the log has no ask at all
      if (!ThreadHeldError.isInstance(error)) throw error;
      this.#takeovers.checkHolder(threadId);
      const request = await this.calls.request(threadId, requestId, await this.#agentOf(threadId));
      const result = await resultOfKnown(request, options, this.#ports);
      return result as RequestResult<AgentOutput<Agent>>; // the result has the output type of the definition
    });
  }

  /** Resumes the open request; undefined when there is none. With a token, it must be the request of the token. */
  async resume(threadIdOrToken: string): Promise<AgentRequest<AgentOutput<Agent>> | undefined> {
    const target = await this.#target(threadIdOrToken);
    return this.unlessAsked(target.threadId, undefined, () => this.#resume(target));
  }

  async #resume({ threadId, requestId, agent }: Target): Promise<AgentRequest<AgentOutput<Agent>> | undefined> {
    const isOf = (request: AgentRequest): boolean => requestId === undefined || request.id === requestId;
    const resumed = async ({ server: { request }, hosted }: Used<Agent>) =>
      request !== undefined && isOf(request) ? hosted(request) : undefined;
    try {
      return await this.#threads.use(threadId, resumed, { agent, claimWaitMs: 0 });
    } catch (error) {
      if (!ThreadHeldError.isInstance(error)) throw error;
      this.#takeovers.checkHolder(threadId);
      const request = await this.calls.openRequest(threadId, await this.#agentOf(threadId, agent));
      return request && isOf(request) ? (request as AgentRequest<AgentOutput<Agent>>) : undefined; // it has the output type of the definition
    }
  }

  /**
   * Takes threads of this host's agents that have something to do and no living process, until `stop`: asks that were posted,
   * times that have come, requests of processes that died. Looks every second. From now on the model calls of this host have
   * limits, also those of its own asks.
   *
   * @example
   * const host = AgentHost.create({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
   * host.work({ concurrency: 20, rate: { calls: 500, perMs: 60_000 } });
   */
  work(options: WorkOptions = {}): void {
    checkWorkOptions(options, this.#agents);
    this.#takeovers.work(options);
  }

  /**
   * The thread as it is now. Of a long one only the end, unless `whole` is set. Reads claim nothing: a thread that is not
   * live here, or that another process holds, is read from the store.
   */
  async thread(threadId: string, options: ThreadReadOptions = {}): Promise<Thread> {
    checkThreadOptions(options);
    const { whole = false } = options;
    const { thread } = await this.#read(threadId);
    if (!whole || thread.firstSeq === 0) return thread;
    return (await retryStore(this.#ports, () => this.#options.store.load(threadId))) ?? thread;
  }

  /** The calls of a thread that wait for a decision or a result from outside, then those of its children. Claims nothing. */
  waiting(threadId: string): Promise<readonly WaitingCall[]>;
  /** Those of all threads of the store, the longest wait first. Claims nothing, and reads no entries. */
  waiting(options?: WaitingListOptions): Promise<WaitingList>;
  async waiting(of: string | WaitingListOptions = {}): Promise<readonly WaitingCall[] | WaitingList> {
    if (typeof of !== "string") return listWaiting(this.#options.store, this.#ports, of);
    const isLive = (id: string): boolean => this.#threads.live(id) !== undefined;
    return this.unlessAsked<readonly WaitingCall[]>(of, [], () => {
      return familyWaiting(of, { view: (id) => this.#viewed(id), isLive });
    });
  }

  /**
   * The status of every entry in the view of the last model call of a thread. Before the first call: in the view that it would
   * have. Claims nothing.
   */
  async explain(threadId: string): Promise<readonly ExplainedEntry[]> {
    return explain(await this.#viewed(threadId), this.#threads.live(threadId)?.live.lastCall);
  }

  /** Facts about the context that the next call of a thread would have. Claims nothing. */
  async view(threadId: string): Promise<ProjectionMeta> {
    return view(await this.#viewed(threadId));
  }

  /** The usage of all requests of a thread, and of its children. Claims nothing. */
  async usage(threadId: string): Promise<ThreadUsage> {
    checkName("threadId", threadId);
    const priced = (id: string) => this.unlessAsked<Partial<AnyAgent>>(id, {}, () => this.#agentOf(id));
    return familyUsage(this.#options.store, threadId, priced);
  }

  /**
   * Lets a call run that waits for approval; durable when it resolves. Where another process holds the thread, the decision is
   * written into the log, and that process acts on it. A token names the request that waits: see docs/hosting.md.
   */
  async approve(threadIdOrToken: string, toolCallId: string, options: ApproveOptions = {}): Promise<void> {
    checkDecider("approve", toolCallId, options);
    const here = (server: AgentServer<Agent>) => server.approve(toolCallId, options);
    return this.#decide(threadIdOrToken, here, { ...options, toolCallId, approved: true });
  }

  /** Refuses a call that waits for approval, as `approve` allows one. */
  async deny(threadIdOrToken: string, toolCallId: string, options: DecideOptions = {}): Promise<void> {
    checkDecider("deny", toolCallId, options);
    const here = (server: AgentServer<Agent>) => server.deny(toolCallId, options);
    return this.#decide(threadIdOrToken, here, { ...options, toolCallId, approved: false });
  }

  /** The result of a call of a tool without `execute`, or the answer to a tool's question, sent as `approve` sends a decision. */
  async answer(
    threadIdOrToken: string,
    toolCallId: string,
    output: unknown,
    options: AnswerOptions = {},
  ): Promise<void> {
    checkAnswer(toolCallId, options);
    const here = (server: AgentServer<Agent>) => server.answer(toolCallId, output, options);
    await this.#decide(threadIdOrToken, here, { ...options, toolCallId, output });
  }

  /** The permission rules of a thread, as `server.rules` lists them. Claims nothing. */
  async rules(threadId: string): Promise<readonly PermissionRule[]> {
    const agent = await this.#read(threadId);
    const of = await this.unlessAsked<AnyAgent | undefined>(threadId, undefined, () => this.#agentOf(threadId));
    return rulesOf({ ...agent, settings: { modes: of?.modes, ...agent.settings } });
  }

  /** Does what is due on a thread, and waits until nothing runs. While another process holds the thread: `thread_held`. */
  async advance(threadId: string, options: AdvanceOptions = {}): Promise<Advanced> {
    checkAdvanceOptions(options);
    return this.#threads.use(threadId, ({ loop }) => advanceLoop(loop, options, this.#lease), { claimWaitMs: 0 });
  }

  /** Ends work that has begun, as `stop` of a server does, and releases all threads. */
  async stop(options: StopOptions = {}): Promise<void> {
    checkStopOptions(options);
    this.stopping.abort();
    this.#signals.forgetAll();
    this.#due.clear();
    await Promise.all([this.#threads.stop(options), this.#titles?.stop(options)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  protected override place(threadId: string): CommandPlace {
    checkName("threadId", threadId);
    return { ...this.#log, threadId, reread: (isTimed) => this.#threads.reread(threadId, isTimed) };
  }

  /** Reads a thread that is live here, or else from the store. */
  async #read(threadId: string): Promise<ReactAgent> {
    checkName("threadId", threadId);
    const live = this.#threads.live(threadId);
    return live?.agent ?? loadAgent(this.#options.store, threadId, reactSettings(), this.#ports);
  }

  async #viewed(threadId: string): Promise<ViewedThread> {
    checkName("threadId", threadId);
    const live = this.#threads.live(threadId);
    return live ?? readView(this.#options, threadId, await this.#agentOf(threadId), this.#ports);
  }

  /** The agent of a thread that is not live here. */
  async #agentOf(threadId: string, wanted?: string): Promise<Agent> {
    return chooseAgent(this.#agents, threadId, await askedAgent(this.#log, threadId), wanted);
  }

  get #log() {
    return { store: this.#options.store, ports: this.#ports };
  }

  /** A thread without any ask needs no agent for this answer. */
  protected override async unlessAsked<Answer>(
    threadId: string,
    answer: Answer,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      if (!isWithoutAgent(error)) throw error;
      const isAsked = (await lastAsk(this.#log, threadId)) !== undefined; // maybe by another process in the meantime
      return isAsked ? work() : answer;
    }
  }

  #target(threadIdOrToken: string): Promise<Target> {
    const more = { clock: this.#ports.clock, warn: this.#warn, revocations: this.#options.revocations };
    return targetOf(threadIdOrToken, { ...this.#log, ...more, agents: [...this.#agents.values()] });
  }

  async #decide(
    threadIdOrToken: string,
    here: (server: AgentServer<Agent>) => Promise<void>,
    decision: Decision,
  ): Promise<void> {
    const { threadId, requestId, agent: wanted } = await this.#target(threadIdOrToken);
    const decided = async (server: AgentServer<Agent>): Promise<void> => {
      if (requestId !== undefined && server.request?.id !== requestId) throw ofEndedRequest(requestId);
      await here(server);
    };
    try {
      await this.#threads.use(threadId, ({ server }) => decided(server), { agent: wanted, claimWaitMs: 0 });
    } catch (error) {
      if (!ThreadHeldError.isInstance(error)) throw error;
      const agent = await this.#agentOf(threadId, wanted);
      await decideByEntry({ ...this.#log, agent, threadId, requestId }, decision);
      this.#takeovers.checkHolder(threadId);
    }
  }

  protected override readonly ids = (kind: string): string => this.#ports.ids(kind);
  protected override use<Answer>(threadId: string, { here, first }: CallHere<Agent, Answer>): Promise<Answer> {
    return this.#threads.use(threadId, ({ server }) => here(server), { claimWaitMs: 0, first });
  }

  /** Starts a request here. While another process runs one on the thread, the call is sent to that process. */
  async #request(
    threadId: string,
    { here, signal, ...call }: RequestCall<Agent>,
    agent?: string,
  ): Promise<AgentRequest<AgentOutput<Agent>>> {
    for (;;) {
      try {
        const request = await this.#threads.use(threadId, here, { agent, claimWaitMs: 0 });
        if (signal !== undefined && request.state !== "done") this.#signals.follow(signal, threadId, request.id);
        return request;
      } catch (error) {
        if (!ThreadHeldError.isInstance(error)) throw error;
        const request = await this.calls.start(threadId, call, error, () => this.#agentOf(threadId, agent));
        if (request === undefined) continue;
        if (signal !== undefined) this.#signals.follow(signal, threadId, request.id);
        const forget = (): void => this.#signals.forget(request.id);
        request.result.then(forget, forget);
        return request as AgentRequest<AgentOutput<Agent>>; // the result has the output type of the definition
      }
    }
  }

  protected override keepTool(threadId: string, name: string, tool: RegisteredTool): void {
    this.#threads.keepTool(threadId, name, tool);
  }
}
