import { ToolError } from "../../agent/definition/errors.ts";
import {
  type AnyTool,
  isToolResult,
  type ToolDataPart,
  type ToolOptions,
  type Tools,
} from "../../agent/definition/tool.ts";
import { toModelMessages } from "../../providers/ai-sdk/model-messages.ts";
import { ignoreRejection } from "../../thread/errors.ts";
import type { JsonValue } from "../../thread/json.ts";
import { lazyField } from "../../thread/lazy-field.ts";
import type { Message, ToolCall } from "../../thread/message.ts";
import { ignoreErrorsOf } from "../callbacks.ts";
import { type RuntimePorts, systemRuntimePorts } from "../ports.ts";
import { pause, signalOf, Timers } from "../timers.ts";
import { jsonOf } from "./json-result.ts";
import { runLimited, type StopReason, type WorkLimits } from "./limits.ts";
import {
  abortedAnswer,
  hiddenAnswer,
  messageOf,
  notExecutableAnswer,
  partialAnswer,
  type ToolAnswer,
  type ToolRunResult,
  thrownAnswer,
  timeoutAnswer,
  unknownToolAnswer,
} from "./outcome.ts";
import { convertOutput, GeneratorOutput, isAsyncIterable } from "./result.ts";
import { checkArguments } from "./validate.ts";

/** Options of `runTool()`: the tools, the context, limits, retries and a signal. */
export interface ToolRunOptions extends HeartbeatOptions {
  readonly tools: Tools;
  /** The context for the tool. Default: none. */
  readonly context?: unknown;
  /** The id of the model call. With `toolCallId`, which may occur twice in a thread, it is the idempotency key. Default: none. */
  readonly callId?: string | undefined;
  /** The question of the tool and its answer, to resume a call that it has suspended. Default: none. */
  readonly answered?: { readonly question: JsonValue; readonly answer: JsonValue } | undefined;
  /** Whether an earlier process may have started the call. A call that is stopped then has an unknown outcome. Default false. */
  readonly again?: boolean | undefined;
  /** Stops the tool. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** The messages that the model was shown when it made the call. Default: none. */
  readonly messages?: readonly Message[] | undefined;
  /** Clock, ids, timers and chance; for tests and replays. Default `systemRuntimePorts`. */
  readonly ports?: RuntimePorts | undefined;
  /** Called with each thrown error and the code of its failure. An error that it throws is ignored. Default: none. */
  readonly onError?: ((error: unknown, code: string) => void) | undefined;
  /** The timeout of each attempt, in milliseconds. The tool's own `timeoutMs` wins. Default 60,000. */
  readonly timeoutMs?: number | undefined;
  /** Retries of a retryable failure. The tool's own `maxRetries` wins. Default 0; at least 1 for a `repeatable` tool. With `repeatable: false`, or after a timeout of a tool that is not `repeatable`, 0. */
  readonly maxRetries?: number | undefined;
  /** Milliseconds before the first retry; they double from one to the next. Default 200. */
  readonly backoffMs?: number | undefined;
  /** How long a tool may take to end after a cancel or its timeout, in milliseconds. Default 1,000. */
  readonly graceMs?: number | undefined;
  /** The largest result, in bytes of UTF-8. Default 8 MiB. */
  readonly maxResultBytes?: number | undefined;
  /** Called with each value that a generator yields, as JSON. An error that it throws is ignored. Default: none. */
  readonly onOutput?: ((output: JsonValue) => void) | undefined;
  /** Called with each part that the tool writes for the page. Default: none. */
  readonly onData?: ((part: ToolDataPart) => void) | undefined;
  /** Checked before each attempt, and by `isHeld` of the tool. Default: no other process runs the request. */
  readonly hold?: ToolHold | undefined;
}

const ALWAYS_HELD: ToolHold = { isHeld: () => true, ensure: async () => true };
const MAX_WAIT_MS = 60_000;
const MAX_RESULT_BYTES = 8 * 1024 * 1024;

/**
 * Runs one tool call, with its retries. It never throws and never hangs: an error, a timeout or a cancel becomes a result
 * for the model.
 *
 * @example
 * const tools = { double: { inputSchema: { type: "object" }, execute: ({ n }: { n: number }) => 2 * n } } as const;
 * const { content, isError } = await runTool({ id: "call_1", name: "double", arguments: { n: 21 } }, { tools });
 * console.log(content, isError); // 42 false
 */
