import { type Ports, systemPorts } from "../../thread/ports.ts";
import { Thread } from "../../thread/thread.ts";
import type { InferInput, InputSchema } from "../definition/schema.ts";
import type { Failure } from "../signal.ts";

/** A running instruction. */
export interface RunningInstruction {
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
  /** Whether each instruction that runs is written to the thread. A thread that has entries gets all of them anyway. */
  readonly logs: boolean;
  readonly stopOnError: boolean;
  readonly running: readonly RunningInstruction[];
}

/** The actions of a Direct agent, and whether it logs them. Only `actions` is required. */
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
  const hasThread = Thread.isThread(thread);
  return {
    strategy: "direct",
    name,
    actions,
    ports,
    thread: hasThread ? thread : Thread.create({ clock: ports.clock, ids: ports.ids }),
    logs: hasThread || thread,
    stopOnError,
    running: [],
  };
}

/** The second argument of `run`. */
export interface ActionOptions<Context = unknown> {
  /** The caller's context, for example a database or the user. It is never stored. */
  readonly context: Context;
  /** Aborted when the caller cancels. */
  readonly signal: AbortSignal;
}

/** A function that an instruction can call by name. */
export interface Action<Params = unknown, Context = unknown, Result = unknown> {
  readonly name: string;
  /** Any Standard Schema, or `jsonSchema()`. Parameters that do not match never reach `run`. */
  readonly inputSchema: InputSchema;
  /** Called once per instruction with the schema's output. An error that it throws becomes the instruction's failure. */
  readonly run: (params: Params, options: ActionOptions<Context>) => Result | PromiseLike<Result>;
}

/** Any action with this context. The parameter type is `never`, which every function accepts. */
export type AnyAction<Context = never> = Pick<Action, "name" | "inputSchema"> & {
  readonly run: (params: never, options: ActionOptions<Context>) => unknown;
};

/**
 * Defines an action whose `run` is typed by the schema.
 *
 * @example
 * const add = defineAction({
 *   name: "add",
 *   inputSchema: jsonSchema<{ a: number; b: number }>({ type: "object" }),
 *   run: ({ a, b }) => a + b,
 * });
 */
export function defineAction<const Schema extends InputSchema, Context = unknown, Result = unknown>(
  definition: Omit<Action<InferInput<Schema>, Context, Result>, "inputSchema"> & { readonly inputSchema: Schema },
): Action<InferInput<Schema>, Context, Result> & { readonly inputSchema: Schema } {
  return definition;
}

/** Parameters of an instruction. Values are never stored, so they need not be JSON. */
export type Params = { readonly [name: string]: unknown };

/** Runs one action. */
export interface Instruction {
  readonly type: "instruction";
  readonly action: string;
  /** The parameters of the action. Default `{}`. */
  readonly params?: Params | undefined;
  /** Default: a generated id. */
  readonly instructionId?: string | undefined;
}

/** Whether an action succeeded. Its result goes to the caller only and is never logged. */
export interface InstructionResult {
  readonly type: "instruction_result";
  readonly instructionId: string;
  readonly status: "ok" | "error";
  /** The code of the failure. Default: none. */
  readonly code?: string | undefined;
}

/** An input of a Direct agent. The agent ignores a signal that it does not expect. */
export type DirectSignal = Instruction | InstructionResult;

/** An effect for the runtime: run an action, or report a refusal. */
export type DirectDirective =
  | {
      readonly type: "run_action";
      readonly action: string;
      readonly params: Params;
      readonly instructionId: string;
    }
  /** The instruction was refused. The thread is unchanged. */
  | { readonly type: "emit_instruction_error"; readonly instructionId: string; readonly failure: Failure };
