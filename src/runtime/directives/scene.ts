import type { AnyAgent, RequestScope } from "../../agent/definition/config.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import type { Signal } from "../../agent/signal.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { Message } from "../../thread/message.ts";
import type { HookLimit } from "../hook.ts";
import type { ErrorOrigin } from "../on-error.ts";
import type { RuntimePorts } from "../ports.ts";
import type { Receipt } from "../request/receipt.ts";
import type { LiveRequest } from "../request/request.ts";
import type { TimeLimit } from "../server/request-timer.ts";
import type { Kept } from "../session/kept.ts";
import type { OperationSettled } from "../session/operation-answer.ts";
import type { Promised } from "../session/promised.ts";
import type { Tokens } from "../session/tokens.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ToolPool } from "../tools/pool.ts";
import { untilAborted } from "./until-aborted.ts";

/** What the executors of directives have around them. */
export interface Scene {
  readonly definition: AnyAgent;
  readonly threadId: string;
  readonly store: ThreadStore;
  readonly ports: RuntimePorts;
  readonly pool: ToolPool;
  readonly telemetry: Telemetry;
  /** The tools as they are now: they may be registered and taken away. */
  readonly tools: () => Tools;
  readonly agent: () => ReactAgent;
  readonly request: (requestId: string) => LiveRequest | undefined;
  /** Whether no other process can have the thread. */
  readonly isHeld: () => boolean;
  /** The same, after a renewal where the last one is too old; where it is false, the request has ended here. */
  readonly ensureHeld: () => Promise<boolean>;
  readonly scope: (requestId: string) => RequestScope<never>;
  /** The messages that a model call was shown, as long as it is the last one. */
  readonly shown: (callId: string) => readonly Message[];
  /** Tells whoever runs the agent, each thing once. */
  readonly warn: (message: string) => void;
  /** Called with each original error. It never throws. */
  readonly onError: (error: unknown, origin: ErrorOrigin) => void;
  /** Has something happen when the request has been at work for so long. */
  readonly limit: (requestId: string, limit: TimeLimit, over: () => void) => void;
  /** How long the request was at work, where it has a time limit: its entries tell the next process. */
  readonly worked: () => { readonly workedMs?: number };
  /** The server stops: nothing new begins. */
  readonly isStopping: () => boolean;
  /** A call of a tool begins to run. */
  readonly began: (toolCallId: string) => void;
  /** Tells the core what happened. Never throws: what cannot be told breaks the request. */
  readonly send: (signal: Signal) => void;
  /** Work that goes on while signals are taken; whoever stops waits for it. */
  readonly track: (work: Promise<unknown>) => void;
  /** The same of a tool, which may never end: whoever stops waits for it in the time of grace only. */
  readonly trackTool: (work: Promise<unknown>) => void;
  /** The same, before any other signal that waits; `then` learns how it went. */
  readonly sendNext: (signal: Signal, then: (error: unknown) => Promise<void>) => void;
  readonly kept: Kept;
  readonly receipts: Promised<Receipt>;
  readonly operations: Promised<OperationSettled>;
  /** Absent where nobody wants tokens. */
  readonly tokens: Tokens | undefined;
  /** What an answer of the right shape is, until the request ends. */
  readonly objects: Map<string, JsonValue>;
}

/** The scene of one request: what comes from it when it has ended here is dropped, though another process, or this one, goes on. */
export function sceneOf(scene: Scene, request: LiveRequest): Scene {
  return {
    ...scene,
    send: (signal) => {
      if (request.state !== "done") scene.send(signal);
    },
  };
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
