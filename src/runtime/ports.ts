import { type Ports, systemPorts } from "../thread/ports.ts";

/** Clock, ids, timers and randomness of the runtime. Tests and simulations pass their own. */
export interface RuntimePorts extends Ports {
  /** Calls `run` once after `ms` milliseconds. The returned function cancels it. */
  readonly after: (ms: number, run: () => void) => () => void;
  /**
   * Milliseconds since some fixed moment, never set back. It also counts while the process is suspended. The age of a claim
   * is measured with it. Default `performance.now`.
   */
  readonly monotonic: () => number;
  /** A random number from 0 up to, but not including, 1. */
  readonly random: () => number;
}

/** The longest timer of JavaScript. With a longer one it would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * The default clock, ids, timers and random numbers. Spread it to replace some of them.
 *
 * @example
 * const ports = { ...systemRuntimePorts, clock: () => 0 };
 * const server = await AgentServer.start({ agent: defineAgent({ model: scriptedModel([]) }), store, ports });
 */
export const systemRuntimePorts: RuntimePorts = {
  ...systemPorts,
  after: (ms, run) => {
    const timer = setTimeout(run, Math.min(ms, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
  monotonic: () => performance.now(),
  random: Math.random,
};

/** The default ports, with those of the caller over them. A custom clock without `monotonic` also measures durations. */
export function runtimePorts(own: Partial<RuntimePorts> = {}): RuntimePorts {
  const monotonic = own.monotonic ?? own.clock;
  return { ...systemRuntimePorts, ...own, ...(monotonic && { monotonic }) };
}
