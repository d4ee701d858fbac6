import type { AgentEvent } from "../../agent/event.ts";
import { willOnlyWait } from "../../agent/react/agent.ts";
import { continuedBy, evolve, INITIAL_STATE, runFromAsk } from "../../agent/react/state.ts";
import type { Entry } from "../../thread/entry.ts";
import type { ThreadOptions } from "../perform/scene.ts";
import { type AgentRequest, EventLog, type EventsOptions, type RequestState, textOf } from "../request/request.ts";
import { requestSuspended } from "../request/request-error.ts";
import { pastResult, type RequestResult } from "../request/result.ts";
import { loggedEvents } from "../ui-messages/logged-events.ts";
import { requestNotFound, terminalEvent } from "./past-request.ts";
import { settingsFor } from "./settings.ts";

/** The thread of a request that another process runs. */
export interface FollowedThread extends Pick<ThreadOptions, "definition" | "store" | "ports" | "threadId"> {
  /** Aborted when this process stops. */
  readonly stopped: AbortSignal;
}

/** A request that another process runs, from its entries in the log. Its events are those that entries record. */
export class FollowedRequest implements AgentRequest {
  readonly id: string;
  readonly runId: string;
  readonly result: Promise<RequestResult>;
  readonly #thread: FollowedThread;
  readonly #events = new EventLog(1);
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
    return textOf(this.#events);
  }

  events({ until }: EventsOptions = {}): AsyncIterable<AgentEvent> {
    return this.#events.iterate(until === "waiting" ? () => this.#state === "waiting" : undefined);
  }

  async #follow(ask: Entry, rev: number): Promise<void> {
    const { definition, store, ports, threadId, stopped } = this.#thread;
    const settings = await settingsFor(definition, { ports });
    const continues = continuedBy(ask);
    const entries: Entry[] = [];
    let state = INITIAL_STATE;
    for await (const entry of store.watch(threadId, { fromSeq: ask.seq, signal: stopped })) {
      if (entry.refs.requestId === this.id) {
        entries.push(entry);
        state = evolve(state, entry);
      }
      if (entry.seq < rev - 1) continue;
      const { lane = "" } = state.run ?? state.last?.run ?? {};
      const started = {
        kind: "request_started",
        data: { lane, ...(continues !== undefined && { continues }) },
      } as const;
      const known = this.#events.lastSeq;
      for (const event of loggedEvents(this, entries, [started])) if (event.seq > known) this.#events.push(event);
      if (state.last !== undefined) return this.#complete(entries, state.last);
      this.#turn(willOnlyWait({ state, settings }) ? "waiting" : "running");
    }
    throw requestSuspended(this.id, { reason: "stopped" });
  }

  async #complete(entries: readonly Entry[], ended: Parameters<typeof pastResult>[2]): Promise<void> {
    const result = pastResult(this.#thread.definition, entries, ended);
    const terminal = await terminalEvent(ended, result);
    const [last] = entries.slice(-1);
    const seq = this.#events.lastSeq + 1;
    const { iteration } = ended.run;
    const at = last?.at ?? 0;
    this.#events.push({
      ...terminal,
      id: `${this.runId}.log.${seq}`,
      seq,
      at,
      runId: this.runId,
      requestId: this.id,
      iteration,
    });
    this.#end(() => this.#result.resolve(result));
  }

  #turn(state: Exclude<RequestState, "done">): void {
    if (this.#state === state) return;
    this.#state = state;
    if (state === "waiting") this.#rest.resolve(state);
    else this.#rest = Promise.withResolvers();
    this.#events.wake();
  }

  #end(settle: () => void): void {
    if (this.#state === "waiting") this.#rest = Promise.withResolvers();
    this.#state = "done";
    settle();
    this.#rest.resolve("done");
    this.#events.close();
  }
}
