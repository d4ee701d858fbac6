import type { AgentEvent } from "../../agent/event.ts";
import { willOnlyWait } from "../../agent/react/agent.ts";
import { continuedBy, evolve, INITIAL_STATE, runFromAsk } from "../../agent/react/state.ts";
import { threadNotFound } from "../../stores/errors.ts";
import type { Entry } from "../../thread/entry.ts";
import { UNKNOWN } from "../live/store-failure.ts";
import type { ThreadOptions } from "../perform/scene.ts";
import { type AgentRequest, type EventsOptions, type RequestState, textOf } from "../request/request.ts";
import { failureOf, requestFailed, requestSuspended } from "../request/request-error.ts";
import { pastResult, type RequestResult } from "../request/result.ts";
import {
  FollowedLog,
  followBatch,
  followEntry,
  followUpTo,
  type LiveBatch,
  type LiveSource,
} from "./followed-events.ts";
import { requestNotFound, terminalEvent } from "./past-request.ts";
import { settingsFor } from "./settings.ts";

/** The thread of a request that another process runs. */
export interface FollowedThread extends Pick<ThreadOptions, "definition" | "store" | "ports" | "threadId"> {
  /** Aborted when this process stops. */
  readonly stopped: AbortSignal;
  /** Asks the other process for its events without an entry. Undefined: the store carries no messages. */
  readonly live: ((requestId: string, listen: (batch: LiveBatch) => void) => LiveSource) | undefined;
}

/**
 * A request that another process runs, from its entries in the log. Events without an entry, such as deltas, come from that
 * process, while a caller reads the events here.
 */
export class FollowedRequest implements AgentRequest {
  readonly id: string;
  readonly runId: string;
  readonly result: Promise<RequestResult>;
  readonly #thread: FollowedThread;
  readonly #log: FollowedLog;
  #live: LiveSource | undefined;
  readonly #result = Promise.withResolvers<RequestResult>();
  #state: RequestState = "running";
  #rest = Promise.withResolvers<Exclude<RequestState, "running">>();

  /** `rev`: the revision of the thread now. Before that entry, the request waits for nothing: the log has what came next. */
  constructor(thread: FollowedThread, ask: Entry, rev: number) {
    const run = runFromAsk(ask);
    if (run === undefined) throw requestNotFound(ask.refs.requestId ?? "");
    this.id = run.requestId;
    this.runId = run.runId;
    this.#thread = thread;
    this.#log = new FollowedLog(this);
    this.result = this.#result.promise;
    this.result.catch(() => undefined); // reading only events must not raise an unhandled rejection
    this.#follow(ask, rev).catch((error: unknown) => this.#end(() => this.#result.reject(error)));
  }

  get state(): RequestState {
    return this.#state;
  }

  settled(): Promise<Exclude<RequestState, "running">> {
    return this.#rest.promise;
  }

  get textStream(): AsyncIterable<string> {
    this.#followLive();
    return textOf(this.#log.events);
  }

  events({ until }: EventsOptions = {}): AsyncIterable<AgentEvent> {
    this.#followLive();
    return this.#log.events.iterate(until === "waiting" ? () => this.#state === "waiting" : undefined);
  }

  async #follow(ask: Entry, rev: number): Promise<void> {
    const { definition, store, ports, threadId, stopped } = this.#thread;
    const settings = await settingsFor(definition, { ports });
    const continues = continuedBy(ask);
    let state = INITIAL_STATE;
    const deleted = new AbortController();
    const find = async (): Promise<void> => {
      for await (const { id } of store.read(threadId, { fromSeq: ask.seq, toSeq: ask.seq })) if (id === ask.id) return;
      deleted.abort();
    };
    const end = store.onPosted(threadId, () => void find().catch(() => undefined)); // also after a deletion
    this.result.then(end, end);
    const signal = AbortSignal.any([stopped, deleted.signal]);
    for await (const entry of store.watch(threadId, { fromSeq: ask.seq, signal })) {
      if (entry.refs.requestId === this.id) {
        state = evolve(state, entry);
        const { lane = "" } = state.run ?? state.last?.run ?? {};
        const data = { lane, ...(continues !== undefined && { continues }) };
        this.#log.take((followed) => followEntry(followed, entry, [{ kind: "request_started", data }]));
      }
      this.#log.take((followed) => followUpTo(followed, entry.seq + 1));
      if (entry.seq < rev - 1) continue;
      if (state.last !== undefined) return this.#complete(this.#log.entries, state.last);
      this.#turn(willOnlyWait({ state, settings }) ? "waiting" : "running");
    }
    if (deleted.signal.aborted) throw requestFailed(this.id, failureOf(threadNotFound(threadId), UNKNOWN));
    throw requestSuspended(this.id, { reason: "stopped" });
  }

  async #complete(entries: readonly Entry[], ended: Parameters<typeof pastResult>[2]): Promise<void> {
    const result = pastResult(this.#thread.definition, entries, ended);
    const terminal = await terminalEvent(ended, result);
    this.#log.push({ ...terminal, at: entries.at(-1)?.at ?? 0, iteration: ended.run.iteration });
    this.#end(() => this.#result.resolve(result));
  }

  #turn(state: Exclude<RequestState, "done">): void {
    if (this.#state === state) return;
    this.#state = state;
    if (state === "waiting") this.#rest.resolve(state);
    else this.#rest = Promise.withResolvers();
    if (state === "waiting") this.#live?.pause();
    else this.#live?.ask();
    this.#log.events.wake();
  }

  /** Begins when a caller reads the events, because only then are the others needed. */
  #followLive(): void {
    if (this.#live !== undefined || this.#state === "done") return;
    this.#live = this.#thread.live?.(this.id, (batch) => {
      this.#log.take((followed) => followBatch(followed, batch));
    });
    if (this.#state === "running") this.#live?.ask();
  }

  #end(settle: () => void): void {
    if (this.#state === "waiting") this.#rest = Promise.withResolvers();
    this.#state = "done";
    this.#live?.stop();
    settle();
    this.#rest.resolve("done");
    this.#log.events.close();
  }
}
