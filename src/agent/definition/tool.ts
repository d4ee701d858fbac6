import type { JsonObject, JsonValue } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import { ToolError } from "./errors.ts";
import type { InferInput, InputSchema } from "./schema.ts";
import { TIME_RULE, type Time, timeOf } from "./time.ts";

/** The second argument of `execute`. */
// biome-ignore lint/suspicious/noExplicitAny: an annotation gives the type of the answer
export interface ToolOptions<Context = unknown, Answer = any> {
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
  /** The answer to the question with which the tool has suspended this call, as `answerSchema` gives it. Undefined before. */
  readonly answer: Answer | undefined;
  /** The question that was answered. A tool that asks several times finds in it what it needs to know. Undefined before. */
  readonly question: JsonValue | undefined;
  /**
   * Sends a part to the page: the event `tool_data`, and a data part of UI messages. It is stored with the result of the call, up
   * to 8 MiB for a call, and no model is shown it. A part with the type and `id` of an earlier one replaces it. A `transient` one is
   * not stored and in no message. Throws if it is no data part. After the tool has returned it does nothing.
   */
  readonly write: (part: ToolDataPart) => void;
}

/** A part that a tool writes for the page while it runs, as data parts of the AI SDK. */
export interface ToolDataPart {
  readonly type: `data-${string}`;
  readonly id?: string;
  readonly data: unknown;
  readonly transient?: boolean;
}

/** The second argument of `needsApproval`. */
export type ApprovalOptions<Context = unknown> = Pick<ToolOptions<Context>, "context" | "toolCallId" | "messages">;

/** How long a call waits for an approval, and what happens then. The deadline is in the log, and counts while no process has the thread. */
export interface ApprovalLimit {
  readonly timeoutMs: number;
  /** The call is denied, or the request fails with `approval_timeout`. Default "deny". */
  readonly onTimeout?: "deny" | "fail" | undefined;
}

/** The fields of a tool that do not depend on its types. */
interface ToolSettings {
  readonly inputSchema: InputSchema;
  /**
   * Whether a second run with the same arguments is safe, after a crash, a timeout or a retryable error. Default: only after a
   * retryable error, as `toolMaxRetries` says. With false never, unless `maxRetries` of the tool says so.
   */
  readonly repeatable?: boolean | undefined;
  /** The timeout of each attempt, without waiting for approval. Default: the agent's `toolTimeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Retries after timeouts and errors with `retryable: true`. Default: the agent's `toolMaxRetries`, as `repeatable` allows. */
  readonly maxRetries?: number | undefined;
  /** How long a call waits for an approval: `{ timeoutMs, onTimeout }`. Default: the agent's `approval`. */
  readonly approval?: ApprovalLimit | undefined;
}

type ExecuteReturn<Output> = Output | PromiseLike<Output> | AsyncIterable<Output>;

/** A typed tool of an agent. Agents also take tools of the AI SDK; the AI SDK does not take this one. */
export interface Tool<Input = unknown, Output = unknown, Context = unknown> extends ToolSettings {
  /** The text from which the model knows what the tool does and when to call it. Default: none. */
  readonly description?: string | undefined;
  /**
   * Called once per attempt, with the validated input. An error that it throws is shown to the model. Each value of an async
   * generator is emitted as `tool_output`, and the last one is the result. Default: none, the call waits until a caller answers it.
   */
  readonly execute?: ((input: Input, options: ToolOptions<Context>) => ExecuteReturn<Output>) | undefined;
  /** The schema of answers to questions of `suspend`. An answer that does not match is refused. Default: any JSON. */
  readonly answerSchema?: InputSchema | undefined;
  /** Whether a call needs approval. Called after validation, before the first attempt; an error means true. Default false. */
  readonly needsApproval?:
    | boolean
    | ((input: Input, options: ApprovalOptions<Context>) => boolean | PromiseLike<boolean>)
    | undefined;
  /**
   * Calls of one request with the same key run one after the other, in their order. `true` is a key of this tool alone. A
   * function returns the key, which other tools may share, or undefined for none; where it throws or returns a promise, the key is that of `true`. Default false.
   */
  readonly exclusive?: boolean | ((input: Input) => string | undefined) | undefined;
  /** Converts the result for the model: `{ type: "text", value }`, `{ type: "content", value: parts }`, ... Default: the result itself. */
  readonly toModelOutput?:
    | ((options: { readonly toolCallId: string; readonly input: Input; readonly output: Output }) => unknown)
    | undefined;
}

