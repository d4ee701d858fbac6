import type { AgentContext, AgentOutput, AnyAgent } from "../../agent/definition/agent.ts";
import type { AgentEvent } from "../../agent/event.ts";
import type { Revocations } from "../../checkpoint/revocations.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Thread } from "../../thread/thread.ts";
import type { OnError } from "../on-error.ts";
import type { RuntimePorts } from "../ports.ts";
import type { RequestResult } from "../request/result.ts";
import type { AskOptions, Decider } from "../server/options.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** Where a standalone run lives: in the caller's hands, unless a store is given. */
export type RunOptions<Given extends AnyAgent> = RunFields & AskOptions<AgentContext<Given>>;

interface RunFields {
  /** What was said before: the `thread` of the last result, or `Thread.fromMessages(list)`. */
  readonly thread?: Thread | undefined;
  /** Keeps the thread here; tokens then refer to it instead of carrying it. */
  readonly store?: ThreadStore | undefined;
  /** Of the store; default that of `thread`, else a fresh one. */
  readonly threadId?: string | undefined;
  readonly telemetry?: Telemetry | undefined;
  readonly warn?: ((message: string) => void) | undefined;
  /** Told what providers, tools, guards, summarizers and prompt functions threw, as it was thrown. */
  readonly onError?: OnError | undefined;
  readonly ports?: Partial<RuntimePorts> | undefined;
}

/** What somebody decided on calls that wait, by the id of the call. */
export interface Decisions {
  readonly approve?: readonly string[] | { readonly [toolCallId: string]: Decider } | undefined;
  readonly deny?: readonly string[] | { readonly [toolCallId: string]: Decider } | undefined;
  readonly answers?: { readonly [toolCallId: string]: unknown } | undefined;
}

/** What going on from a token and ending it have in common. */
interface TokenOptions<Given extends AnyAgent>
  extends Pick<RunFields, "store" | "telemetry" | "warn" | "onError" | "ports"> {
  /** What the tools need, where any is still to run. */
  readonly context?: AgentContext<Given> | undefined;
}

export interface ContinueOptions<Given extends AnyAgent>
  extends TokenOptions<Given>,
    Pick<AskOptions, "signal" | "tools">,
    Decisions {
  /** Asked whether the token, or its run, was revoked. */
  readonly revocations?: Pick<Revocations, "isRevoked"> | undefined;
}

export interface CancelOptions<Given extends AnyAgent> extends TokenOptions<Given> {
  /** Told that the run is over: none of its tokens is accepted any more where these are asked. */
  readonly revocations?: Revocations | undefined;
  readonly reason?: string | undefined;
}

/** What a standalone run came to, and the thread to go on with. */
export type RunResult<Output = unknown> = RequestResult<Output> & { readonly thread: Thread };

/** A run that is under way. */
export interface RunHandle<Given extends AnyAgent = AnyAgent> {
  readonly runId: string;
  readonly requestId: string;
  /** The last token that was told: of a run that waits, the one to continue with what was decided. */
  readonly token: string | undefined;
  /** All events from the first on, for each who iterates; they end with the terminal one, or when the run waits for somebody outside. */
  readonly events: AsyncIterable<AgentEvent>;
  /** Rejects with a RequestError; a run that waits for somebody outside is `request_waiting`, with the token to continue. */
  readonly result: Promise<RunResult<AgentOutput<Given>>>;
}
