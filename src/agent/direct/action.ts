import type { InputOf, InputSchema } from "../definition/schema.ts";

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
  definition: Omit<Action<InputOf<Schema>, Context, Result>, "inputSchema"> & { readonly inputSchema: Schema },
): Action<InputOf<Schema>, Context, Result> & { readonly inputSchema: Schema } {
  return definition;
}