/** Any tool, whatever its types. Parameters are `never`, which every function accepts. */
export interface AnyTool extends ToolSettings {
  /** The AI SDK 7 allows a function. An agent refuses it, because descriptions are recorded before there is a context. Default: none. */
  readonly description?: string | ((options: never) => string) | undefined;
  /** See `Tool`. Default: none, the call waits until a caller answers it. */
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
  /** Whether a call needs approval. Default false. */
  readonly needsApproval?: boolean | ((input: never, options: never) => boolean | PromiseLike<boolean>) | undefined;
  /** The schema of answers to its questions. Default: any JSON. */
  readonly answerSchema?: InputSchema | undefined;
  /** Which calls must not run at once. Default false. */
  readonly exclusive?: boolean | ((input: never) => string | undefined) | undefined;
  /** Converts the result for the model. Default: the result itself. */
  readonly toModelOutput?: ((options: never) => unknown) | undefined;
}

/** Tools by name. The model gets them in this order. */
export type Tools = { readonly [name: string]: AnyTool };

/** Returns the code of a tool that was registered on a thread, or undefined. The log has the rest, and the hash of it. */
export type ResolveTool = (
  name: string,
  spec: { readonly description?: string; readonly schema: JsonObject; readonly hash: string },
) => AnyTool | undefined | Promise<AnyTool | undefined>;

/** The type of a tool's input. */
export type ToolInput<T extends AnyTool> = InferInput<T["inputSchema"]>;
/** The type of a tool's result. */
export type ToolOutput<T extends AnyTool> =
  NonNullable<T["execute"]> extends (...input: never[]) => infer Result ? ResolvedOutput<Result> : unknown;
type ResolvedOutput<Result> = Result extends AsyncIterable<infer Output> ? Output : Awaited<Result>;
/** The context type that all these tools together need. */
export type CombinedContext<T extends Tools> = {
  [Name in keyof T]: NonNullable<T[Name]["execute"]> extends (input: never, options: infer Options) => unknown
    ? (context: Options extends { readonly context: infer Context } ? Context : unknown) => void
    : (context: unknown) => void;
}[keyof T] extends (context: infer Context) => void
  ? Context
  : never;

/**
 * Defines a tool of an agent, whose `execute` is typed by the schema. For a tool that the AI SDK runs too, use `tool` of the
 * package `ai`; agents take it. To type the context, annotate the second parameter:
 * `execute: (input, { context }: ToolOptions<{ db: Db }>) => ...`.
 *
 * @example
 * const weather = defineTool({
 *   description: "The weather of a city",
 *   inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
 *   execute: async ({ city }) => `18 degrees in ${city}`,
 * });
 */
export function defineTool<const Schema extends InputSchema, Output = never, Context = unknown>(
  definition: Omit<Tool<InferInput<Schema>, Output, Context>, "inputSchema"> & { readonly inputSchema: Schema },
): Tool<InferInput<Schema>, Output, Context> & { readonly inputSchema: Schema } {
  return definition;
}

const MARK = Symbol.for("heddle.tool-result");

/** A part of a result: text, or a file as bytes, base64 text or URL. Parts of the AI SDK work too. */
export type ToolContentPart =
  | { readonly type: "text"; readonly text: string; readonly metadata?: object }
  | {
      readonly type: "file";
      readonly mediaType: string;
      readonly data: Uint8Array | URL | string | { readonly base64: string } | { readonly url: string };
      readonly filename?: string;
      readonly metadata?: object;
    }
  | { readonly type: string; readonly [field: string]: unknown };

type ToolResultKind = "ok" | "content" | "fail" | "mcp" | "suspend" | "sleep" | "child";

