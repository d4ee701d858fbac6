import type { AgentContext, AgentOutput, AnyAgent } from "../../agent/definition/config.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { AgentEvent } from "../../agent/event.ts";
import { StaleHolderError, ThreadHeldError } from "../../stores/errors.ts";
import { checkName } from "../../thread/options.ts";
import type { Thread } from "../../thread/thread.ts";
import { giving } from "../live/asks.ts";
import { dueTime } from "../live/schedule.ts";
import { isDeleted } from "../live/store-failure.ts";
import type { Loop } from "../loop.ts";
import type { RegisteredTool } from "../perform/scene.ts";
import type { RuntimePorts } from "../ports.ts";
import type { AgentRequest } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import { AgentServer } from "../server/agent-server.ts";
import type { ServerOptions, StopOptions } from "../server/options.ts";
import { rereadInbox, takePosted } from "../server/pending.ts";
import { factsOf } from "../server/request-values.ts";
import { LEASE_TTL_MS, type StartHooks } from "../server/start.ts";
import { endLease, type NodeLease } from "../session/node-lease.ts";
import { untilAborted } from "../time-limits.ts";
import { reschedule } from "./advance.ts";
import type { DueThreads } from "./due-threads.ts";
import { endLostCall } from "./family.ts";
import { HostedRequest } from "./hosted-request.ts";
import type { HostGetOptions, HostOptions, RequestEnded } from "./options.ts";
import {
  agentMismatch,
  askedAgent,
  chooseAgent,
  type HostAgents,
  isAskedMeanwhile,
  isOfAnotherHost,
  type ThreadAgent,
  waitingAgent,
} from "./thread-agent.ts";
import type { Gate } from "./worker.ts";

const IDLE_MS = 10_000;
/** How long a thread that was deleted stays live, so that commands of that moment are taken. */
const GONE_MS = 1000;

interface Live<Agent extends AnyAgent> {
  /** The agent that the newest ask named before the thread was claimed. */
  readonly asked: Promise<ThreadAgent | undefined>;
  /** The agent that runs the thread, and its server. Set by the first caller whose agent is accepted. */
  agent: Agent | undefined;
  server: Promise<AgentServer<Agent>> | undefined;
  /** Set when the thread has started. */
  thread: Loop | undefined;
  /** Whether the start waits for the claim up to the host's `claimWaitMs`. */
  isPatient: boolean;
  /** Aborted to stop a start that has not ended. */
  readonly wanted: AbortController;
  readonly registered: Map<string, RegisteredTool>;
  /** Cancels the scheduled release. */
  keep: () => void;
  /** The number of calls that use the thread now. */
  users: number;
  /** The requests that were returned and have not ended: the open one, and those of asks with a time. */
  hosted: readonly HostedRequest<AgentOutput<Agent>>[];
}

/** The parts of a host that its live threads use. */
interface HostParts {
  readonly ports: RuntimePorts;
  readonly lease: NodeLease | undefined;
  /** Whether other hosts have the same lease. Then it does not end with this one. */
  readonly isShared: boolean;
  readonly due: DueThreads;
  readonly ended: RequestEnded;
  readonly modelPlaces: StartHooks["modelPlaces"];
  /** Aborted when the host stops. */
  readonly stopped: AbortSignal;
}

/** The parts that the hosts of several tenants share. */
export interface SharedParts {
  readonly lease: NodeLease;
  readonly places: NonNullable<StartHooks["modelPlaces"]>;
  /** A request has ended. */
  readonly placeIsFree: () => void;
}

/** The argument of a function that uses a thread. */
export interface Used<Agent extends AnyAgent> {
  readonly server: AgentServer<Agent>;
  readonly loop: Loop;
  /** The request as the host returns it. */
  readonly hosted: (request: AgentRequest<AgentOutput<Agent>>) => AgentRequest<AgentOutput<Agent>>;
}

type Start<Agent extends AnyAgent> = Pick<ServerOptions<Agent>, "claimWaitMs"> &
  Pick<StartHooks, "first"> & { readonly gate?: Gate | undefined } & Omit<
    HostGetOptions<AgentContext<Agent>>,
    "signal"
  >;

