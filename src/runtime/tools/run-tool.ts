import type { AnyTool, ToolOptions, Tools } from "../../agent/definition/tool.ts";
import { toModelMessages } from "../../providers/ai-sdk/model-messages.ts";
import type { Message, ToolCall } from "../../thread/message.ts";
import { type RuntimePorts, systemRuntimePorts } from "../ports.ts";
import {
  aborted,
  messageOf,
  notExecutable,
  notShown,
  partialOf,
  type ToolAnswer,
  type ToolRunResult,
  thrown,
  timedOut,
  unknownTool,
} from "./outcome.ts";
import { answerOf, isAsyncIterable, Outputs } from "./result.ts";
import { type Limits, pause, type Stopped, settle } from "./settle.ts";
import { checkArguments } from "./validate.ts";

/** The tools, and how one call is run: context, limits, retries, signal. */
export interface ToolRunOptions extends HeartbeatOptions {
  readonly tools: Tools;
  /** The context that the tool gets. Default: none. */
  readonly context?: unknown;
  /** Of the model call that made it: `toolCallId` alone may come again, and both together are its idempotency key. Default: none. */
  readonly callId?: string | undefined;
  /** Stops the tool. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** What the model was shown when it made the call. Default: none. */
  readonly messages?: readonly Message[] | undefined;
  /** Clock, ids, timers and chance; for tests and replays. Default `systemRuntimePorts`. */
  readonly ports?: RuntimePorts | undefined;
  /** Called with each error that is thrown, as it was, and the code of the failure it becomes; what it throws is ignored. Default: none. */
  readonly onError?: ((error: unknown, code: string) => void) | undefined;
  /** The timeout of each attempt, in milliseconds. The tool's own `timeoutMs` wins. Default 60,000. */
  readonly timeoutMs?: number | undefined;
  /** Retries of a retryable failure. The tool's own `maxRetries` wins. Default 0; at least 1 for a `repeatable` tool, and 0 with `repeatable: false`. */
  readonly maxRetries?: number | undefined;
  /** Milliseconds before the first retry; they double from one to the next. Default 200. */
  readonly backoffMs?: number | undefined;
  /** How long a tool may take to end by itself when it is stopped, by a cancel or its timeout, in milliseconds. Default 1,000. */
  readonly graceMs?: number | undefined;
  /** The largest result, in bytes of UTF-8. Default 8 MiB. */
  readonly maxResultBytes?: number | undefined;
  /** Looked at before each attempt, and by the tool's own `isHeld`. Default: no other process runs the request. */
  readonly hold?: ToolHold | undefined;
}

const ALWAYS_HELD: ToolHold = { isHeld: () => true, ensure: async () => true };
const LONGEST_WAIT = 60_000;

