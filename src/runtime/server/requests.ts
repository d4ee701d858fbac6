import type { AgentEvent, Suspension } from "../../agent/event.ts";
import type { Failure } from "../../agent/signal.ts";
import type { RuntimePorts } from "../ports.ts";
import { type Hold, LiveRequest } from "../request/request.ts";
import { RequestError, requestFailed, requestSuspended } from "../request/request-error.ts";
import type { RequestSpan } from "../telemetry/telemetry.ts";
import { RequestTimer, type TimeLimit, type TimeWatch } from "./request-timer.ts";

export interface RequestsOptions {
  readonly epoch: number | undefined;
  readonly ports: RuntimePorts;
  readonly captureDeltas: boolean;
  readonly listen: (event: AgentEvent) => void;
  readonly span: (of: Asked) => RequestSpan;
  readonly hold: Hold;
}

export interface Asked {
  readonly requestId: string;
  readonly runId: string;
}

/** The request under way, and what of it is only here: its context, its time, its span. */
export class Requests {
  readonly #options: RequestsOptions;
  readonly #contexts = new Map<string, unknown>();
  #current: LiveRequest | undefined;
  #span: RequestSpan | undefined;
  #timer: RequestTimer | undefined;
  /** The last request is open in the log, and may begin here once more. */
  #isSuspended = false;

  constructor(options: RequestsOptions) {
    this.#options = options;
  }

  /** The request that has not ended here. */
  get current(): LiveRequest | undefined {
    return this.#current?.state === "done" ? undefined : this.#current;
  }

  /** The request of this id, as long as it is the last one. */
  get(requestId: string): LiveRequest | undefined {
    return this.#current?.id === requestId ? this.#current : undefined;
  }

  /** The last request, also one that has ended here. */
  get last(): LiveRequest | undefined {
    return this.#current;
  }

  /** Whether the last request has no end here: it is under way, or was suspended. */
  get isOpen(): boolean {
    return this.current !== undefined || this.#isSuspended;
  }

  /** Begins a request here, unless it is known; one that has ended here does not begin again, and one that was suspended does. */
  open(asked: Asked, firstEventSeq: number): void {
    const { requestId: id, runId } = asked;
    // The run tells it from a request of a thread that was deleted since.
    const before = this.#current?.id === id && this.#current.runId === runId ? this.#current : undefined;
    if (before !== undefined && !this.#isSuspended) return;
    this.#isSuspended = false;
    const { epoch, ports, captureDeltas, listen, hold } = this.#options;
    const span = this.#options.span(asked);
    this.#span = span;
    const told = (event: AgentEvent): void => {
      span.event(event);
      listen(event);
    };
    const first = Math.max(firstEventSeq, (before?.eventSeq ?? 0) + 1);
    const options = { id, runId, epoch, ports, captureDeltas, firstEventSeq: first, listen: told, hold };
    this.#current = new LiveRequest(options);
  }

  /** Limits the time that a request may be at work. */
  limit(requestId: string, limit: TimeLimit, watch: TimeWatch): void {
    if (this.current?.id !== requestId) return;
    this.#timer?.cancel();
    this.#timer = new RequestTimer(this.#options.ports, limit, watch);
  }

  /** For the log: how long the request was at work, where it has a time limit. */
  get worked(): { readonly workedMs?: number } {
    return this.#timer === undefined ? {} : { workedMs: this.#timer.workedMs };
  }

  /** What a request is given by its caller; never stored. */
  context(requestId: string): unknown {
    return this.#contexts.get(requestId);
  }

  setContext(requestId: string, context: unknown): void {
    this.#contexts.set(requestId, context);
  }

  /** What the request under way is given from here on. */
  giveContext(context: unknown): void {
    if (this.current !== undefined) this.#contexts.set(this.current.id, context);
  }

  /** Its time stands still while it waits for somebody outside. */
  turn(waits: boolean): void {
    this.current?.turn(waits ? "waiting" : "running");
    if (waits) this.#timer?.pause();
    else this.#timer?.go();
  }

  forget(requestId: string): void {
    this.#contexts.delete(requestId);
    if (this.#current?.id !== requestId) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Ends it with a failure that the log does not tell of. */
  fail(failure: Failure, iteration: number, cause: unknown): void {
    const request = this.current;
    if (request === undefined) return;
    this.forget(request.id);
    request.abort.abort(new RequestError({ code: failure.code, message: failure.message }));
    request.emit({ kind: "request_failed", data: { failure } }, iteration);
    request.reject(requestFailed(request.id, failure, cause));
  }

  /**
   * Ends it here, and not in the log. Another process may go on with it; this one can too, when only the store was away: what
   * the caller gave is then still there.
   */
  suspend(suspension: Suspension, iteration: number, why: { failure?: Failure; cause?: unknown } = {}): void {
    const request = this.current;
    if (request === undefined || request.hasEmittedEnd) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (suspension.reason !== "store") this.forget(request.id);
    this.#isSuspended = true;
    this.#span?.suspended();
    const error = requestSuspended(request.id, suspension, why);
    request.abort.abort(error);
    request.suspend(suspension, iteration, error);
  }
}