/** The live threads of a host. A thread is started for its first caller, and released when it is idle. */
export class LiveThreads<Agent extends AnyAgent> {
  readonly #options: Omit<ServerOptions<Agent>, "agent" | "threadId">;
  readonly #agents: HostAgents<Agent>;
  readonly #idleMs: number;
  readonly #ports: RuntimePorts;
  /** The lease of this host; undefined where the store keeps none. */
  readonly lease: NodeLease | undefined;
  /** The name of this host in its claims. */
  readonly holder: string;
  readonly #ended: RequestEnded;
  readonly #due: DueThreads;
  readonly #modelPlaces: StartHooks["modelPlaces"];
  readonly #stopped: AbortSignal;
  readonly #isShared: boolean;
  readonly #live = new Map<string, Live<Agent>>();
  /** The tools that were registered on a thread. They stay when it is released. */
  readonly #registered = new Map<string, Map<string, RegisteredTool>>();
  /** Threads that are being released. A caller that needs one waits for its release. */
  readonly #leaving = new Map<string, Promise<void>>();

  constructor(
    agents: HostAgents<Agent>,
    {
      idleMs = IDLE_MS,
      revocations: _ofTokens,
      scheduler: _ofDue,
      titles: _ofWriter,
      bus: _ofEvents,
      ...all
    }: HostOptions<Agent>,
    { ports, lease, isShared, due, ended, modelPlaces, stopped }: HostParts,
  ) {
    const { agent: _one, agents: _several, ...options } = all;
    this.#agents = agents;
    this.#ended = ended;
    this.#due = due;
    this.#modelPlaces = modelPlaces;
    this.#stopped = stopped;
    this.#isShared = isShared;
    this.holder = options.holder ?? ports.ids("host");
    this.#options = { ...options, ports, holder: this.holder };
    this.#idleMs = idleMs;
    this.#ports = ports;
    this.lease = lease;
  }

  get size(): number {
    return this.#live.size;
  }

