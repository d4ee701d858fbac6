import type { InputOf, InputSchema } from "./schema.ts";

/** The second argument of `execute`. */
export interface ToolOptions<Context = unknown> {
  /** The context of the request, for example a database, the user or the locale. It is never stored. */
  readonly context: Context;
  /** The same value under its name in the AI SDK 5 and 6. */
  readonly experimental_context: Context;
  /** The id from the model. Some servers repeat ids across answers. */
  readonly toolCallId: string;
  /** Unique to this call in its thread. It stays the same for retries and after a restart. Pass it to operations that must not run twice. */
  readonly idempotencyKey: string;
  /** The conversation that led to the call, without system prompts, in the AI SDK's form. */
  readonly messages: readonly unknown[];
  /** Aborted on the timeout of the attempt and when the request is cancelled. */
  readonly abortSignal: AbortSignal;
  /**
   * Whether this process still holds the thread. False when its claim may have ended, so that another process may run the
   * request. Check it directly before an operation that must not run twice. Always true without a server and in `runTool`.
   */
  readonly isHeld: () => boolean;
}

/** The second argument of `needsApproval`. */
export type ApprovalOptions<Context = unknown> = Pick<ToolOptions<Context>, "context" | "toolCallId" | "messages">;

/** The fields of a tool that do not depend on its types. */
interface ToolSettings {
  readonly inputSchema: InputSchema;
  /** Whether a second run with the same arguments is safe, after a crash or a retryable error. Default false. */
  readonly repeatable?: boolean | undefined;
  /** The timeout of each attempt, without waiting for approval. Default: the agent's `toolTimeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Retries after timeouts and errors with `retryable: true`. Default: the agent's `toolMaxRetries`. */
  readonly maxRetries?: number | undefined;
}

type Executed<Output> = Output | PromiseLike<Output> | AsyncIterable<Output>;

/** A typed tool. Tools that the AI SDK's `tool({...})` makes have this type too. */
export interface Tool<Input = unknown, Output = unknown, Context = unknown> extends ToolSettings {
  readonly description?: string | undefined;
  /**
   * Called once per attempt, with the validated input. An error that it throws is shown to the model. Of an async generator
   * the last value is the result. Without `execute` the call waits until a caller answers it.
   */
  readonly execute?: ((input: Input, options: ToolOptions<Context>) => Executed<Output>) | undefined;
  /** Whether a call needs approval. Called after validation, before the first attempt; an error means true. Default false. */
  readonly needsApproval?:
    | boolean
    | ((input: Input, options: ApprovalOptions<Context>) => boolean | PromiseLike<boolean>)
    | undefined;
  /** Converts the result for the model: `{ type: "text", value }`, `{ type: "content", value: parts }`, ... Default: the result itself. */
  readonly toModelOutput?:
    | ((options: { readonly toolCallId: string; readonly input: Input; readonly output: Output }) => unknown)
    | undefined;
}

/** Any tool, whatever its types. Parameters are `never`, which every function accepts. */
export interface AnyTool extends ToolSettings {
  /** The AI SDK 7 allows a function. An agent refuses it, because descriptions are recorded before there is a context. */
  readonly description?: string | ((options: never) => string) | undefined;
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
  readonly needsApproval?: boolean | ((input: never, options: never) => boolean | PromiseLike<boolean>) | undefined;
  readonly toModelOutput?: ((options: never) => unknown) | undefined;
}

/** Tools by name. The model gets them in this order. */
export type Tools = { readonly [name: string]: AnyTool };

/** The parts of a tool's type. */
export type ToolInput<Given extends AnyTool> = InputOf<Given["inputSchema"]>;
export type ToolOutput<Given extends AnyTool> =
  NonNullable<Given["execute"]> extends (...given: never[]) => infer Result ? Resolved<Result> : unknown;
type Resolved<Result> = Result extends AsyncIterable<infer Output> ? Output : Awaited<Result>;
/** The context type that all these tools together need. */
export type ContextOf<Given extends Tools> = {
  [Name in keyof Given]: NonNullable<Given[Name]["execute"]> extends (input: never, options: infer Options) => unknown
    ? (context: Options extends { readonly context: infer Context } ? Context : unknown) => void
    : (context: unknown) => void;
}[keyof Given] extends (context: infer Context) => void
  ? Context
  : never;

/**
 * Defines a tool whose `execute` is typed by the schema. To type the context, annotate the second parameter:
 * `execute: (input, { context }: ToolOptions<{ db: Db }>) => ...`.
 *
 * @example
 * const weather = tool({
 *   description: "The weather of a city",
 *   inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
 *   execute: async ({ city }) => `18 degrees in ${city}`,
 * });
 */
export function tool<const Schema extends InputSchema, Output = never, Context = unknown>(
  definition: Omit<Tool<InputOf<Schema>, Output, Context>, "inputSchema"> & { readonly inputSchema: Schema },
): Tool<InputOf<Schema>, Output, Context> & { readonly inputSchema: Schema } {
  return definition;
}
