import type { AnyTool, Tools } from "../../agent/definition/tool.ts";
import type { Message, ToolCall } from "../../thread/message.ts";
import { type RuntimePorts, systemRuntimePorts } from "../ports.ts";
import { type Attempt, attempt, type ToolHold } from "./attempt.ts";
import { aborted, notExecutable, unknownTool } from "./failures.ts";
import { type HeartbeatOptions, heartbeat } from "./heartbeat.ts";
import type { ToolAnswer, ToolRunResult } from "./outcome.ts";
import { pause } from "./settle.ts";

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
