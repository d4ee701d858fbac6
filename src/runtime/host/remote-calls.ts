import type { AnyAgent } from "../../agent/definition/config.ts";
import { reactSettings } from "../../agent/react/settings.ts";
import type { CommandOutcome } from "../../stores/command.ts";
import { CommandError, ThreadHeldError } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { isPlainObject, type JsonValue } from "../../thread/json.ts";
import { headerNames } from "../ask-options.ts";
import { endOf, rowOfCall } from "../live/inbox.ts";
import type { Brought, RemoteCall } from "../live/live.ts";
import type { RuntimePorts } from "../ports.ts";
import type { AgentRequest, SteerAnswer } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import { ScheduledRequest } from "../request/scheduled-request.ts";
import { FollowedRequest, type FollowedThread } from "../server/followed-request.ts";
import { type OperationAnswer, operationSettled } from "../server/modify.ts";
import type { AskOptions, AskTime } from "../server/options.ts";
import { endedInQueue, findAsk, withoutAsk } from "../server/past-request.ts";
import { errorOf, portableArguments } from "../server/remote-call.ts";
import { receiptOf } from "../server/steer.ts";
import { FIRST, loadAgent } from "../session/load.ts";
import { retryStore } from "../session/store-retry.ts";
import { pause } from "../timers.ts";
import type { LiveEvents } from "./live-events.ts";

/** The first and the longest wait before this process checks again whether the holder of the thread is gone. */
const FIRST_CHECK_MS = 200;
const LONGEST_CHECK_MS = 1000;

/** Whether the call may take as long as a model does, or waits for its turn. The others end at once. */
function isLong({ method, args }: RemoteCall): boolean {
  const [options] = args.flatMap((arg) => (Array.isArray(arg) ? arg.slice(0, 1) : [])).slice(-1);
  return method === "summarize" || (method === "ask" && isPlainObject(options) && options["queue"] === true);
}

/** The arguments of an ask without the values that are never stored, also where they are JSON. */
function withoutSecrets(args: readonly unknown[]): { readonly args: readonly unknown[]; readonly brought?: Brought } {
  const { context, headers, ...options } = args.at(-1) as AskOptions; // its options
  if (context === undefined && headers === undefined) return { args };
  const brought = {
    ...(context !== undefined && { context: true }),
    ...(headers && { headers: headerNames(headers) }),
  };
  return { args: [...args.slice(0, -1), options], brought };
}

/** A call for the process that holds the thread. */
export interface CallDraft {
  readonly method: string;
  readonly args: readonly unknown[];
}

interface RemoteOptions {
  readonly store: ThreadStore;
  readonly ports: RuntimePorts;
  readonly stopped: AbortSignal;
  /** How long a holder may leave a call in the inbox. */
  readonly limitMs: number;
  /** Events of requests that other processes run. */
  readonly live?: LiveEvents | undefined;
  /** Starts the thread here if no process holds it any more. Its loop then performs the calls of the inbox. */
  readonly takeOver: (threadId: string) => Promise<unknown>;
}

/** Calls methods of the server of a thread that another process holds, through the inbox of the thread. */
export class RemoteCalls {
  readonly #options: RemoteOptions;

  constructor(options: RemoteOptions) {
    this.#options = options;
  }

