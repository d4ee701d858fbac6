import type { AnyAgent } from "../agent/definition/config.ts";
import { modelNames, staticModels } from "../agent/definition/language-model.ts";
import type { ReactSettings } from "../agent/react/settings.ts";
import { systemWarn } from "../runtime/callbacks.ts";
import { type FoundCall, findCall } from "../runtime/calls/find-call.ts";
import { AgentHost } from "../runtime/host/agent-host.ts";
import { isOfAnotherHost } from "../runtime/host/thread-agent.ts";
import { type RuntimePorts, runtimePorts } from "../runtime/ports.ts";
import { settingsFor } from "../runtime/server/settings.ts";
import { retryStore } from "../runtime/session/store-retry.ts";
import { ThreadHeldError } from "../stores/errors.ts";
import type { ThreadInfo, ThreadStore } from "../stores/port.ts";
import { BranchReader } from "./branches.ts";
import type { ForkRow, SuggestedPrompt } from "./contract.ts";
import { DEMO_PROMPTS, isDemo } from "./demo/demo-agent.ts";
import type { Access } from "./http/guard.ts";
import { StudioError } from "./http/response.ts";
import { LiveRequests } from "./live/live-requests.ts";
import type { StudioOptions } from "./options.ts";
import type { Page } from "./page.ts";
import { TitledStore, Titles } from "./titles.ts";

/** How many threads are resumed in parallel at the start. */
const MAX_RESUMES = 8;
const PAGE = 200;
const IMPORT_LIMIT = 256 * 1024 * 1024;
const CLAIM_TTL_MS = 10_000;
/** Milliseconds that an action waits until another process releases the thread. The lease of a dead one has ended then. */
const CLAIM_WAIT_MS = CLAIM_TTL_MS + 2000;

/** State shared by all routes: the store, the host that runs the agent, and the requests that run in this process. */
export class Studio {
  readonly store: ThreadStore;
  /** The first one answers in new threads. */
  readonly agents: readonly [AnyAgent, ...AnyAgent[]];
  readonly readOnly: boolean;
  readonly ports: RuntimePorts;
  readonly live = new LiveRequests();
  readonly titles: Titles;
  readonly label: string;
  readonly prompts: readonly SuggestedPrompt[];
  readonly importLimit: number;
  /** Aborted when Studio stops. */
  readonly stopped = new AbortController();
  /** The event streams that are open. */
  readonly streams = new Set<AbortController>();
  readonly #options: StudioOptions;
  readonly #given: AgentHost | undefined;
  #host: AgentHost | undefined;
  #settings: Promise<ReactSettings> | undefined;
  #titled: TitledStore | undefined;
  #holder: string | undefined;

  readonly callSeqs: CallSeqs;
  readonly forks: ForkIndex;
  readonly branches: BranchReader;
  readonly page: Page | undefined;
  /** Undefined if no token is required. */
  readonly access: Access | undefined;

  /** `given`: a host that is used in place of an own one, and not stopped. */
  constructor(
    store: ThreadStore,
    agents: readonly [AnyAgent, ...AnyAgent[]],
    options: StudioOptions,
    page?: Page,
    access?: Access,
    given?: AgentHost,
  ) {
    this.#given = given;
    this.page = page;
    this.access = access;
    this.callSeqs = new CallSeqs(store);
    this.forks = new ForkIndex(store);
    this.branches = new BranchReader(store);
    this.store = store;
    this.agents = agents;
    this.readOnly = options.readOnly ?? false;
    this.ports = runtimePorts(options.ports);
    this.titles = new Titles(store);
    this.label = labelOf(options);
    this.prompts = options.prompts ?? (this.isDemo ? DEMO_PROMPTS : []);
    this.importLimit = options.importLimit ?? IMPORT_LIMIT;
    this.#options = options;
  }

  get agent(): AnyAgent {
    return this.agents[0];
  }

  /** The agent with this name. Undefined if Studio does not have it. */
  agentNamed(name: unknown): AnyAgent | undefined {
    return this.agents.find((agent) => agent.name === name);
  }

  /** The agent's settings for a projection without a model call. */
  get settings(): Promise<ReactSettings> {
    this.#settings ??= settingsFor(this.agent);
    return this.#settings;
  }

  /** The models of an agent. Empty if a function chooses them. */
  modelOf({ model }: AnyAgent): string {
    return modelNames(staticModels(model)).join(", ");
  }

  get isDemo(): boolean {
    return isDemo(this.agent);
  }

  /** The store for writing. It also writes a title with the first message of a thread. */
  get titled(): TitledStore {
    this.#titled ??= new TitledStore(this.store, this.agent.name);
    return this.#titled;
  }

