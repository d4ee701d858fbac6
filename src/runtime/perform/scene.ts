import type { AnyAgent, RequestScope } from "../../agent/definition/config.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import type { Failure } from "../../agent/signal.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Message } from "../../thread/message.ts";
import type { HookLimit } from "../hook.ts";
import type { ErrorOrigin } from "../on-error.ts";
import type { RuntimePorts } from "../ports.ts";
import type { LiveRequest } from "../request/request.ts";
import type { Kept } from "../session/kept.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ToolPool } from "../tools/pool.ts";
import { untilAborted } from "../until-aborted.ts";

/** What an effect needs of its thread. */
export interface Scene {
  readonly definition: AnyAgent;
  readonly threadId: string;
  readonly store: ThreadStore;
  readonly ports: RuntimePorts;
  readonly pool: ToolPool;
  readonly telemetry: Telemetry;
  readonly agent: () => ReactAgent;
  /** Fails the request. */
  readonly fail: (failure: Failure) => void;
  /** The tools as they are now. */
  readonly tools: () => Tools;
  /** Whether no other process can have the thread. */
  readonly isHeld: () => boolean;
  /** The same, after a renewal if the last one is too old. When it is false, the request has ended here. */
  readonly ensureHeld: () => Promise<boolean>;
  readonly scope: (requestId: string) => RequestScope<never>;
  /** The messages that a model call was shown, if it is the last one. */
  readonly shown: (callId: string) => readonly Message[];
  /** How long the request was at work, if it has a time limit: its entries tell the next process. */
  readonly worked: () => { readonly workedMs?: number };
  /** Nothing new begins. */
  readonly isStopping: () => boolean;
  /** A tool call starts to run. */
  readonly began: (toolCallId: string) => void;
  /** Gives each warning once. */
  readonly warn: (message: string) => void;
  /** Called with each original error. It never throws. */
  readonly onError: (error: unknown, origin: ErrorOrigin) => void;
  readonly kept: Kept;
}

/** How long a function of the caller may take in a request. */
export function hookLimitOf({ ports, definition }: Scene, { abort: { signal } }: LiveRequest): HookLimit {
  return { ports, timeoutMs: definition.hookTimeoutMs, signal };
}

/** Whether something may be started for the request: it was not interrupted, and no other process can have the thread. */
export async function mayStart(scene: Scene, { abort: { signal } }: LiveRequest): Promise<boolean> {
  if (signal.aborted) return false;
  if (scene.isHeld()) return true;
  const isHeld = await untilAborted(signal, () => scene.ensureHeld()).catch(() => false); // it was interrupted
  return isHeld && !signal.aborted;
}