  /** The value that the method returned, as JSON. Throws its error. "released": the holder has released the thread. */
  async call(threadId: string, { method, args }: CallDraft, held: ThreadHeldError): Promise<CommandOutcome> {
    const mayRelease = method === "ask" || method === "continueRequest";
    const { args: all, brought } = mayRelease ? withoutSecrets(args) : { args, brought: undefined };
    const portable = portableArguments(all);
    if (portable === undefined && !mayRelease) throw notPortable(method);
    const outcome = await this.#outcome(
      threadId,
      { method, args: portable ?? [], isLocal: portable === undefined, brought },
      held,
    );
    if (outcome.status === "failed") throw errorOf(outcome["error"]);
    if (outcome.status === "withdrawn") throw held;
    return outcome;
  }

  /** Starts a request in that process. Undefined: it has released the thread for this one. */
  async start(
    threadId: string,
    { method, args, at }: CallDraft & Pick<AskTime, "at">,
    { holder, until }: ThreadHeldError,
    agentOf: () => Promise<AnyAgent>,
  ): Promise<AgentRequest | undefined> {
    const held = new ThreadHeldError(threadId, holder, until, method);
    const { status, value } = await this.call(threadId, { method, args }, held);
    if (status === "released") return undefined;
    const agent = await agentOf();
    return at === undefined
      ? this.request(threadId, String(value), agent)
      : this.scheduled(threadId, String(value), agent);
  }

  async #outcome(threadId: string, call: RemoteCall, held: ThreadHeldError): Promise<CommandOutcome> {
    const { store, ports, stopped, limitMs } = this.#options;
    const id = ports.ids("call");
    await retryStore(ports, () => store.post(threadId, rowOfCall(id, call)));
    const found = store.outcome(threadId, id, { signal: stopped });
    found.catch(() => undefined); // it is awaited below, or the call has thrown
    const until = ports.monotonic() + limitMs;
    for (let waitMs = FIRST_CHECK_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_CHECK_MS)) {
      const outcome = await Promise.race([found, pause(ports, waitMs)]).catch((error: unknown) => {
        if (stopped.aborted) return this.#withdraw(threadId, id, held); // otherwise it would be performed without its caller
        throw error;
      });
      if (outcome !== undefined) return outcome;
      await this.#options.takeOver(threadId).catch(() => undefined); // it is held, or cannot be started now
      if (ports.monotonic() >= until && !isLong(call)) return this.#withdraw(threadId, id, held);
    }
  }

  /** The holder takes no calls. A call that it has ended in the meantime has its outcome. */
  async #withdraw(threadId: string, id: string, held: ThreadHeldError): Promise<CommandOutcome> {
    const { store, ports } = this.#options;
    try {
      await retryStore(ports, () => store.withdraw(threadId, id));
    } catch (error) {
      if (CommandError.isInstance(error) && error.code === "command_settled") return store.outcome(threadId, id);
      throw error;
    }
    throw held;
  }

  /** The answer to `steer` in another process. */
  steered(threadId: string, value: JsonValue | undefined): SteerAnswer {
    const { id, accepted, reason } = value as unknown as SteerAnswer; // as the server answered
    const known = { id, accepted, ...(reason !== undefined && { reason }) };
    if (!accepted) return { ...known, receipt: Promise.resolve({ id, delivered: false, reason: reason ?? "closed" }) };
    const { store, stopped } = this.#options;
    const end = store.outcome(threadId, id, { signal: stopped }).then(endOf, () => CLOSED);
    return { ...known, receipt: end.then((ended) => receiptOf(id, { end: ended })) };
  }

  /** The answer to a change of the context or of a setting in another process. */
  operated(threadId: string, value: JsonValue | undefined): OperationAnswer {
    const answer = value as unknown as OperationAnswer; // as the server answered
    if (answer.status !== "deferred") return { ...answer, settled: Promise.resolve({ status: "applied" }) };
    const { store, stopped } = this.#options;
    const end = store.outcome(threadId, answer.opId, { signal: stopped }).then(endOf, async (error: unknown) => {
      if (!CommandError.isInstance(error)) return CLOSED;
      await (await this.openRequest(threadId, undefined))?.result.catch(() => undefined); // a setting, which is in the log
      return { status: "applied" } as const;
    });
    return { ...answer, settled: end.then((ended) => operationSettled({ end: ended })) };
  }

  /** The id of the open request, as the log has it. */
  async openId(threadId: string): Promise<string | undefined> {
    const { store, ports } = this.#options;
    return (await loadAgent(store, threadId, reactSettings(), ports)).state.run?.requestId;
  }

  /** The open request, followed in the log. */
  async openRequest(threadId: string, agent: AnyAgent | undefined): Promise<AgentRequest | undefined> {
    const id = await this.openId(threadId);
    return id === undefined ? undefined : this.request(threadId, id, agent);
  }

  /** An ask that waits in the inbox for its time or its turn. */
  scheduled(threadId: string, requestId: string, agent: AnyAgent | undefined): AgentRequest {
    const { store, stopped } = this.#options;
    const started = store.outcome(threadId, requestId, { signal: stopped }).then(async (outcome) => {
      const error = endedInQueue(requestId, outcome);
      if (error !== undefined) throw error;
      return this.request(threadId, requestId, agent);
    });
    return new ScheduledRequest(requestId, started);
  }

  /** A request that another process runs or has ended, followed in the log. */
  async request(threadId: string, requestId: string, agent: AnyAgent | undefined): Promise<AgentRequest> {
    const { store, ports, stopped, live } = this.#options;
    const thread = await retryStore(ports, () => store.load(threadId, { last: FIRST }));
    const suspension = { reason: "stopped" } as const;
    const log = thread && {
      agent: { thread },
      options: { definition: agent as AnyAgent, store, ports },
      stopped,
      suspension,
    };
    const ask = log && (await findAsk(log, "requestId", requestId));
    if (ask === undefined || thread === undefined) throw await withoutAsk({ store, ports }, threadId, requestId);
    const followed: FollowedThread = {
      definition: agent as AnyAgent, // only the output of its result is read
      ...{ store, ports, threadId, stopped },
      live: live && ((id, listen) => live.follow(threadId, id, listen)),
    };
    return new FollowedRequest(followed, ask, thread.rev);
  }
}

const CLOSED = { status: "dropped", reason: "closed" } as const;

function notPortable(method: string): RequestError {
  const message = `${method}: another process holds the thread, and these arguments cannot be sent to it. Pass JSON only.`;
  return new RequestError({ code: "not_portable", message });
}
