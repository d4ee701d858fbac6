import type { AgentContext, AgentOutput, AnyAgent } from "../../agent/definition/config.ts";
import type { AgentEvent } from "../../agent/event.ts";
import type { Revocations } from "../../checkpoint/config.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Thread } from "../../thread/thread.ts";
import type { OnError } from "../callbacks.ts";
import type { RuntimePorts } from "../ports.ts";
import type { RequestResult } from "../request/result.ts";
import type { AskOptions, Decider } from "../server/options.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** Where a standalone run lives: in the caller's hands, unless a store is given. */
export type RunOptions<Given extends AnyAgent> = RunFields & AskOptions<AgentContext<Given>>;

interface RunFields {
  /** What was said before: the `thread` of the last result, or `Thread.fromMessages(list)`. Default: an empty thread. */
  readonly thread?: Thread | undefined;
  /** Keeps the thread here; tokens then refer to it instead of carrying it. Default: none, the result carries the thread. */
  readonly store?: ThreadStore | undefined;
  /** Of the store; default that of `thread`, else a fresh one. */
  readonly threadId?: string | undefined;
  /** Gets the spans of requests, model calls, tools and summaries; see `openTelemetry`. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /** Where warnings go. Default `console.warn`. */
  readonly warn?: ((message: string) => void) | undefined;
  /** Called with the original error that a provider, tool, guard, summarizer or prompt function threw. Default: none. */
  readonly onError?: OnError | undefined;
  /** Clock, ids, timers and chance; for tests and replays. Default `systemRuntimePorts`. */
  readonly ports?: Partial<RuntimePorts> | undefined;
}

/** Decisions about calls that wait for an approval or an answer, by the id of the call. */
export interface Decisions {
  /** Calls to approve: their ids, or a `Decider` for each. Default: none. */
  readonly approve?: readonly string[] | { readonly [toolCallId: string]: Decider } | undefined;
  /** Calls to deny: their ids, or a `Decider` for each. Default: none. */
  readonly deny?: readonly string[] | { readonly [toolCallId: string]: Decider } | undefined;
  /** The results of calls to tools without `execute`. Default: none. */
  readonly answers?: { readonly [toolCallId: string]: unknown } | undefined;
}

/** What going on from a token and ending it have in common. */
interface TokenOptions<Given extends AnyAgent>
  extends Pick<RunFields, "store" | "telemetry" | "warn" | "onError" | "ports"> {
  /** What the tools need, where any is still to run. Default: none. */
  readonly context?: AgentContext<Given> | undefined;
}

/** How `react.continue` resumes a run from its token: decisions, context, tools and the store. */
export interface ContinueOptions<Given extends AnyAgent>
  extends TokenOptions<Given>,
    Pick<AskOptions, "signal" | "tools">,
    Decisions {
  /** Asked whether the token, or its run, was revoked. Default: none, no token is revoked. */
  readonly revocations?: Pick<Revocations, "isRevoked"> | undefined;
}

/** How `react.cancel` ends a run by its token: the store, a reason, and the list to revoke its tokens in. */
export interface CancelOptions<Given extends AnyAgent> extends TokenOptions<Given> {
  /** The list that records the end of the run. Calls that check this list refuse its tokens. Default: none. */
  readonly revocations?: Revocations | undefined;
  /** Recorded in the log. Default "The run was cancelled." */
  readonly reason?: string | undefined;
}

/** What a standalone run came to, and the thread to go on with. */
export type RunResult<Output = unknown> = RequestResult<Output> & { readonly thread: Thread };

/** A run that is under way. */
export interface RunHandle<Given extends AnyAgent = AnyAgent> {
  readonly runId: string;
  readonly requestId: string;
  /** The last token of the run. If the run waits, pass it with the decisions to continue. */
  readonly token: string | undefined;
  /** All events from the first on, for each who iterates; they end with the terminal one, or when the run waits for a decision. */
  readonly events: AsyncIterable<AgentEvent>;
  /** Rejects with a RequestError; a run that waits for a decision is `request_waiting`, with the token to continue. */
  readonly result: Promise<RunResult<AgentOutput<Given>>>;
}
