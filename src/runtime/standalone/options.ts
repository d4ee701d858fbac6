import type { AgentContext, AgentOutput, AnyAgent } from "../../agent/definition/config.ts";
import type { AgentEvent } from "../../agent/event.ts";
import type { Revocations } from "../../checkpoint/config.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Content, UserMessage } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import type { OnError } from "../callbacks.ts";
import type { RuntimePorts } from "../ports.ts";
import type { RequestResult } from "../request/result.ts";
import type { ApproveOptions, AskOptions, DecideOptions } from "../server/options.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** Options of a run without a server: its thread and store, and the options of the ask. */
export type RunOptions<Agent extends AnyAgent> = RunFields & AskOptions<AgentContext<Agent>>;

interface RunFields {
  /** A run starts at once: an ask with a time needs a server or a host. Default: none. */
  readonly at?: undefined;
  /** The conversation so far: `thread` of the last result, or `Thread.fromMessages(list)`. Default: an empty thread. */
  readonly thread?: Thread | undefined;
  /** Stores the thread. Tokens then refer to it and do not carry the log. Default: none, the result has the thread. */
  readonly store?: ThreadStore | undefined;
  /** The id of the thread in the store. Default: the id of `thread`, else a new one. */
  readonly threadId?: string | undefined;
  /** Gets the spans of requests, model calls, tools and summaries; see `openTelemetry`. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /** Called with each warning. Default `console.warn`. */
  readonly warn?: ((message: string) => void) | undefined;
  /** Called with the original error that a provider, tool, guard, summarizer or prompt function threw. Default: none. */
  readonly onError?: OnError | undefined;
  /** Clock, ids, timers and chance; for tests and replays. Default `systemRuntimePorts`. */
  readonly ports?: Partial<RuntimePorts> | undefined;
}

/** Decisions about calls that wait for an approval or an answer, by the id of the call. */
export interface Decisions {
  /** Calls to approve: their ids, or the options of `approve` for each. Default: none. */
  readonly approve?: readonly string[] | { readonly [toolCallId: string]: ApproveOptions } | undefined;
  /** Calls to deny: their ids, or the options of `deny` for each. Default: none. */
  readonly deny?: readonly string[] | { readonly [toolCallId: string]: DecideOptions } | undefined;
  /** The results of calls to tools without `execute`. Default: none. */
  readonly answers?: { readonly [toolCallId: string]: unknown } | undefined;
}

/** The common options of `react.continue` and `react.cancel`. */
interface TokenOptions<Agent extends AnyAgent>
  extends Pick<RunFields, "store" | "telemetry" | "warn" | "onError" | "ports"> {
  /** The context for tools that still have to run. Default: none. */
  readonly context?: AgentContext<Agent> | undefined;
}

/** How `react.continue` resumes a run from its token: decisions, context, tools and the store. */
export interface ContinueOptions<Agent extends AnyAgent>
  extends TokenOptions<Agent>,
    Pick<AskOptions, "signal" | "tools" | "headers">,
    Decisions {
  /** Asks this next, on the thread of the token, when its run has ended. While the run is open: `busy`. Default: none. */
  readonly query?: Content | UserMessage | undefined;
  /** Checks whether the token or its run was revoked. Default: none, no token is revoked. */
  readonly revocations?: Pick<Revocations, "isRevoked"> | undefined;
}

/** How `react.cancel` ends a run by its token: the store, a reason, and the list to revoke its tokens in. */
export interface CancelOptions<Agent extends AnyAgent> extends TokenOptions<Agent> {
  /** The list that records the end of the run. Calls that check this list refuse its tokens. Default: none. */
  readonly revocations?: Revocations | undefined;
  /** Recorded in the log. Default "The run was cancelled." */
  readonly reason?: string | undefined;
}

/** The result of a run, with the thread for the next one. */
export type RunResult<Output = unknown> = RequestResult<Output> & { readonly thread: Thread };

/** A started run. */
export interface RunHandle<Agent extends AnyAgent = AnyAgent> {
  readonly runId: string;
  readonly requestId: string;
  /** The last token of the run. If the run waits, pass it with the decisions to continue. */
  readonly token: string | undefined;
  /** Each iteration has all events, from the first to the terminal one, or until the run waits for a decision. */
  readonly events: AsyncIterable<AgentEvent>;
  /** Rejects with a RequestError. The code of a run that waits for a decision is `request_waiting`, with the token to continue. */
  readonly result: Promise<RunResult<AgentOutput<Agent>>>;
}