/** A marked result of a tool. Made only by `ok`, `content`, `fail`, `suspend` and `sleep`. */
export interface ToolResult<Value = unknown> {
  readonly type: ToolResultKind;
  readonly value: Value;
  /** See `ToolResultOptions`. */
  readonly details?: unknown;
}

/** The other face of a result. */
export interface ToolResultOptions {
  /**
   * For people: any value, as JSON. It is stored beside the result, is in the event `tool_completed` and in
   * the Studio, and no model is shown it. Default: none.
   */
  readonly details?: unknown;
}

/**
 * A result that is data, whatever it looks like. Without `details` it is the same as returning the value itself.
 *
 * @example
 * const execute = () => ok({ celsius: 18 }, { details: { station: "Kew", humidity: 0.6 } });
 */
export function ok<Value>(value: Value, options?: ToolResultOptions): ToolResult<Value> {
  return marked("ok", value, options);
}

/**
 * A result of text and files. The model is shown the files.
 *
 * @example
 * const execute = async () => content([{ type: "text", text: "The page" }, { type: "file", mediaType: "image/png", data: { url: "https://example.com/a.png" } }]);
 */
export function content(
  parts: readonly ToolContentPart[],
  options?: ToolResultOptions,
): ToolResult<readonly ToolContentPart[]> {
  return marked("content", parts, options);
}

/**
 * An error result without an exception. The model reads `{"error": ...}`, with only the message of an `Error`.
 *
 * @example
 * const execute = () => fail({ type: "no_seats", message: "The train is full." });
 */
export function fail(error: unknown, options?: ToolResultOptions): ToolResult {
  return marked("fail", error instanceof Error ? error.message : error, options);
}

/**
 * Suspends the call with a question. The request waits, also for days and across restarts, until `answer` is called with the
 * answer. Then `execute` is called again, with `answer` in its second argument.
 *
 * @example
 * const execute = (_: object, { answer }: { answer?: unknown }) => (answer === undefined ? suspend("Which seat?") : `Seat ${answer}`);
 */
export function suspend(question: unknown): ToolResult {
  return marked("suspend", question);
}

/** The value of the mark of `sleep`. */
export interface Sleep {
  readonly until: Time;
  readonly result: unknown;
}

/**
 * Suspends the call until a time: a date, milliseconds from now, or an ISO text. The request waits, also across restarts.
 * Then `result`, anything that `execute` may return, is the result of the call; `execute` is not called again. Default: a
 * text with the time.
 *
 * @example
 * const execute = ({ minutes }: { minutes: number }) => sleep(minutes * 60_000, `${minutes} minutes have passed.`);
 */
export function sleep(until: Time, result?: unknown): ToolResult {
  if (timeOf(until, 0) === undefined) throw invalidSleep(`until ${TIME_RULE}.`);
  const isWait = isToolResult(result) && (result.type === "suspend" || result.type === "sleep");
  if (isWait) throw invalidSleep("result must be a result, not another `sleep` or `suspend`.");
  return marked("sleep", { until, result } satisfies Sleep);
}

function invalidSleep(problem: string): ToolError {
  return new ToolError({ code: "invalid_options", message: `sleep(until, result): ${problem}`, path: "sleep" });
}

/** A result from an MCP server. Used by `mcpTools`. */
export function mcpResult(value: unknown): ToolResult {
  return marked("mcp", value);
}

/** The value of the mark of a tool that asks another agent. */
export interface ChildAsk {
  /** The name of the agent. */
  readonly agent: string;
  readonly content: Content;
}

/** The call waits for the answer of another agent. Used by `agentTool`. */
export function childResult(ask: ChildAsk): ToolResult {
  return marked("child", ask);
}

/** The mark is a registered symbol: it works across copies of this package, and JSON cannot contain it. */
function marked<Value>(type: ToolResultKind, value: Value, options?: ToolResultOptions): ToolResult<Value> {
  const details = options?.details; // of `rows.map(ok)` the second argument is an index
  return Object.freeze({ type, value, ...(details !== undefined && { details }), [MARK]: true });
}

export function isToolResult(value: unknown): value is ToolResult {
  return typeof value === "object" && value !== null && Object.hasOwn(value, MARK);
}
