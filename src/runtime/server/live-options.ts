import type { AnyAgent } from "../../agent/definition/config.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { AgentEvent } from "../../agent/event.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import type { Signal } from "../../agent/signal.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Refs } from "../../thread/entry.ts";
import type { Scene } from "../directives/scene.ts";
import type { RuntimePorts } from "../ports.ts";
import type { Holder } from "../session/holder.ts";
import type { Tokens } from "../session/tokens.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

export interface LiveThreadOptions {
  readonly definition: AnyAgent;
  readonly threadId: string;
  readonly store: ThreadStore;
  readonly ports: RuntimePorts;
  readonly telemetry: Telemetry;
  readonly holder: Holder | undefined;
  readonly warn: (message: string) => void;
  readonly onError: Scene["onError"];
  readonly tokens: Tokens | undefined;
  /** What to do with a request that is open, instead of what `recover` says. */
  readonly first: ((agent: ReactAgent) => Signal | undefined) | undefined;
  /** The context of a request that a crash has interrupted. */
  readonly context: (threadId: string, refs: Refs) => unknown;
  /** The tools of its own that it had. */
  readonly tools: ((threadId: string, refs: Refs) => Tools | Promise<Tools>) | undefined;
  /** Aborted when nobody wants the start any more. */
  readonly signal: AbortSignal;
  readonly listen: (event: AgentEvent) => void;
  /** Somebody else holds the thread, or the store is gone: nothing more can be done here. */
  readonly lost: (error: unknown) => void;
}
