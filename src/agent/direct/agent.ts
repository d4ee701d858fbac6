import { type Ports, systemPorts } from "../../thread/ports.ts";
import { Thread } from "../../thread/thread.ts";
import type { AnyAction } from "./action.ts";

/** A running instruction. */
export interface Running {
  readonly instructionId: string;
  readonly action: string;
  readonly paramKeys: readonly string[];
  readonly startedAt: number;
  /** Whether the start is in the log; only then the end is logged too. */
  readonly logged: boolean;
}

/** The immutable state of a Direct agent between two signals. */
export interface DirectAgent<Context = never> {
  readonly strategy: "direct";
  readonly name: string;
  readonly actions: readonly AnyAction<Context>[];
  readonly ports: Ports;
  readonly thread: Thread;
  /** Whether every instruction is logged. With a non-empty thread every instruction is logged in any case. */
  readonly logs: boolean;
  readonly stopOnError: boolean;
  readonly running: readonly Running[];
}

export interface DirectOptions<Context> {
  /** Default "direct". */
  readonly name?: string | undefined;
  readonly actions: readonly AnyAction<Context>[];
  /** True logs every instruction on a new thread; a Thread is continued. Default false. */
  readonly thread?: boolean | Thread | undefined;
  /** Whether later instructions are skipped after a failed one. Default false. */
  readonly stopOnError?: boolean | undefined;
}

/**
 * An agent without a model. It runs actions by name. It can log each instruction, with the names of the parameters but
 * never their values.
 *
 * @example
 * const add = defineAction({ name: "add", inputSchema: { type: "object" }, run: () => 4 });
 * const agent = direct({ actions: [add], thread: true });
 * cmd(agent, { type: "instruction", action: "add", params: { a: 2, b: 2 } }).directives[0]?.type; // "run_action"
 */
export function direct<Context = unknown>(
  { name = "direct", actions, thread = false, stopOnError = false }: DirectOptions<Context>,
  ports: Ports = systemPorts,
): DirectAgent<Context> {
  const isGiven = Thread.isThread(thread);
  return {
    strategy: "direct",
    name,
    actions,
    ports,
    thread: isGiven ? thread : Thread.create({ clock: ports.clock, ids: ports.ids }),
    logs: isGiven || thread,
    stopOnError,
    running: [],
  };
}
