import { LeaseEndedError } from "../../stores/errors.ts";
import type { Leases } from "../../stores/lease.ts";
import type { ModelPlaces } from "../perform/scene.ts";
import type { RuntimePorts } from "../ports.ts";
import type { NodeLease } from "../session/node-lease.ts";
import { pause } from "../timers.ts";
import { Places } from "../tools/limits.ts";
import type { WorkOptions } from "./options.ts";

interface PlacesOptions extends Pick<WorkOptions, "rate" | "modelCalls"> {
  readonly concurrency: number;
  readonly ports: RuntimePorts;
  /** Aborted when the host stops. */
  readonly stopped: AbortSignal;
  readonly lease: NodeLease;
  readonly leases: Leases;
}

/** Lets the model calls of this process start within its limits. */
export class HostPlaces implements ModelPlaces {
  readonly #options: PlacesOptions;
  readonly #places: Places;
  /** By model or provider. */
  readonly #shared: Readonly<Record<string, SharedPlaces>>;
  /** When the last calls began, and when those begin that wait for their time. */
  #starts: readonly number[] = [];

  constructor(options: PlacesOptions) {
    const { concurrency, modelCalls = {}, stopped } = options;
    this.#options = options;
    this.#places = new Places(() => concurrency, stopped);
    this.#shared = Object.fromEntries(
      Object.entries(modelCalls).map(([name, limit]) => [name, new SharedPlaces({ ...options, name, limit })]),
    );
  }

  get isOver(): boolean {
    return this.#places.isOver;
  }

  run<Result>(call: () => Promise<Result>, signal: AbortSignal, model = ""): Promise<Result> {
    const here = (): Promise<Result> =>
      this.#places.run(async () => {
        await this.#turn(signal);
        return call();
      }, signal);
    const names = new Set([model, model.split(":", 1)[0] ?? ""]);
    return [...names]
      .flatMap((name) => this.#shared[name] ?? [])
      .reduceRight((inner, shared) => () => shared.run(inner, signal), here)();
  }

  /** Waits until the rate allows one more call. */
  async #turn(signal: AbortSignal): Promise<void> {
    const { rate, ports, stopped } = this.#options;
    if (rate === undefined) return;
    const now = ports.monotonic();
    const at = Math.max(now, (this.#starts.at(-rate.calls) ?? Number.NEGATIVE_INFINITY) + rate.perMs);
    this.#starts = [...this.#starts, at].slice(-rate.calls);
    if (at > now) await pause(ports, at - now, AbortSignal.any([signal, stopped]));
  }
}

/** How often a node asks for its part: while calls wait for places, and while it has some. */
const [WAITING_MS, STEADY_MS] = [200, 1000];

interface SharedOptions extends Omit<PlacesOptions, "concurrency" | "rate" | "modelCalls"> {
  /** The model or its provider. */
  readonly name: string;
  /** The most calls of all nodes at once. */
  readonly limit: number;
}

/**
 * Places that all nodes of a database share. The others read how many calls a node has, and it takes its part from a counter
 * whose sum never passes the limit. A node that could not renew its lease starts none.
 */
class SharedPlaces {
  readonly #options: SharedOptions;
  readonly #here: Places;
  /** How many calls may run here. */
  #granted = 0;
  /** Ends the wait before the next question; undefined while this node has no part and needs none. */
  #ask: (() => void) | undefined;

  constructor(options: SharedOptions) {
    this.#options = options;
    this.#here = new Places(() => (options.lease.isFresh ? this.#granted : 0), options.stopped);
  }

  async run<Result>(call: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    const here = this.#here;
    const made = here.run(call, signal);
    if (this.#ask === undefined) void this.#share();
    else if (here.running + here.waiting === this.#granted + 1) this.#ask();
    try {
      return await made;
    } finally {
      if (here.running >= this.#granted) this.#ask?.(); // other nodes wait for this place
    }
  }

  /** Asks for a part, again and again, until this node needs none. */
  async #share(): Promise<void> {
    const { ports, stopped } = this.#options;
    const here = this.#here;
    do {
      const { promise: asked, resolve } = Promise.withResolvers<void>();
      this.#ask = resolve;
      await this.#take().catch(() => undefined); // what it has stays while the lease is fresh
      here.grown();
      const waited = new AbortController();
      const ms = here.waiting > 0 ? WAITING_MS : STEADY_MS;
      await Promise.race([asked, pause(ports, ms, AbortSignal.any([stopped, waited.signal]))]);
      waited.abort();
    } while (!stopped.aborted && here.running + here.waiting + this.#granted > 0);
    this.#ask = undefined;
  }

  async #take(): Promise<void> {
    const { name, limit, lease: node, leases, ports } = this.#options;
    const { key: lease, renewal } = await node.current();
    const counter = encodeURIComponent(name); // a name of a counter has no slash
    try {
      const wanted = this.#here.running + this.#here.waiting;
      const wants = await leases.count({ lease, name: `wants ${counter}`, amount: wanted });
      const part = fairPart(limit, wants.others, ports.random() < 0.5);
      const target = Math.min(part, 2 * wanted); // more than it wants now, so that not every call has to ask
      const amount = Math.max(target, this.#here.running);
      const calls = await leases.count({ lease, name: `calls ${counter}`, amount, limit });
      this.#granted = Math.min(target, calls.amount);
    } catch (error) {
      if (LeaseEndedError.isInstance(error)) await renewal.renewNow();
      throw error;
    }
  }
}

/**
 * How many of `limit` places one node may have, when the others want so many. Those that want less than their part leave the rest
 * to the others. A rest that cannot be divided goes to those who round up.
 */
export function fairPart(limit: number, others: readonly number[], roundsUp: boolean): number {
  let [left, nodes] = [limit, others.length + 1];
  for (const wanted of others.toSorted((a, b) => a - b)) {
    if (wanted * nodes >= left) break;
    left -= wanted;
    nodes--;
  }
  return roundsUp ? Math.ceil(left / nodes) : Math.floor(left / nodes);
}