export async function runTool(call: ToolCall, options: ToolRunOptions): Promise<ToolRunResult> {
  const ports = options.ports ?? systemRuntimePorts;
  const { clock } = ports;
  const started = clock();
  const beat = heartbeat(call, options, ports);
  try {
    const onValue = (value: unknown): void => {
      beat.now();
      emitOutput(value, options);
    };
    const { answer, attempts } = await runAttempts(call, options, ports, onValue);
    return Object.freeze({ ...answer, attempts, durationMs: Math.max(0, clock() - started) });
  } finally {
    beat.stop();
  }
}

/** A value that cannot be JSON is not emitted. The tool continues, because only its last value is the result. */
function emitOutput(value: unknown, { onOutput, maxResultBytes = MAX_RESULT_BYTES }: ToolRunOptions): void {
  try {
    ignoreRejection(onOutput?.(jsonOf(isToolResult(value) ? (value.details ?? value.value) : value, maxResultBytes)));
  } catch {
    // Neither a value nor a callback that fails must end the call.
  }
}

interface AttemptsResult {
  readonly answer: ToolAnswer;
  readonly attempts: number;
}

async function runAttempts(
  call: ToolCall,
  options: ToolRunOptions,
  ports: RuntimePorts,
  onValue: (value: unknown) => void,
): Promise<AttemptsResult> {
  const { tools, signal, timeoutMs, graceMs = 1_000, maxResultBytes = MAX_RESULT_BYTES } = options;
  const tool = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined;
  if (tool === undefined) return { answer: unknownToolAnswer(call.name, tools), attempts: 0 };
  const { execute } = tool;
  if (execute === undefined) return { answer: notExecutableAnswer(call.name), attempts: 0 };
  const { context, callId, messages = [] } = options;
  const limits = { signal, timeoutMs: tool.timeoutMs ?? timeoutMs ?? 60_000, graceMs, ports };
  const idempotencyKey = callId === undefined ? call.id : `${callId}.${call.id}`;
  const onError = ignoreErrorsOf(options.onError);
  const attempt: Attempt = {
    hold: options.hold ?? ALWAYS_HELD,
    call,
    tool,
    context,
    idempotencyKey,
    messages,
    limits,
    maxResultBytes,
    onValue,
    onData: options.onData,
    answered: options.answered,
    onError,
  };
  for (let attempts = 0; ; ) {
    const { answer, executed } = await runAttempt(attempt, attempts > 0 || options.again === true);
    if (executed) attempts++;
    const { failure, partial } = answer;
    const isUnknown = partial === "timed_out" || failure?.code === "tool_timeout";
    const retries = retriesOf(tool, options.maxRetries ?? 0, isUnknown);
    const isRetryable = failure?.retryable === true || isUnknown;
    if (!isRetryable || attempts === 0 || attempts > retries) return { answer, attempts };
    const { doubt, stopping } = attempt.hold;
    const waitMs = waitBefore(attempts, options.backoffMs ?? 200, failure?.retryAfterMs, ports);
    await pause(ports, waitMs, signalOf(signal, stopping?.()));
    doubt?.();
    if (stopping?.().aborted === true) return { answer, attempts };
    if (signal?.aborted === true) {
      return { answer: partial === undefined ? abortedAnswer(call.name, true) : answer, attempts };
    }
  }
}

/** A call that may have acted is repeated only where its tool says that this does no harm, or how often. */
function retriesOf({ repeatable, maxRetries }: AnyTool, defaultRetries: number, isUnknown: boolean): number {
  if (maxRetries !== undefined) return maxRetries;
  if (repeatable === true) return Math.max(1, defaultRetries);
  return repeatable === false || isUnknown ? 0 : defaultRetries;
}

/** The wait doubles each time. Up to half of it, at random, is subtracted, so that callers do not retry together. */
function waitBefore(
  attempts: number,
  backoffMs: number,
  requestedMs: number | undefined,
  { random }: RuntimePorts,
): number {
  const doubled = backoffMs * 2 ** (attempts - 1) * (1 - random() / 2);
  return Math.min(Math.max(Math.round(doubled), requestedMs ?? 0), MAX_WAIT_MS);
}

