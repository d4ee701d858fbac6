import type { ToolCall } from "../../thread/message.ts";
import type { RuntimePorts } from "../ports.ts";

/** A sign of life of a call that runs. */
interface Heartbeat {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly elapsedMs: number;
}

export interface HeartbeatOptions {
  /** Milliseconds between two beats; 0 is off, but for what a generator yields. Default 5,000. */
  readonly heartbeatMs?: number | undefined;
  /** Called while the call runs, and when a generator yields, at most once in that time; what it throws is ignored. Default: none. */
  readonly onHeartbeat?: ((beat: Heartbeat) => void) | undefined;
}

export interface HeartbeatTimer {
  /** Beats at once, unless the last beat is younger than the interval. */
  readonly now: () => void;
  readonly stop: () => void;
}

/** Beats until it is stopped. */
export function heartbeat(
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
