import type { AnyAgent } from "../agent/definition/agent.ts";
import { modelNameOf } from "../agent/definition/language-model.ts";
import type { ReactSettings } from "../agent/react/settings.ts";
import { AgentHost } from "../runtime/agent-host.ts";
import { interruptedThreads, isAskedOf } from "../runtime/host/recovery.ts";
import { type RuntimePorts, runtimePorts } from "../runtime/ports.ts";
import type { AgentServer } from "../runtime/server/port.ts";
import { settingsFor } from "../runtime/server/settings.ts";
import { systemWarn } from "../runtime/warn.ts";
import { ThreadHeldError, threadNotFound } from "../stores/errors.ts";
import type { ThreadStore } from "../stores/port.ts";
import { CallSeqs } from "./calls/call-seqs.ts";
import type { OfferedPrompt } from "./contract/info.ts";
import { isDemo } from "./demo/demo-agent.ts";
import { DEMO_PROMPTS } from "./demo/prompts.ts";
import type { Access } from "./http/access.ts";
import { StudioError } from "./http/error.ts";
import { LiveRequests } from "./live/live-requests.ts";
import type { StudioOptions } from "./options.ts";
import type { Page } from "./page.ts";
import { ForkIndex } from "./threads/fork-index.ts";
import { TitledStore } from "./threads/titled-store.ts";
import { Titles } from "./threads/titles.ts";

/** How many threads are resumed at the same time after a start. */
const AT_ONCE = 8;
const IMPORT_LIMIT = 256 * 1024 * 1024;
const CLAIM_TTL_MS = 10_000;
/** How long an action waits for another process to release the thread. */
const CLAIM_WAIT_MS = 2000;

/** The state that all routes share: the store, the host that runs the agent, and the live requests of this process. */
export class Studio {
  readonly store: ThreadStore;
  readonly agent: AnyAgent;
  readonly readOnly: boolean;
  readonly ports: RuntimePorts;
  readonly live = new LiveRequests();
  readonly titles: Titles;
  readonly label: string;
  readonly prompts: readonly OfferedPrompt[];
  readonly importLimit: number;
  /** Aborted when Studio stops. */
  readonly stopped = new AbortController();
  readonly #options: StudioOptions;
  #host: AgentHost | undefined;
  #settings: Promise<ReactSettings> | undefined;
  #titled: TitledStore | undefined;
  #holder: string | undefined;

  readonly callSeqs: CallSeqs;
  readonly forks: ForkIndex;
  readonly page: Page | undefined;
  /** Undefined if no token is required. */
  readonly access: Access | undefined;

  constructor(store: ThreadStore, agent: AnyAgent, options: StudioOptions, page?: Page, access?: Access) {
    this.page = page;
    this.access = access;
    this.callSeqs = new CallSeqs(store);
    this.forks = new ForkIndex(store);
    this.store = store;
    this.agent = agent;
    this.readOnly = options.readOnly ?? false;
    this.ports = runtimePorts(options.ports);
    this.titles = new Titles(store);
    this.label = labelOf(options);
    this.prompts = options.prompts ?? (this.isDemo ? DEMO_PROMPTS : []);
    this.importLimit = options.importLimit ?? IMPORT_LIMIT;
    this.#options = options;
  }

  /** The agent's settings for the core, to project without asking the model. */
  get settings(): Promise<ReactSettings> {
    this.#settings ??= settingsFor(this.agent);
    return this.#settings;
  }

  get model(): string {
    return modelNameOf(this.agent.model);
  }

  get isDemo(): boolean {
    return isDemo(this.agent);
  }

  /** The store that gives a thread a title at its first ask. */
  get titled(): TitledStore {
    this.#titled ??= new TitledStore(this.store, this.agent.name);
    return this.#titled;
  }

  /** Runs the agent. It claims threads, so routes that only read must not use it. */
  get host(): AgentHost {
    if (this.stopped.signal.aborted) throw stopped();
    const { warn, idleMs, context } = this.#options;
    this.#host ??= AgentHost.create({
      agent: this.agent,
      store: this.titled.store,
      ports: this.ports,
      warn,
      idleMs,
      holder: this.#holder,
      claimTtlMs: CLAIM_TTL_MS,
      claimWaitMs: CLAIM_WAIT_MS,
      ...(context && { context: (threadId: string) => context(threadId) as never }), // the agent's own code has typed it
    });
    return this.#host;
  }

  /** The live server of an existing thread. A mistyped id fails and creates no thread. */
  async serverOf(threadId: string): Promise<AgentServer> {
    if ((await this.store.load(threadId, { last: 1 })) === undefined) throw threadNotFound(threadId);
    const server = await this.host.get(threadId);
    if (server.request !== undefined) this.live.attach(threadId, server.request);
    return server;
  }

  contextOf(threadId: string): never | undefined {
    return this.#options.context?.(threadId) as never; // the agent's own code has typed it
  }

  /**
   * Resumes the requests that a crash interrupted. With the same `holder` as the killed Studio, its threads can be claimed at
   * once.
   */
  async takeUp(holder?: string): Promise<void> {
    this.#holder = holder;
    if (this.readOnly) return;
    const held = await this.#resumeAll(await interruptedThreads(this.store, this.ports));
    if (held.length === 0) return;
    // Their holder may have died. Its claims have expired by then.
    const cancel = this.ports.after(CLAIM_TTL_MS, () => void this.#resumeAll(held));
    this.stopped.signal.addEventListener("abort", cancel, { once: true });
  }

  /** Resumes the threads. Returns those that another process holds. */
  async #resumeAll(threadIds: readonly string[]): Promise<readonly string[]> {
    const left = [...threadIds];
    const held: string[] = [];
    const take = async (): Promise<void> => {
      for (let id = left.shift(); id !== undefined && !this.stopped.signal.aborted; id = left.shift()) {
        if (!(await isAskedOf(this.store, id, this.agent.name).catch(() => false))) continue; // the request is for another agent
        if (await this.resume(id)) held.push(id);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, take));
    return held;
  }

  /** Resumes and follows the open request of a thread. Returns whether another process holds the thread. */
  async resume(threadId: string): Promise<boolean> {
    try {
      const request = await this.host.resume(threadId);
      if (request !== undefined) this.live.attach(threadId, request);
    } catch (error) {
      if (ThreadHeldError.isInstance(error)) return true; // its entries will show the end
      if (!this.stopped.signal.aborted) this.warn(error);
    }
    return false;
  }

  /** Reports an error that no caller gets. */
  warn(error: unknown): void {
    (this.#options.warn ?? systemWarn)(`Studio: ${error instanceof Error ? error.stack : String(error)}`);
  }

  async stop(graceMs = 5000): Promise<void> {
    if (this.stopped.signal.aborted) return;
    this.stopped.abort();
    await this.#host?.stop({ graceMs });
  }
}

/** The name of the store for the page. It has no password and no path of the URL. */
function labelOf({ label, url }: StudioOptions): string {
  if (label !== undefined) return label;
  return /^[a-z]+(?=:)/.exec(url ?? "")?.[0] ?? (url === undefined ? "store" : "memory");
}

function stopped(): StudioError {
  return new StudioError({ code: "server_stopped", status: 503, message: "This Studio was stopped. Start it again." });
}
