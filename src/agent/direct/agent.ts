import { type Ports, systemPorts } from "../../thread/ports.ts";
import { Thread } from "../../thread/thread.ts";
import type { AnyAction } from "./action.ts";

/** An instruction under way. */
export interface Running {
  readonly instructionId: string;
  readonly action: string;
  readonly paramKeys: readonly string[];
  readonly startedAt: number;
  /** Whether the thread has its beginning, and so gets its end. */
  readonly logged: boolean;
}

/** A Direct agent at rest between two instructions: a value, like the thread in it. */
export interface DirectAgent<Context = never> {
  readonly strategy: "direct";
  readonly name: string;
  readonly actions: readonly AnyAction<Context>[];
  readonly ports: Ports;
  readonly thread: Thread;
  /** Whether every instruction is logged; a thread that has entries logs in any case. */
  readonly logs: boolean;
  readonly stopOnError: boolean;
  readonly running: readonly Running[];
}

export interface DirectOptions<Context> {
  /** Default "direct". */
  readonly name?: string | undefined;
  readonly actions: readonly AnyAction<Context>[];
  /** True logs every instruction on a thread of its own; a Thread is gone on with. Default false. */
  readonly thread?: boolean | Thread | undefined;
  /** Whether an instruction that fails keeps those after it from being run. Default false. */
  readonly stopOnError?: boolean | undefined;
}

/**
 * An agent without a model: it runs actions by name and, where asked to, logs that it did; the names of parameters, never
 * their values.
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
