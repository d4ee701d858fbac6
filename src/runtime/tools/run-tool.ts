import type { AnyTool, Tools } from "../../agent/definition/tool.ts";
import type { Message, ToolCall } from "../../thread/message.ts";
import { type RuntimePorts, systemRuntimePorts } from "../ports.ts";
import { type Attempt, attempt, type ToolHold } from "./attempt.ts";
import { aborted, notExecutable, unknownTool } from "./failures.ts";
import { type HeartbeatOptions, heartbeat } from "./heartbeat.ts";
import type { ToolAnswer, ToolRunResult } from "./outcome.ts";
import { pause } from "./settle.ts";

export interface ToolRunOptions extends HeartbeatOptions {
  readonly tools: Tools;
  readonly context?: unknown;
  /** Of the model call that made it: `toolCallId` alone may come again, and both together are its idempotency key. */
  readonly callId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** What the model was shown when it made the call. */
  readonly messages?: readonly Message[] | undefined;
  readonly ports?: RuntimePorts | undefined;
  /** Called with each error that is thrown, as it was, and the code of the failure it becomes; what it throws is ignored. */
  readonly onError?: ((error: unknown, code: string) => void) | undefined;
  /** Of each attempt; 60 seconds. A tool's own wins, and so it is with maxRetries. */
  readonly timeoutMs?: number | undefined;
  /** 0; a tool that is `repeatable` has one at least. */
  readonly maxRetries?: number | undefined;
  /** Before the first retry; it doubles from one to the next. 200. */
  readonly backoffMs?: number | undefined;
  /** How long a tool may take to end by itself when it is stopped, by a cancel or its timeout. One second. */
  readonly graceMs?: number | undefined;
  /** In UTF-8; 8 MiB. */
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
  return tool.maxRetries ?? (tool.repeatable === true ? Math.max(1, usual) : usual);
}

/** Twice as long each time, less up to a half by chance, so that many do not come back at once. */
function waitBefore(attempts: number, backoffMs: number, asked: number | undefined, { random }: RuntimePorts): number {
  const doubled = backoffMs * 2 ** (attempts - 1) * (1 - random() / 2);
  return Math.min(Math.max(Math.round(doubled), asked ?? 0), LONGEST_WAIT);
}
