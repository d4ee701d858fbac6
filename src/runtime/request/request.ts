import type { AgentEvent, EventDraft } from "../../agent/event.ts";
import type { RuntimePorts } from "../ports.ts";
import { EventLog } from "./event-log.ts";
import type { RequestResult } from "./result.ts";

export type RequestState = "running" | "waiting" | "done";

export interface EventsOptions {
  /** Ends the iteration when the request waits for somebody outside, too. */
  readonly until?: "waiting" | undefined;
}

/** A request that was accepted: its ask is durable. */
export interface AgentRequest<Output = unknown> {
  readonly id: string;
  readonly runId: string;
  readonly state: RequestState;
  /** Rejects with a RequestError: `request_failed` or `request_cancelled`. Nobody has to look at it. */
  readonly result: Promise<RequestResult<Output>>;
  /** Resolves as soon as nothing is at work: the request is done, or it waits for somebody outside. */
  settled(): Promise<Exclude<RequestState, "running">>;
  /** The text of the model as it comes. */
  readonly textStream: AsyncIterable<string>;
  /** All events from the first on, however late you begin; the last is the terminal one. */
  events(options?: EventsOptions): AsyncIterable<AgentEvent>;
}

interface Options {
  readonly id: string;
  readonly runId: string;
  /** Of the claim under which it is carried; absent where the thread is nobody else's. */
  readonly epoch: number | undefined;
  readonly ports: RuntimePorts;
  readonly captureDeltas: boolean;
  /** After a crash the numbers go on. */
  readonly firstEventSeq: number;
  readonly listen: (event: AgentEvent) => void;
}

/** The side of a request that the session sees. */
export class LiveRequest implements AgentRequest {
  readonly id: string;
  readonly runId: string;
  readonly result: Promise<RequestResult>;
  readonly abort = new AbortController();
  /** What was thrown last, and what it became: for who asked, and never written down. */
  thrown: { readonly error: unknown; readonly code: string } | undefined;
  readonly #log: EventLog;
  readonly #options: Options;
  readonly #settle: (result: RequestResult) => void;
  readonly #fail: (error: unknown) => void;
  #state: RequestState = "running";
  #rest = Promise.withResolvers<Exclude<RequestState, "running">>();

  constructor(options: Options) {
    this.#options = options;
    this.id = options.id;
    this.runId = options.runId;
    this.#log = new EventLog(
      options.firstEventSeq,
      options.captureDeltas ? undefined : ({ kind }) => kind !== "llm_delta",
    );
    const { promise, resolve, reject } = Promise.withResolvers<RequestResult>();
    promise.catch(() => undefined); // reading only events must not raise an unhandled rejection
    this.result = promise;
    this.#settle = resolve;
    this.#fail = reject;
  }

  get state(): RequestState {
    return this.#state;
  }

  settled(): Promise<Exclude<RequestState, "running">> {
    return this.#rest.promise;
  }

  get eventSeq(): number {
    return this.#log.lastSeq;
  }

  get textStream(): AsyncIterable<string> {
    return textOf(this.#log);
  }

  events({ until }: EventsOptions = {}): AsyncIterable<AgentEvent> {
    return this.#log.iterate(until === "waiting" ? () => this.#state === "waiting" : undefined);
  }

  /** Whether such an event was told and kept. */
  hasTold(is: (event: AgentEvent) => boolean): boolean {
    return this.#log.has(is);
  }

  /** Gives an event its place. After the terminal one there is none. */
  emit(event: EventDraft, iteration: number): void {
    if (this.#state === "done") return;
    const { ports, runId, epoch, listen } = this.#options;
    const seq = this.#log.lastSeq + 1;
    // After a crash a number may be told again of another event; under another claim.
    const id = [runId, epoch, seq].filter((part) => part !== undefined).join(".");
    const full = { ...event, id, seq, at: ports.clock(), runId, requestId: this.id, iteration };
    const frozen: AgentEvent = Object.freeze(full);
    this.#log.push(frozen);
    listen(frozen);
  }

  turn(state: Exclude<RequestState, "done">): void {
    if (this.#state === "done" || this.#state === state) return;
    this.#state = state;
    if (state === "waiting") this.#rest.resolve(state);
    else this.#rest = Promise.withResolvers();
    this.#log.wake();
  }

  complete(result: RequestResult): void {
    if (this.#end()) this.#settle(result);
  }

  reject(error: unknown): void {
    if (this.#end()) this.#fail(error);
  }

  #end(): boolean {
    if (this.#state === "done") return false;
    if (this.#state === "waiting") this.#rest = Promise.withResolvers();
    this.#state = "done";
    this.#rest.resolve("done");
    this.#log.close();
    return true;
  }
}

export async function* textOf(log: EventLog): AsyncGenerator<string, void> {
  let streamed = "";
  for await (const event of log.iterate()) {
    if (event.kind === "llm_started" || event.kind === "llm_retried") streamed = "";
    if (event.kind === "llm_delta" && event.data.type === "text") {
      streamed += event.data.text;
      yield event.data.text;
    }
    // A model that does not stream says it all at once.
    if (event.kind === "llm_completed" && streamed === "" && event.data.text !== "") yield event.data.text;
  }
}