/**
 * Runs one call of a model, retries included, and says what became of it. It never throws and never hangs: whatever
 * the tool does is a result that the model can read.
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
    const { answer, attempts } = await answered(call, options, ports, beat.now);
    return Object.freeze({ ...answer, attempts, durationMs: Math.max(0, clock() - started) });
  } finally {
    beat.stop();
  }
}

interface Answered {
  readonly answer: ToolAnswer;
  readonly attempts: number;
}

async function answered(
  call: ToolCall,
  options: ToolRunOptions,
  ports: RuntimePorts,
  onValue: () => void,
): Promise<Answered> {
  const { tools, signal, timeoutMs, graceMs = 1_000, maxResultBytes = 8 * 1024 * 1024 } = options;
  const tool = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined;
  if (tool === undefined) return { answer: unknownTool(call.name, tools), attempts: 0 };
  const { execute } = tool;
  if (execute === undefined) return { answer: notExecutable(call.name), attempts: 0 };
  const { context, callId, messages = [] } = options;
  const limits = { signal, timeoutMs: tool.timeoutMs ?? timeoutMs ?? 60_000, graceMs, ports };
  const idempotencyKey = callId === undefined ? call.id : `${callId}.${call.id}`;
  const onError = (error: unknown, code: string): void => {
    try {
      options.onError?.(error, code);
    } catch {
      // who cannot hear of an error does not end the call
    }
  };
  const given: Attempt = {
    hold: options.hold ?? ALWAYS_HELD,
    call,
    tool,
    context,
    idempotencyKey,
    messages,
    limits,
    maxResultBytes,
    onValue,
    onError,
  };
  const retries = retriesOf(tool, options.maxRetries ?? 0);
  for (let attempts = 0; ; ) {
    const { answer, executed } = await attempt(given);
    if (executed) attempts++;
    const { failure, partial } = answer;
    const isRetryable = failure?.retryable === true || partial === "timed_out";
    if (!isRetryable || attempts === 0 || attempts > retries) return { answer, attempts };
    await pause(waitBefore(attempts, options.backoffMs ?? 200, failure?.retryAfterMs, ports), signal, ports);
    if (signal?.aborted === true) {
      return { answer: partial === undefined ? aborted(call.name, true) : answer, attempts };
    }
  }
}

function retriesOf(tool: AnyTool, usual: number): number {
  if (tool.repeatable === false) return tool.maxRetries ?? 0;
  return tool.maxRetries ?? (tool.repeatable === true ? Math.max(1, usual) : usual);
}

/** Twice as long each time, less up to a half by chance, so that many do not come back at once. */
function waitBefore(attempts: number, backoffMs: number, asked: number | undefined, { random }: RuntimePorts): number {
  const doubled = backoffMs * 2 ** (attempts - 1) * (1 - random() / 2);
  return Math.min(Math.max(Math.round(doubled), asked ?? 0), LONGEST_WAIT);
}

/** Whether the process that runs the call may still act for its request. */
interface ToolHold {
  /** Whether no other process can run the request. */
  readonly isHeld: () => boolean;
  /** The same, after it was made sure of; where it is false, the attempt does not start. */
  readonly ensure: () => Promise<boolean>;
}

interface Attempt {
  readonly call: ToolCall;
  readonly tool: AnyTool;
  readonly context: unknown;
  readonly idempotencyKey: string;
  readonly messages: readonly Message[];
  readonly limits: Limits;
  readonly maxResultBytes: number;
  readonly hold: ToolHold;
  readonly onValue: () => void;
  readonly onError: (error: unknown, code: string) => void;
}

interface Tried {
  readonly answer: ToolAnswer;
  readonly executed: boolean;
}

/** One try, from the arguments to what the model reads; everything a tool brings along runs inside its limits. */
async function attempt(given: Attempt): Promise<Tried> {
  const { call, tool, limits } = given;
  const outputs = new Outputs();
  let executed = false;
  let input: unknown;
  const work = async (
    signal: AbortSignal,
  ): Promise<{ readonly refused: ToolAnswer } | { readonly output: unknown }> => {
    const checked = await checkArguments(call, tool);
    if ("refused" in checked) return checked;
    const { hold } = given;
    if (!hold.isHeld() && !(await hold.ensure())) return { refused: aborted(call.name, false) };
    signal.throwIfAborted();
    executed = true;
    input = checked.input;
    return { output: await execute(given, input, signal, outputs) };
  };
  const settled = await settle(work, limits);
  const { last } = outputs;
  switch (settled.type) {
    case "value": {
      const { value, stopped } = settled;
      if ("refused" in value) return { answer: value.refused, executed };
      if (stopped === "timed_out" && value.output === undefined)
        return { answer: timedOut(call.name, limits.timeoutMs), executed };
      // A function that ends by itself after a cancel has done its work; a generator was cut short.
      const isWhole = stopped === undefined || (stopped === "cancelled" && last === undefined);
      return { answer: await shown(given, input, value.output, isWhole ? undefined : stopped), executed };
    }
    case "error": {
      const answer = thrown(call.name, settled.error);
      given.onError(settled.error, answer.failure?.code ?? "tool_failed");
      return { answer, executed };
    }
    case "timeout":
      if (last !== undefined) return { answer: await shown(given, input, last.value, "timed_out"), executed };
      return { answer: timedOut(call.name, limits.timeoutMs), executed };
    case "aborted":
      if (last !== undefined) return { answer: await shown(given, input, last.value, "cancelled"), executed };
      return { answer: aborted(call.name, executed), executed };
    default:
      return settled satisfies never;
  }
}

