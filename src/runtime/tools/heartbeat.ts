import type { ToolCall } from "../../thread/message.ts";
import type { RuntimePorts } from "../ports.ts";

/** A sign of life of a call that runs. */
interface Heartbeat {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly elapsedMs: number;
}

export interface HeartbeatOptions {
  /** 5 seconds; 0 is off, but for what a generator yields. */
  readonly heartbeatMs?: number;
  /** Called while the call runs, and for each value a generator yields; what it throws is ignored. */
  readonly onHeartbeat?: (beat: Heartbeat) => void;
}

export interface HeartbeatTimer {
  /** Beats at once, beside the regular ones. */
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
  const now = (): void => {
    try {
      onHeartbeat({ toolCallId, toolName, elapsedMs: Math.max(0, clock() - started) });
    } catch {
      // A listener that fails must not end the call it listens to.
    }
  };
  let cancel = (): void => undefined;
  const next = (): void => {
    cancel = after(heartbeatMs, () => {
      now();
      next();
    });
  };
  if (heartbeatMs > 0) next();
  return { now, stop: () => cancel() };
}
