import { type Ports, systemPorts } from "../thread/ports.ts";

/** What the runtime takes from the world; a simulated one passes its own. */
export interface RuntimePorts extends Ports {
  /** Calls `run` once after `ms` milliseconds, unless what it returns was called before. */
  readonly after: (ms: number, run: () => void) => () => void;
  /**
   * Milliseconds that have passed since some moment, never set back. Default `performance.now`. It also counts while the
   * process is stopped; a claim's age is measured with it.
   */
  readonly monotonic: () => number;
  /** From 0 up to, but not including, 1. */
  readonly random: () => number;
}

/** The longest a timer of JavaScript can wait; it fires at once beyond that. */
const LONGEST = 2 ** 31 - 1;

/**
 * Clock, ids, chance and timers of the machine. Take them, and put your own in the place of one.
 *
 * @example
 * const ports = { ...systemRuntimePorts, clock: () => 0 };
 * const server = await AgentServer.start({ agent: defineAgent({ model: scriptedModel([]) }), store, ports });
 */
export const systemRuntimePorts: RuntimePorts = {
  ...systemPorts,
  after: (ms, run) => {
    const timer = setTimeout(run, Math.min(ms, LONGEST));
    return () => clearTimeout(timer);
  },
  monotonic: () => performance.now(),
  random: Math.random,
};

/** The machine's ports with those of the caller in their place. A clock that was given alone also measures durations. */
export function runtimePorts(given: Partial<RuntimePorts> = {}): RuntimePorts {
  const monotonic = given.monotonic ?? given.clock;
  return { ...systemRuntimePorts, ...given, ...(monotonic && { monotonic }) };
}