/** What the model reads of an output. From here on the tool has run: whatever fails, the answer says so, and it is not run again. */
async function shown(given: Attempt, input: unknown, output: unknown, partial?: Stopped): Promise<ToolAnswer> {
  const { call, tool, maxResultBytes, limits } = given;
  const isStopped = partial !== undefined || limits.signal?.aborted === true;
  // A cancel that has happened must not drop the output.
  const within: Limits = isStopped ? { ...limits, signal: undefined, timeoutMs: limits.graceMs } : limits;
  const converted = { name: call.name, toolCallId: call.id, input, output };
  const settled = await settle(() => answerOf(converted, tool, maxResultBytes), { ...within, graceMs: 0 });
  if (settled.type === "value") return partial === undefined ? settled.value : partialOf(settled.value, partial);
  if (settled.type !== "error") return notShown(call.name, "toModelOutput gave nothing in time.");
  const answer = notShown(call.name, `toModelOutput threw: ${messageOf(settled.error)}`);
  given.onError(settled.error, answer.failure?.code ?? "tool_output_failed");
  return answer;
}

async function execute(
  { call, tool, context, idempotencyKey, messages, limits, hold, onValue }: Attempt,
  input: unknown,
  signal: AbortSignal,
  outputs: Outputs,
) {
  const options: ToolOptions = {
    context,
    experimental_context: context,
    toolCallId: call.id,
    idempotencyKey,
    abortSignal: signal,
    isHeld: hold.isHeld,
    get messages() {
      return modelMessages(messages); // made only for the few tools that look
    },
  };
  const output = await tool.execute?.(input as never, options as never); // validated by the schema its type comes from
  return isAsyncIterable(output) ? outputs.of(output, signal, limits.ports, onValue) : output;
}

function modelMessages(messages: readonly Message[]): readonly unknown[] {
  return toModelMessages(messages.filter(({ role }) => role !== "system"));
}

/** A sign of life of a call that runs. */
interface Heartbeat {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly elapsedMs: number;
}

interface HeartbeatOptions {
  /** Milliseconds between two beats; 0 is off, but for what a generator yields. Default 5,000. */
  readonly heartbeatMs?: number | undefined;
  /** Called while the call runs, and when a generator yields, at most once in that time; what it throws is ignored. Default: none. */
  readonly onHeartbeat?: ((beat: Heartbeat) => void) | undefined;
}

interface HeartbeatTimer {
  /** Beats at once, unless the last beat is younger than the interval. */
  readonly now: () => void;
  readonly stop: () => void;
}

/** Beats until it is stopped. */
function heartbeat(
  { id: toolCallId, name: toolName }: ToolCall,
  { heartbeatMs = 5_000, onHeartbeat }: HeartbeatOptions,
  { clock, after }: RuntimePorts,
): HeartbeatTimer {
  if (onHeartbeat === undefined) return { now: () => undefined, stop: () => undefined };
  const started = clock();
  let last = Number.NEGATIVE_INFINITY;
  let isStopped = false;
  let cancel = (): void => undefined;
  const beat = (): void => {
    last = clock();
    cancel();
    if (heartbeatMs > 0) cancel = after(heartbeatMs, beat);
    try {
      onHeartbeat({ toolCallId, toolName, elapsedMs: Math.max(0, last - started) });
    } catch {
      // A listener that fails must not end the call it listens to.
    }
  };
  const now = (): void => {
    if (!isStopped && Math.abs(clock() - last) >= heartbeatMs) beat(); // a clock may be set back
  };
  if (heartbeatMs > 0) cancel = after(heartbeatMs, beat);
  const stop = (): void => {
    isStopped = true;
    cancel();
  };
  return { now, stop };
}
