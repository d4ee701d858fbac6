import type { InputOf, InputSchema } from "./schema.ts";

/** What a tool is told beside its input. */
export interface ToolOptions<Context = unknown> {
  /** What the request was given: a database, the user, the locale. It is never stored. */
  readonly context: Context;
  /** The same under its name in the AI SDK 5 and 6. */
  readonly experimental_context: Context;
  /** As the model has it. Some servers give the calls of different answers the same ids. */
  readonly toolCallId: string;
  /** Of this call alone, in all of its thread; the same in every attempt, also after a restart. Hand it on to what must not happen twice. */
  readonly idempotencyKey: string;
  /** The conversation that led to the call, without system prompts, in the AI SDK's form. */
  readonly messages: readonly unknown[];
  /** Aborted when the attempt takes too long and when the request is cancelled. */
  readonly abortSignal: AbortSignal;
  /**
   * Whether this process still runs the request. False when its claim of the thread may have ended, so that another process
   * may run it. Ask right before what must not happen twice. Without a server, and in `runTool`, it is always true.
   */
  readonly isHeld: () => boolean;
}

/** What `needsApproval` is told beside the input. */
export type ApprovalOptions<Context = unknown> = Pick<ToolOptions<Context>, "context" | "toolCallId" | "messages">;

/** What of a tool does not depend on its types. */
interface ToolSettings {
  readonly inputSchema: InputSchema;
  /** It may run again with the same arguments without harm: after a crash, and once more when it fails retryably. */
  readonly repeatable?: boolean | undefined;
  /** For each attempt; waiting for approval does not count. */
  readonly timeoutMs?: number | undefined;
  /** Attempts after the first, for timeouts and errors that say `retryable: true`. */
  readonly maxRetries?: number | undefined;
}

type Executed<Output> = Output | PromiseLike<Output> | AsyncIterable<Output>;

/** A tool with its types. Tools of the AI SDK, `tool({...})`, have this shape too. */
export interface Tool<Input = unknown, Output = unknown, Context = unknown> extends ToolSettings {
  readonly description?: string | undefined;
  /**
   * Called once per attempt, with the validated input. What it throws becomes an error the model sees. Of an async
   * generator the last value counts. Without `execute` the call waits until somebody answers it.
   */
  readonly execute?: ((input: Input, options: ToolOptions<Context>) => Executed<Output>) | undefined;
  /** Called after validation, before the first attempt; when it throws, approval is needed. */
  readonly needsApproval?:
    | boolean
    | ((input: Input, options: ApprovalOptions<Context>) => boolean | PromiseLike<boolean>)
    | undefined;
  /** What the model reads instead of the result: `{ type: "text", value }`, `{ type: "content", value: parts }`, ... */
  readonly toModelOutput?:
    | ((options: { readonly toolCallId: string; readonly input: Input; readonly output: Output }) => unknown)
    | undefined;
}

/** Any tool, whatever its types: `never` is what every function takes. */
export interface AnyTool extends ToolSettings {
  /** A function, as the AI SDK 7 allows, an agent refuses: what its model is told is recorded before there is a context. */
  readonly description?: string | ((options: never) => string) | undefined;
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
  readonly needsApproval?: boolean | ((input: never, options: never) => boolean | PromiseLike<boolean>) | undefined;
  readonly toModelOutput?: ((options: never) => unknown) | undefined;
}

/** Tools by name; the model is told of them in this order. */
export type Tools = { readonly [name: string]: AnyTool };

/** The parts of a tool's type. */
export type ToolInput<Given extends AnyTool> = InputOf<Given["inputSchema"]>;
export type ToolOutput<Given extends AnyTool> =
  NonNullable<Given["execute"]> extends (...given: never[]) => infer Result ? Resolved<Result> : unknown;
type Resolved<Result> = Result extends AsyncIterable<infer Output> ? Output : Awaited<Result>;
/** What tools take as `context`, all of them together. */
export type ContextOf<Given extends Tools> = {
  [Name in keyof Given]: NonNullable<Given[Name]["execute"]> extends (input: never, options: infer Options) => unknown
    ? (context: Options extends { readonly context: infer Context } ? Context : unknown) => void
    : (context: unknown) => void;
}[keyof Given] extends (context: infer Context) => void
  ? Context
  : never;

/**
 * A tool, typed by its schema: `execute` gets what the schema validates. What it needs of the context is said where it
 * is used: `execute: (input, { context }: ToolOptions<{ db: Db }>) => ...`.
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
