import type { AnyAgent } from "../../agent/definition/config.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { AgentEvent } from "../../agent/event.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Refs } from "../../thread/entry.ts";
import type { ErrorOrigin } from "../on-error.ts";
import type { RuntimePorts } from "../ports.ts";
import type { Holder } from "../session/holder.ts";
import type { Tokens } from "../session/tokens.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** What a live thread is given when it starts. */
export interface ThreadOptions {
  readonly definition: AnyAgent;
  readonly threadId: string;
  readonly store: ThreadStore;
  readonly ports: RuntimePorts;
  readonly telemetry: Telemetry;
  readonly holder: Holder | undefined;
  readonly warn: (message: string) => void;
  readonly onError: (error: unknown, origin: ErrorOrigin) => void;
  readonly tokens: Tokens | undefined;
  /** The context of a request that a crash has interrupted. */
  readonly context: (threadId: string, refs: Refs) => unknown;
  /** The tools of its own that it had. */
  readonly tools: ((threadId: string, refs: Refs) => Tools | Promise<Tools>) | undefined;
  readonly listen: (event: AgentEvent) => void;
  /** Another process holds the thread, or the store is closed: nothing can be done here any more. */
  readonly lost: (error: unknown) => void;
}
