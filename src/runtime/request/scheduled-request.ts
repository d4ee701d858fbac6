import type { AgentEvent } from "../../agent/event.ts";
import type { AgentRequest, EventsOptions, RequestState } from "./request.ts";
import type { RequestResult } from "./result.ts";

/** The request of an ask that waits for its time. `started` resolves to the request that begins then. */
export class ScheduledRequest implements AgentRequest {
  readonly id: string;
  readonly result: Promise<RequestResult>;
  readonly #started: Promise<AgentRequest | undefined>;
  #request: AgentRequest | undefined;
  #isOver = false;

  constructor(id: string, started: Promise<AgentRequest>) {
    this.id = id;
    this.result = started.then(({ result }) => result);
    this.result.catch(() => undefined); // reading only events must not raise an unhandled rejection
    this.#started = started.then(
      (request) => {
        this.#request = request;
        return request;
      },
      () => {
        this.#isOver = true;
        return undefined;
      },
    );
  }

  /** Empty until it begins. */
  get runId(): string {
    return this.#request?.runId ?? "";
  }

  get state(): RequestState {
    return this.#request?.state ?? (this.#isOver ? "done" : "waiting");
  }

  async settled(): Promise<Exclude<RequestState, "running">> {
    return (await this.#started)?.settled() ?? "done";
  }

  get textStream(): AsyncIterable<string> {
    return this.#when((request) => request.textStream);
  }

  events(options?: EventsOptions): AsyncIterable<AgentEvent> {
    return this.#when((request) => request.events(options));
  }

  /** Nothing when it never begins here: `result` says why. */
  async *#when<Item>(items: (request: AgentRequest) => AsyncIterable<Item>): AsyncGenerator<Item, void> {
    const request = await this.#started;
    if (request !== undefined) yield* items(request);
  }
}