/** Whether the process that runs the call may still act for its request. */
interface ToolHold {
  /** Whether no other process can run the request. */
  readonly isHeld: () => boolean;
  /** The same, after renewing the claim if needed. If false, the attempt does not start. */
  readonly ensure: () => Promise<boolean>;
  /** Called after the wait before a retry. Then `isHeld` is false until the store confirms the claim. */
  readonly doubt?: () => void;
  /** Aborted when the process stops. Then no further attempt starts. */
  readonly stopping?: () => AbortSignal;
}

interface Attempt {
  readonly call: ToolCall;
  readonly tool: AnyTool;
  readonly context: unknown;
  readonly idempotencyKey: string;
  readonly messages: readonly Message[];
  readonly limits: WorkLimits;
  readonly maxResultBytes: number;
  readonly hold: ToolHold;
  readonly onValue: (value: unknown) => void;
  readonly onData: ToolRunOptions["onData"];
  readonly answered: ToolRunOptions["answered"];
  readonly onError: (error: unknown, code: string) => void;
}

interface AttemptResult {
  readonly answer: ToolAnswer;
  readonly executed: boolean;
}

/** One attempt: checks the arguments, executes, converts the output. All functions of the tool run within its limits. */
async function runAttempt(attempt: Attempt, hasBegun: boolean): Promise<AttemptResult> {
  const { call, tool, limits } = attempt;
  const generated = new GeneratorOutput();
  let phase: "before" | "running" | "over" = "before";
  let input: unknown;
  const work = async (
    signal: AbortSignal,
  ): Promise<{ readonly refused: ToolAnswer } | { readonly output: unknown }> => {
    const checked = await checkArguments(call, tool);
    if ("refused" in checked) return checked;
    const { hold } = attempt;
    if (!hold.isHeld() && !(await hold.ensure())) return { refused: abortedAnswer(call.name, hasBegun) };
    signal.throwIfAborted();
    phase = "running";
    input = checked.input;
    try {
      return { output: await execute(attempt, input, signal, generated, () => phase === "over") };
    } finally {
      phase = "over"; // a part that is written later would be shown after the end of the call, and not be stored
    }
  };
  const result = await runLimited(work, limits);
  const executed = (phase as string) !== "before"; // `work` has changed it
  const { last } = generated;
  switch (result.type) {
    case "value": {
      const { value, stopped } = result;
      if ("refused" in value) return { answer: value.refused, executed };
      if (stopped === "timed_out" && value.output === undefined)
        return { answer: timeoutAnswer(call.name, limits.timeoutMs), executed };
      // A function that returns after a cancel has finished its work, but a generator was cut short.
      const isWhole = stopped === undefined || (stopped === "cancelled" && last === undefined);
      return { answer: await outputAnswer(attempt, input, value.output, isWhole ? undefined : stopped), executed };
    }
    case "error": {
      const shown = last && (await outputAnswer(attempt, input, last.value));
      const answer = thrownAnswer(call.name, result.error, shown);
      attempt.onError(result.error, answer.failure?.code ?? "tool_failed");
      return { answer, executed };
    }
    case "timeout":
      if (last !== undefined) return { answer: await outputAnswer(attempt, input, last.value, "timed_out"), executed };
      return { answer: timeoutAnswer(call.name, limits.timeoutMs), executed };
    case "aborted":
      if (last !== undefined) return { answer: await outputAnswer(attempt, input, last.value, "cancelled"), executed };
      return { answer: abortedAnswer(call.name, executed || hasBegun), executed };
    default:
      return result satisfies never;
  }
}

/** Converts an output. The tool has run, so every failure here says so, and the tool is not run again. */
async function outputAnswer(
  attempt: Attempt,
  input: unknown,
  output: unknown,
  partial?: StopReason,
): Promise<ToolAnswer> {
  const { call, tool, maxResultBytes, limits } = attempt;
  const isStopped = partial !== undefined || limits.signal?.aborted === true;
  // A cancel before this must not drop the output.
  const within: WorkLimits = isStopped ? { ...limits, signal: undefined, timeoutMs: limits.graceMs } : limits;
  const returned = { at: limits.ports.clock(), name: call.name, toolCallId: call.id, input, output };
  const result = await runLimited(() => convertOutput(returned, tool, maxResultBytes), { ...within, graceMs: 0 });
  if (result.type === "value") return partial === undefined ? result.value : partialAnswer(result.value, partial);
  if (result.type !== "error") return hiddenAnswer(call.name, "toModelOutput did not end in time.");
  // Any other message may quote the output, which toModelOutput was to hide.
  const why = ToolError.isInstance(result.error) ? `: ${messageOf(result.error)}` : " an error.";
  const answer = hiddenAnswer(call.name, `toModelOutput threw${why}`);
  attempt.onError(result.error, answer.failure?.code ?? "tool_output_failed");
  return answer;
}

