import type { InputOf, InputSchema } from "../definition/schema.ts";

/** What an action is told beside its parameters. */
export interface ActionOptions<Context = unknown> {
  /** What the caller gives: a database, the user. It is never stored. */
  readonly context: Context;
  /** Aborted when the caller does not want the rest any more. */
  readonly signal: AbortSignal;
}

/** Something that can be done by name. */
export interface Action<Params = unknown, Context = unknown, Result = unknown> {
  readonly name: string;
  /** Any Standard Schema, or `jsonSchema()`; parameters that do not fit never reach `run`. */
  readonly inputSchema: InputSchema;
  /** Called once for each instruction, with what the schema makes of the parameters. What it throws is the instruction's failure. */
  readonly run: (params: Params, options: ActionOptions<Context>) => Result | PromiseLike<Result>;
}

/** Any action that takes this context: `never` is what every function takes. */
export type AnyAction<Context = never> = Pick<Action, "name" | "inputSchema"> & {
  readonly run: (params: never, options: ActionOptions<Context>) => unknown;
};

/**
 * An action, typed by its schema.
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
