import type { AnyAgent } from "../../agent/definition/config.ts";
import type { ThreadDatabase } from "../../stores/database.ts";
import type { TakenThread } from "../../stores/runnable.ts";
import { checkHostOptions, checkStopOptions, checkTenantWorkOptions } from "../option-names.ts";
import { type RuntimePorts, runtimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import { LEASE_TTL_MS } from "../server/start.ts";
import { endLease, NodeLease } from "../session/node-lease.ts";
import { AgentHost } from "./agent-host.ts";
import type { SharedParts } from "./live-threads.ts";
import type { HostOptions, TenantHostsOptions, TenantWorkOptions } from "./options.ts";
import { agentsOf } from "./thread-agent.ts";
import { type Gate, type Working, working } from "./worker.ts";

/**
 * A host for each tenant of a database, in one process: with one lease, one worker, and limits for all of them together.
 *
 * @example
 * const hosts = TenantHosts.create({ agent: defineAgent({ model: scriptedModel(["4"]) }), database: memoryDatabase() });
 * hosts.work({ concurrency: 100, perTenant: 10 });
 * const request = await hosts.of("acme").ask("thread_1", "What's 2+2?");
 * const { text } = await request.result; // "4"
 * await hosts.stop();
 */
export class TenantHosts<Agent extends AnyAgent = AnyAgent> implements AsyncDisposable {
  readonly #options: Omit<HostOptions<Agent>, "store">;
  readonly #database: ThreadDatabase;
  readonly #ports: RuntimePorts;
  readonly #lease: NodeLease;
  readonly #hosts = new Map<string, TenantHost<Agent>>();
  readonly #stopping = new AbortController();
  #working: Working | undefined;

  private constructor({ database, ...options }: TenantHostsOptions<Agent>) {
    const ports = runtimePorts(options.ports);
    this.#database = database;
    this.#ports = ports;
    this.#lease = new NodeLease(database.leases, { ports, ttlMs: options.leaseTtlMs ?? LEASE_TTL_MS });
    const holder = options.holder ?? ports.ids("host");
    this.#options = { ...options, holder } as Omit<HostOptions<Agent>, "store">; // each host has its own store
  }

  static create<Agent extends AnyAgent>(options: TenantHostsOptions<Agent>): TenantHosts<Agent> {
    const { database, ...others } = options;
    checkHostOptions({ ...others, store: database.tenant("default") });
    return new TenantHosts(options);
  }

  /** The host of a tenant, always the same one. */
  of(tenant: string): AgentHost<Agent> {
    return this.#of(tenant);
  }

  #of(tenant: string): TenantHost<Agent> {
    const known = this.#hosts.get(tenant);
    if (known !== undefined) return known;
    if (this.#stopping.signal.aborted) throw stopped();
    const shared = {
      lease: this.#lease,
      places: () => this.#working?.places,
      placeIsFree: () => this.#working?.worker.look(),
    };
    const options = { ...this.#options, store: this.#database.tenant(tenant) } as HostOptions<Agent>; // with a store they are whole
    const host = new TenantHost<Agent>(options, shared);
    this.#hosts.set(tenant, host);
    return host;
  }

  /** The number of threads that are live now. */
  get size(): number {
    return [...this.#hosts.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * Takes threads of all tenants as `work` of a host takes those of one. Tenants take turns. The limits of model calls are for
   * all tenants together.
   */
  work(options: TenantWorkOptions = {}): void {
    const agents = agentsOf<Agent>(this.#options as HostOptions<Agent>); // it reads no store
    checkTenantWorkOptions(options, agents);
    if (this.#stopping.signal.aborted) throw stopped();
    if (this.#working !== undefined) throw new RequestError({ code: "invalid_options", message: "Call `work` once." });
    const { leases, runnable } = this.#database;
    this.#working = working(options, {
      ...{ leases, runnable, lease: this.#lease, ports: this.#ports, stopped: this.#stopping.signal, agents },
      holder: this.#options.holder ?? "",
      busy: () => [...this.#hosts.values()].reduce((sum, { running }) => sum + running, 0),
      storeOf: (tenant) => this.#of(tenant).store,
      start: (thread, gate) => this.#of(thread.tenant).start(thread, gate),
      failed: (thread, error) => this.#of(thread.tenant).report(thread, error),
    });
  }

  /** Ends work that has begun, as `stop` of a host does, and releases the threads of all tenants. */
  async stop(options: Parameters<AgentHost["stop"]>[0] = {}): Promise<void> {
    checkStopOptions(options);
    this.#stopping.abort();
    await Promise.all(Array.from(this.#hosts.values(), (host) => host.stop(options)));
    await endLease(this.#ports, this.#lease);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** The host of one tenant. */
class TenantHost<Agent extends AnyAgent> extends AgentHost<Agent> {
  constructor(options: HostOptions<Agent>, shared: SharedParts) {
    super(options, shared);
  }

  get running(): number {
    return this.busy;
  }

  start({ threadId, agent }: TakenThread, gate: Gate): Promise<unknown> {
    return this.startTaken(threadId, agent, gate);
  }

  report({ threadId }: TakenThread, error: unknown): void {
    this.reportTaken(threadId, error);
  }

  override work(): never {
    const message = "This host shares its worker with those of other tenants. Call `work` of TenantHosts.";
    throw new RequestError({ code: "invalid_options", message });
  }
}

function stopped(): RequestError {
  return new RequestError({ code: "server_stopped", message: "These hosts were stopped. Make others." });
}