async function execute(
  { call, tool, context, idempotencyKey, messages, limits, maxResultBytes, hold, onValue, onData, answered }: Attempt,
  input: unknown,
  signal: AbortSignal,
  generated: GeneratorOutput,
  isOver: () => boolean,
) {
  const given: Omit<ToolOptions, "messages"> = {
    context,
    experimental_context: context,
    toolCallId: call.id,
    idempotencyKey,
    abortSignal: signal,
    isHeld: hold.isHeld,
    answer: answered?.answer,
    question: answered?.question,
    write: (part) => {
      const checked = dataPart(part, maxResultBytes);
      if (!signal.aborted && !isOver()) ignoreErrorsOf(onData)(checked);
    },
  };
  const options = lazyField(given, "messages", () => modelMessages(messages)); // made only for tools that read them
  const output = await tool.execute?.(input as never, options as never); // validated by its schema
  return isAsyncIterable(output) ? generated.read(output, signal, limits.ports, onValue) : output;
}

/** A part for the page, as JSON. Throws if it is invalid, so that the tool can correct it. */
function dataPart(part: ToolDataPart, limit: number): ToolDataPart {
  const { type, id, data, transient }: Partial<ToolDataPart> = Object(part);
  const isPart = typeof type === "string" && type.startsWith("data-") && ["string", "undefined"].includes(typeof id);
  if (!isPart || data === undefined) {
    const message = 'write takes a part { type: "data-<name>", data } with an optional text as id.';
    throw new ToolError({ code: "invalid_options", message, path: "write" });
  }
  const more = { ...(id !== undefined && { id }), ...(transient === true && { transient: true }) };
  return { type, ...more, data: jsonOf(data, limit) };
}

function modelMessages(messages: readonly Message[]): readonly unknown[] {
  return toModelMessages(messages.filter(({ role }) => role !== "system"));
}

/** Emitted while a call runs. */
interface Heartbeat {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly elapsedMs: number;
}

interface HeartbeatOptions {
  /** Milliseconds between two heartbeats. With 0, only values of a generator cause them. Default 5,000. */
  readonly heartbeatMs?: number | undefined;
  /** Called at this interval while the call runs, and when a generator yields, if the interval has passed. Its errors are ignored. Default: none. */
  readonly onHeartbeat?: ((beat: Heartbeat) => void) | undefined;
}

interface HeartbeatTimer {
  /** Emits a heartbeat now, unless the interval since the last one has not passed. */
  readonly now: () => void;
  readonly stop: () => void;
}

/** Emits heartbeats until `stop` is called. */
function heartbeat(
  { id: toolCallId, name: toolName }: ToolCall,
  { heartbeatMs = 5_000, onHeartbeat }: HeartbeatOptions,
  ports: RuntimePorts,
): HeartbeatTimer {
  if (onHeartbeat === undefined) return { now: () => undefined, stop: () => undefined };
  const { clock } = ports;
  const started = clock();
  /** The time of the last beat; undefined after `stop`. */
  let last: number | undefined = Number.NEGATIVE_INFINITY;
  const schedule = (): void => timers.set({ name: "beat", ms: heartbeatMs > 0 ? heartbeatMs : undefined });
  const beat = (): void => {
    const now = clock();
    last = now;
    schedule();
    ignoreErrorsOf(onHeartbeat)({ toolCallId, toolName, elapsedMs: Math.max(0, now - started) });
  };
  const now = (): void => {
    if (last !== undefined && Math.abs(clock() - last) >= heartbeatMs) beat(); // the clock may be set back
  };
  const timers = new Timers(ports, beat);
  schedule();
  const stop = (): void => {
    last = undefined;
    timers.clear();
  };
  return { now, stop };
}