  /** Runs the agent. It claims threads (locks them for this process), so read-only routes must not use it. */
  get host(): AgentHost {
    if (this.stopped.signal.aborted) throw stopped();
    if (this.#given !== undefined) return this.#given;
    const { warn, idleMs, context } = this.#options;
    this.#host ??= AgentHost.create({
      agents: this.agents,
      store: this.titled.store,
      ports: this.ports,
      warn,
      idleMs,
      holder: this.#holder,
      leaseTtlMs: CLAIM_TTL_MS,
      claimWaitMs: CLAIM_WAIT_MS,
      ...(context && { context: (threadId: string) => context(threadId) as never }), // `context` comes with the agent, so its type fits
    });
    return this.#host;
  }

  async contextOf(threadId: string): Promise<never> {
    return (await this.#options.context?.(threadId)) as never; // `context` comes with the agent, so its type fits
  }

  /**
   * Resumes requests that a crash interrupted. With the `holder` name of the killed Studio, its threads can be claimed
   * at once.
   */
  async resumeInterrupted(holder?: string): Promise<void> {
    this.#holder = holder;
    if (this.readOnly) return;
    const held = await this.#resumeAll(await this.#interrupted());
    if (held.length === 0) return;
    // Tries again when claims of a dead process have expired.
    const cancel = this.ports.after(CLAIM_TTL_MS, () => void this.#resumeAll(held));
    this.stopped.signal.addEventListener("abort", cancel, { once: true });
  }

  /** The threads with a running request, or with an end that was not reported. */
  async #interrupted(): Promise<readonly string[]> {
    const ids: string[] = [];
    for (const filter of [{ status: "running" }, { metadata: { unreportedEnd: true } }]) {
      for (let cursor: string | undefined; ; ) {
        const query = { ...filter, limit: PAGE, order: "id", cursor } as const;
        const page = await retryStore(this.ports, () => this.store.list(query));
        ids.push(...page.threads.map(({ id }) => id));
        cursor = page.cursor;
        if (cursor === undefined) break;
      }
    }
    return ids;
  }

  /** Resumes the threads. Returns those that another process still holds. */
  async #resumeAll(threadIds: readonly string[]): Promise<readonly string[]> {
    const left = [...threadIds];
    const held: string[] = [];
    const take = async (): Promise<void> => {
      for (let id = left.shift(); id !== undefined && !this.stopped.signal.aborted; id = left.shift()) {
        if (await this.resume(id)) held.push(id);
      }
    };
    await Promise.all(Array.from({ length: MAX_RESUMES }, take));
    return held;
  }

  /** Resumes the open request of a thread and collects its events. Returns whether another process holds the thread. */
  async resume(threadId: string): Promise<boolean> {
    try {
      const request = await this.host.resume(threadId);
      if (request !== undefined) this.live.attach(threadId, request);
    } catch (error) {
      if (ThreadHeldError.isInstance(error)) return true; // the process that holds the thread runs the request; its entries will arrive
      if (!this.stopped.signal.aborted && !isOfAnotherHost(error)) this.warn(error);
    }
    return false;
  }

  /** Warns about an error for which there is no caller. */
  warn(error: unknown): void {
    (this.#options.warn ?? systemWarn)(`Studio: ${error instanceof Error ? error.stack : String(error)}`);
  }

  async stop(graceMs = 5000): Promise<void> {
    if (this.stopped.signal.aborted) return;
    this.stopped.abort();
    await this.#host?.stop({ graceMs });
  }
}

/** Returns the store's name for the page, without the password and path in the URL. */
function labelOf({ label, url }: StudioOptions): string {
  if (label !== undefined) return label;
  return /^[a-z]+(?=:)/.exec(url ?? "")?.[0] ?? (url === undefined ? "store" : "memory");
}

function stopped(): StudioError {
  return new StudioError({ code: "server_stopped", status: 503, message: "This Studio was stopped. Start it again." });
}

const MAX_CACHED_CALLS = 50_000;

/** Caches the entry seqs of calls that were read. An old call is then found without a search. */
class CallSeqs {
  readonly #store: ThreadStore;
  readonly #seqs = new Map<string, number>();

  constructor(store: ThreadStore) {
    this.#store = store;
  }

  note(threadId: string, { callId, entry }: FoundCall): void {
    if (this.#seqs.size >= MAX_CACHED_CALLS) this.#seqs.clear();
    this.#seqs.set(`${threadId}/${callId}`, entry.seq);
  }

  async find(threadId: string, callId: string, atSeq?: number): Promise<FoundCall> {
    const found = await findCall(this.#store, threadId, callId, atSeq ?? this.#seqs.get(`${threadId}/${callId}`));
    this.note(threadId, found);
    return found;
  }
}

const LIST_PAGE = 1000;

/** Caches the forks of each thread. Reads the store's list once, and later only newly created threads. */
class ForkIndex {
  readonly #store: ThreadStore;
  readonly #forks = new Map<string, Map<string, number>>();
  #upTo = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> = Promise.resolve();

  constructor(store: ThreadStore) {
    this.#store = store;
  }

  async of(threadId: string): Promise<readonly ForkRow[]> {
    this.#reading = this.#reading.catch(() => undefined).then(() => this.#read());
    await this.#reading;
    const known = [...(this.#forks.get(threadId) ?? [])];
    const still = await Promise.all(
      known.map(async ([id, forkSeq]): Promise<readonly ForkRow[]> => {
        const isThere = (await this.#store.load(id, { last: 1 })) !== undefined; // the fork may have been deleted
        return isThere ? [{ id, forkSeq }] : [];
      }),
    );
    return still.flat();
  }

  /** Adds a thread to the index. An imported thread can have an old creation time, which a later read would skip. */
  note({ id, metadata }: Pick<ThreadInfo, "id" | "metadata">): void {
    const { parentThreadId, forkSeq } = metadata;
    if (typeof parentThreadId !== "string" || typeof forkSeq !== "number") return;
    const forks = this.#forks.get(parentThreadId) ?? new Map<string, number>();
    this.#forks.set(parentThreadId, forks.set(id, forkSeq));
  }

  async #read(): Promise<void> {
    let cursor: string | undefined;
    let newest = this.#upTo;
    do {
      const page = await this.#store.list({ order: "created", limit: cursor === undefined ? 20 : LIST_PAGE, cursor });
      for (const info of page.threads) {
        newest = Math.max(newest, info.createdAt);
        this.note(info);
      }
      // Threads created in the same millisecond as the newest known one are read again.
      cursor = (page.threads.at(-1)?.createdAt ?? 0) < this.#upTo ? undefined : page.cursor;
    } while (cursor !== undefined);
    this.#upTo = newest;
  }
}