  /** The number of threads that start or have a request that runs. */
  get busy(): number {
    return [...this.#live.values()].filter(({ thread }) => thread === undefined || thread.current?.state === "running")
      .length;
  }

  get isStopped(): boolean {
    return this.#stopped.aborted;
  }

  /** The thread, if it is live here and the claim is still valid. */
  live(threadId: string): Loop | undefined {
    const loop = this.#live.get(threadId)?.thread;
    return loop?.isHeld ? loop : undefined;
  }

  /** The request, if it runs or waits here, and the revision of its thread. */
  heldRequest(threadId: string, requestId: string): { request: AgentRequest; rev: () => number } | undefined {
    const loop = this.live(threadId);
    if (loop?.current?.id !== requestId || loop?.current === undefined) return undefined;
    return { request: loop.current, rev: () => loop.agent.thread.rev };
  }

  /** Takes an ask that was posted to a live thread. A thread that starts takes it by itself. */
  takePosted(threadId: string): Promise<void> {
    return takePosted(this.live(threadId));
  }

  /** Whether a request runs or waits on a thread that is live here. */
  hasRequest(threadId: string): boolean {
    return this.#live.get(threadId)?.thread?.current !== undefined;
  }

  /**
   * Calls `use`, and again after a new claim if the claim was lost. A process that was frozen notices the loss with its next
   * call. A stale holder has written nothing, so the repetition is safe.
   */
  async use<Answer>(
    threadId: string,
    use: (used: Used<Agent>) => Promise<Answer>,
    start: Start<Agent> = {},
  ): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const joined = this.#live.get(threadId);
      try {
        return await this.#use(threadId, use, start);
      } catch (error) {
        const isLost = StaleHolderError.isInstance(error);
        if (isDeleted(error)) this.#releaseLater(threadId, this.#live.get(threadId), GONE_MS);
        // A caller that may wait for the claim starts again, when the caller that started the thread did not wait.
        const isImpatient = joined?.isPatient === false && start.claimWaitMs === undefined;
        const isRefused = isImpatient && ThreadHeldError.isInstance(error);
        if (isLost && attempt === MOST_CLAIMS) throw claimLost(threadId, error);
        if (!isLost && (attempt > 1 || (!isRefused && !isAskedMeanwhile(error)))) throw error;
      }
    }
  }

  async #use<Answer>(
    threadId: string,
    use: (used: Used<Agent>) => Promise<Answer>,
    start: Start<Agent>,
  ): Promise<Answer> {
    checkName("threadId", threadId); // without this check, all callers without an id would share a generated one
    for (let left = this.#leaving.get(threadId); left !== undefined; left = this.#leaving.get(threadId)) {
      if (this.isStopped) throw stopped();
      await left;
    }
    if (this.isStopped) throw stopped();
    const live = this.#live.get(threadId) ?? this.#enter(threadId);
    const isJoined = live.server !== undefined;
    live.users += 1;
    live.keep();
    try {
      const agent = await this.#agentFor(threadId, live, start.agent);
      if (live.agent !== agent && live.server !== undefined) {
        // No ask names an agent, and an earlier caller chose one.
        const { request } = await live.server;
        if (live.users > 1 || request !== undefined) throw agentMismatch(threadId, live.agent?.name ?? "", agent.name);
        this.#release(threadId, live, { graceMs: 0 });
        return await this.#use(threadId, use, start);
      }
      live.server ??= this.#start(threadId, live, agent, start);
      const server = await live.server;
      const { thread: loop } = live;
      if (loop === undefined) throw stopped(); // a server that has started has its loop
      await loop.confirmHeld();
      const isRestored = isJoined && isEmpty(loop) && (await this.#options.store.load(threadId, { last: 1 }));
      if (isRestored && live.users === 1 && isEmpty(loop)) {
        this.#release(threadId, live, { graceMs: 0 }); // with the thread that was deleted
        return await this.#use(threadId, use, start);
      }
      await give(loop, start);
      return await use({ server, loop, hosted: (request) => hosted(live, request) });
    } finally {
      live.users -= 1;
      this.#releaseLater(threadId, live);
    }
  }

  /** Claims the thread without waiting, and resumes its request. Without one, the time of the thread held no longer. */
  takeOver(threadId: string, start: Pick<Start<Agent>, "agent" | "gate"> = {}): Promise<AgentRequest | undefined> {
    const isLive = this.live(threadId) !== undefined; // otherwise the start may close the request, as failed
    const taken = async ({ loop }: Used<Agent>) => {
      const request = loop.current ?? (isLive ? undefined : loop.request(loop.live.request?.id ?? ""));
      if (request === undefined) await reschedule(loop);
      return request;
    };
    return this.use(threadId, taken, { claimWaitMs: 0, ...start });
  }

  /** After a change of its inbox. With another time of an ask, the thread is due at another time, also when it is not live. */
  async reread(threadId: string, isTimed: boolean): Promise<void> {
    const live = this.live(threadId);
    if (live !== undefined || !isTimed) return rereadInbox(live);
    await this.takeOver(threadId).catch(() => undefined); // another process holds it
  }

  /** Keeps the code of a tool for the time when the thread is live here. */
  keepTool(threadId: string, name: string, tool: RegisteredTool): void {
    const tools = this.#live.get(threadId)?.registered ?? this.#registered.get(threadId) ?? new Map();
    this.#registered.set(threadId, tools.set(name, tool));
  }

  /** A thread got a command of `from`: it starts, or reads its inbox again. If that fails now, it is tried again later. */
  async #deliver(threadId: string, agent: string | undefined, context: unknown, from: string): Promise<void> {
    this.#due.committed(threadId, this.#ports.clock()); // this host may stop before the thread has begun
    if (this.isStopped) return;
    const start = { claimWaitMs: 0, agent, context } as Start<Agent>; // the context is that of the parent
    try {
      await this.use(threadId, ({ loop }) => takePosted(loop).then(() => endLostCall(this.live(from), loop)), start);
    } catch (error) {
      if (this.isStopped || isOfAnotherHost(error)) return;
      this.#due.setEarlier(threadId, this.#ports.clock() + (this.#options.leaseTtlMs ?? LEASE_TTL_MS));
    }
  }

  async stop(options: StopOptions): Promise<void> {
    for (const [threadId, live] of this.#live) {
      live.wanted.abort();
      this.#release(threadId, live, options);
    }
    await Promise.all(this.#leaving.values());
    if (this.lease !== undefined && !this.#isShared) await endLease(this.#ports, this.lease);
  }

  /** Registers the thread, and reads its agent before it is claimed. */
  #enter(threadId: string): Live<Agent> {
    const wanted = new AbortController();
    void this.lease?.current().catch(() => undefined); // it starts while the agent is read; the claim gets its error
    const live: Live<Agent> = {
      asked: untilAborted(wanted.signal, () => this.#asked(threadId)),
      agent: undefined,
      server: undefined,
      thread: undefined,
      isPatient: true,
      wanted,
      registered: this.#registered.get(threadId) ?? new Map<string, RegisteredTool>(),
      keep: () => undefined,
      users: 0,
      hosted: [],
    };
    this.#live.set(threadId, live);
    return live;
  }

  async #asked(threadId: string, loaded?: Thread): Promise<ThreadAgent | undefined> {
    const log = { store: this.#options.store, ports: this.#ports };
    const asked = await askedAgent(log, threadId, loaded);
    return asked === undefined && this.#agents.size > 1 ? waitingAgent(log, threadId) : asked;
  }

  /** The agent for a caller. Each caller chooses for itself, so that it does not get the refusal of another caller. */
  async #agentFor(threadId: string, live: Live<Agent>, given: string | undefined): Promise<Agent> {
    const { signal } = live.wanted;
    try {
      const before = await live.asked;
      signal.throwIfAborted();
      const { agent } = live;
      const isNamed = before !== undefined || this.#agents.size === 1 || live.thread?.current !== undefined;
      if (agent !== undefined && (given === undefined ? isNamed : given === agent.name)) return agent;
      const isKnown = agent === undefined;
      // Before a caller gets a refusal, the log is read again: the thread may have been deleted.
      const loaded = given === undefined ? live.thread?.agent.thread : undefined;
      const asked = isKnown ? before : await this.#asked(threadId, loaded);
      return chooseAgent(this.#agents, threadId, asked, given ?? (live.thread?.current && agent?.name));
    } catch (error) {
      throw signal.aborted ? stopped() : error;
    }
  }

  #start(
    threadId: string,
    live: Live<Agent>,
    agent: Agent,
    { claimWaitMs, context, tools, first: instead, gate }: Start<Agent>,
  ): Promise<AgentServer<Agent>> {
    live.agent = agent;
    live.isPatient = claimWaitMs === undefined;
    const lost = (): void => this.#release(threadId, live, { graceMs: 0 });
    const opened = (thread: Loop): void => {
      live.thread = thread;
    };
    const own = {
      ...(claimWaitMs !== undefined && { claimWaitMs }),
      ...(context !== undefined && { context: () => context }),
      ...(tools !== undefined && { tools: () => tools }),
    };
    const listen = ({ kind, requestId }: AgentEvent): void => {
      if (kind === "request_completed" || kind === "request_failed" || kind === "request_cancelled")
        this.#ended({ kind, requestId, threadId, agent: live.agent ?? agent });
      // The thread was deleted. Another process may restore it.
      if (kind === "request_failed" && live.thread && isEmpty(live.thread)) this.#releaseLater(threadId, live, GONE_MS);
    };
    const wake = (at: number): void => this.#due.committed(threadId, at);
    const sent = (to: string, of: string | undefined, given: unknown): void =>
      void this.#deliver(to, of, given, threadId);
    // Before the claim, another process may have asked another agent.
    const first: StartHooks["first"] = async (of) => {
      const asked = await this.#asked(threadId, of.thread);
      if (asked !== undefined && asked.name !== agent.name) throw agentMismatch(threadId, asked.name, agent.name, true);
      return instead?.(of);
    };
    // The start uses the thread, and it was allowed. A thread that a caller uses keeps its asks.
    const isUsed = (): boolean => live.users > 0 || live.hosted.some(({ isWatched }) => isWatched);
    const held = (giveBack: Awaited<ReturnType<Gate>>): Promise<void> | undefined => {
      if (giveBack === undefined || isUsed()) return undefined;
      this.#release(threadId, live, { graceMs: 0 }, giveBack);
      return new Promise(() => undefined); // the release ends the wait
    };
    const mayStart: StartHooks["mayStart"] = () => (isUsed() ? undefined : gate?.().then(held));
    // A thread that runs nothing is released for the process that asks: that process then has the stream of the answer.
    const answerCall: StartHooks["answerCall"] = async (call, perform) => {
      const mayRelease = call.method === "ask" || call.method === "continueRequest";
      if (!mayRelease || live.users > 0 || live.thread?.current?.state === "running") return perform();
      return { outcome: { status: "released" }, after: () => this.#releaseFor(threadId, live) };
    };
    const became = (name: string): void => {
      live.agent = this.#agents.get(name) ?? agent;
    };
    const { registered } = live;
    const shared = { lease: this.lease, modelPlaces: this.#modelPlaces, agents: this.#agents };
    const server = AgentServer.open<Agent>(
      { ...this.#options, ...own, agent, threadId, signal: live.wanted.signal },
      { lost, opened, listen, wake, sent, first, mayStart, registered, became, answerCall, ...shared },
    );
    server.catch(() => {
      if (this.#live.get(threadId) === live) this.#live.delete(threadId); // the next caller tries again
    });
    return server;
  }

  #releaseFor(threadId: string, live: Live<Agent>): void {
    if (live.users === 0 && live.thread?.current?.state !== "running") this.#release(threadId, live, { graceMs: 0 });
  }

  /** Releases an idle thread after a while. A waiting request needs no process: it is in the log. */
  #releaseLater(threadId: string, live: Live<Agent> | undefined, idleMs = this.#idleMs): void {
    if (live === undefined || live.users > 0 || this.#live.get(threadId) !== live) return;
    if (live.server === undefined) return void this.#live.delete(threadId);
    live.keep();
    live.keep = this.#ports.after(Math.min(idleMs, this.#idleMs), () => void this.#releaseIfIdle(threadId, live));
  }

  async #releaseIfIdle(threadId: string, live: Live<Agent>): Promise<void> {
    const server = await live.server?.catch(() => undefined);
    await takePosted(live.thread);
    if (server === undefined || live.users > 0 || this.#live.get(threadId) !== live) return;
    const { request } = server;
    const watched = live.hosted.find(({ isWatched }) => isWatched);
    if (request?.state === "running") this.#releaseAfter(request.settled(), threadId, live);
    else if (watched !== undefined) this.#releaseAfter(watched.unwatched(), threadId, live);
    else this.#release(threadId, live, { graceMs: 0 });
  }

  /** Waits for the end of the work instead of polling, because `idleMs` may be 0. */
  #releaseAfter(work: Promise<unknown>, threadId: string, live: Live<Agent>): void {
    live.keep();
    const keep = (): void => undefined; // a later caller replaces it
    live.keep = keep;
    void work.then(() => live.keep === keep && this.#releaseLater(threadId, live));
  }

  /** A time that has passed was not applied here, so the next start waits a while. */
  #wakeLater(threadId: string, { live }: Loop): void {
    const [at, now] = [dueTime(live), this.#ports.clock()];
    const { leaseTtlMs = LEASE_TTL_MS } = this.#options;
    this.#due.set(threadId, at === undefined || at > now ? at : now + leaseTtlMs);
  }

  #release(threadId: string, live: Live<Agent>, options: StopOptions, then?: () => Promise<void>): void {
    if (this.#live.get(threadId) !== live) return;
    live.keep();
    this.#live.delete(threadId);
    if (live.thread !== undefined && !this.isStopped) this.#wakeLater(threadId, live.thread);
    if (live.registered.size > 0) this.#registered.set(threadId, live.registered);
    const left = Promise.resolve(live.server)
      .then((server) => server?.stop(options))
      .then(then)
      .catch(() => undefined) // it never started, or the store is closed: there is nothing to release
      .finally(() => this.#leaving.delete(threadId));
    this.#leaving.set(threadId, left);
  }
}

/** Whether the thread has no entry here, and no ask. */
function isEmpty({ agent, live }: Loop): boolean {
  return agent.thread.rev === 0 && live.asks.length === 0;
}

/** Sets the context and the tools of the open request. */
async function give(
  loop: Loop,
  { context, tools }: { readonly context?: unknown; readonly tools?: Tools | undefined },
): Promise<void> {
  const id = loop.current?.id;
  if (context === undefined && tools === undefined) return;
  const facts = tools && (await factsOf(tools, loop.hookLimit));
  if (id === undefined) return;
  if (tools !== undefined) loop.setTransient(id, { tools });
  await loop.change(giving(id, { context, tools: facts }));
}

function hosted<Agent extends AnyAgent>(
  live: Live<Agent>,
  request: AgentRequest<AgentOutput<Agent>>,
): AgentRequest<AgentOutput<Agent>> {
  const known = live.hosted.find((one) => one.isOf(request));
  const made = known ?? new HostedRequest(request);
  live.hosted = [...live.hosted.filter((one) => one !== known && one.state !== "done"), made];
  return made;
}

/** How often a call claims a thread whose claim is lost in it. */
const MOST_CLAIMS = 5;

function claimLost(threadId: string, cause: unknown): RequestError {
  const message = `This process claimed thread ${threadId} ${MOST_CLAIMS} times, and lost each claim. Try again. If it happens often, raise leaseTtlMs or give the process more CPU time.`;
  return new RequestError({ code: "claim_lost", retryable: true, message, cause });
}

function stopped(): RequestError {
  return new RequestError({ code: "server_stopped", message: "This host was stopped. Make another one." });
}
