import type { AgentEvent } from "../../agent/event.ts";
import type { AgentRequest, EventsOptions, RequestState } from "../request/request.ts";
import type { RequestResult } from "../request/result.ts";

/** The request that a host returns. It knows whether a caller still reads its events or awaits its result. */
export class HostedRequest<Output> implements AgentRequest<Output> {
  readonly #request: AgentRequest<Output>;
  #iterating = 0;
  /** Resolves when the last reader of events leaves. */
  #left = Promise.withResolvers<void>();
  #isAwaited = false;

  constructor(request: AgentRequest<Output>) {
    this.#request = request;
  }

  /** A request that was suspended and resumed is another object with the same id. */
  isOf(request: AgentRequest<Output>): boolean {
    return this.#request === request;
  }

  get id(): string {
    return this.#request.id;
  }

  get runId(): string {
    return this.#request.runId;
  }

  get state(): RequestState {
    return this.#request.state;
  }

  get result(): Promise<RequestResult<Output>> {
    this.#isAwaited = true;
    return this.#request.result;
  }

  settled(): Promise<Exclude<RequestState, "running">> {
    return this.#request.settled();
  }

  get textStream(): AsyncIterable<string> {
    return this.#watched(this.#request.textStream);
  }

  events(options?: EventsOptions): AsyncIterable<AgentEvent> {
    return this.#watched(this.#request.events(options));
  }

  /** Whether a caller in this process reads the events or awaits the result. */
  get isWatched(): boolean {
    return this.state !== "done" && (this.#isAwaited || this.#iterating > 0);
  }

  /** Resolves when the request has ended, or when its last reader has left. */
  async unwatched(): Promise<void> {
    const ended = this.#request.result.then(
      () => undefined,
      () => undefined,
    );
    await (this.#isAwaited ? ended : Promise.race([ended, this.#left.promise]));
  }

  async *#watched<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item, void> {
    if (this.#iterating === 0) this.#left = Promise.withResolvers();
    this.#iterating += 1;
    try {
      yield* items;
    } finally {
      this.#iterating -= 1;
      if (this.#iterating === 0) this.#left.resolve();
    }
  }
}
