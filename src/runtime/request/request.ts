import type { AgentEvent, EventDraft, EventKind, Suspension } from "../../agent/event.ts";
import { refuseUnknownOptions } from "../../thread/options.ts";
import type { RuntimePorts } from "../ports.ts";
import { RequestError } from "./request-error.ts";
import type { RequestResult } from "./result.ts";

/** The state of a request. */
export type RequestState = "running" | "waiting" | "done";

/** When the iteration of `request.events()` ends. */
export interface EventsOptions {
  /** `waiting` also ends the iteration when the request waits for an approval or an answer. Default: only when it ends. */
  readonly until?: "waiting" | undefined;
}

/** A request that was accepted: its ask is durable. */
export interface AgentRequest<Output = unknown> {
  readonly id: string;
  readonly runId: string;
  readonly state: RequestState;
  /** Rejects with a RequestError: `request_failed`, `request_cancelled` or `request_suspended`. If ignored, there is no unhandled rejection. */
  readonly result: Promise<RequestResult<Output>>;
  /** Resolves as soon as nothing is at work: the request is done, or it waits for an approval or an answer. */
  settled(): Promise<Exclude<RequestState, "running">>;
  /** The text of the model as it comes. A call that is made again (`llm_retried`) says its text from the start once more. */
  readonly textStream: AsyncIterable<string>;
  /** All events from the first on, however late you begin; the last is the terminal one, or `request_suspended`. */
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
  readonly hold: Hold;
}

/** The claim of the thread, as those see it who start something or emit what no entry tells. */
export interface Hold {
  /** Whether no other process can have the thread. */
  readonly isHeld: () => boolean;
  /** The same, after a renewal where the last one is too old. Where it is false, the request is suspended. */
  readonly ensure: () => Promise<boolean>;
}

/** No entry tells of them, so no append has shown that the thread is held. */
const UNRECORDED: ReadonlySet<EventKind> = new Set(["llm_delta", "llm_retried", "tool_started", "keepalive"]);

/** The side of a request that the session sees. */
export class LiveRequest implements AgentRequest {
  readonly id: string;
  readonly runId: string;
  readonly result: Promise<RequestResult>;
  readonly abort = new AbortController();
  readonly #log: EventLog;
  readonly #options: Options;
  readonly #settle: (result: RequestResult) => void;
  readonly #fail: (error: unknown) => void;
  #state: RequestState = "running";
  /** Events that wait for a renewal of the claim. */
  #withheld: readonly (readonly [event: EventDraft, iteration: number])[] = [];
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
    return this.#log.lastSeq + this.#withheld.length;
  }

  get textStream(): AsyncIterable<string> {
    return textOf(this.#log);
  }

  events(options: EventsOptions = {}): AsyncIterable<AgentEvent> {
    refuseUnknownOptions("events", options, { until: true }, (message) => {
      return new RequestError({ code: "invalid_options", message });
    });
    const { until } = options;
    return this.#log.iterate(until === "waiting" ? () => this.#state === "waiting" : undefined);
  }

  /** Whether such an event was told and kept. */
  hasTold(is: (event: AgentEvent) => boolean): boolean {
    return this.#log.has(is);
  }

  /**
   * Gives an event its place; after the terminal one there is none. What no entry tells waits while another process may have
   * the thread; an entry that was appended shows that none has.
   */
  emit(event: EventDraft & { readonly replayed?: true }, iteration: number): void {
    if (this.#state === "done") return;
    const waits = this.#withheld.length > 0 || !this.#options.hold.isHeld();
    if (waits && UNRECORDED.has(event.kind)) {
      this.#withhold(event, iteration);
      return;
    }
    this.#release();
    this.#put(event, iteration);
  }

  #withhold(event: EventDraft, iteration: number): void {
    this.#withheld = [...this.#withheld, [event, iteration]];
    if (this.#withheld.length > 1) return;
    void this.#options.hold.ensure().then((isHeld) => isHeld && this.#release());
  }

  #release(): void {
    if (this.#state === "done") return;
    const withheld = this.#withheld;
    this.#withheld = [];
    for (const [event, iteration] of withheld) this.#put(event, iteration);
  }

  #put(event: EventDraft, iteration: number): void {
    const { ports, runId, epoch, listen } = this.#options;
    const seq = this.#log.lastSeq + 1;
    // After a crash a number may be told again of another event; under another claim. What is waited for keeps its id.
    const { kind, callId, toolCallId } = event;
    const parts = REPLAYED.has(kind) ? [runId, callId, toolCallId, kind] : [runId, epoch, seq];
    const id = parts.filter((part) => part !== undefined).join(".");
    const full = { ...event, id, seq, at: ports.clock(), runId, requestId: this.id, iteration };
    const frozen: AgentEvent = Object.freeze(full);
    this.#log.push(frozen);
    listen(frozen);
  }

  /** This process no longer carries it: what waits for a renewal is dropped, and nothing follows. */
  suspend(suspension: Suspension, iteration: number, error: unknown): void {
    if (this.#state === "done") return;
    this.#withheld = [];
    this.#put({ kind: "request_suspended", data: suspension }, iteration);
    this.reject(error);
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

/** What a request waits for is emitted again by each process that takes it over. */
const REPLAYED: ReadonlySet<AgentEvent["kind"]> = new Set(["approval_requested", "answer_requested"]);

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

/** Events that one iteration has still to give. */
interface Reader {
  events: AgentEvent[];
  wake: () => void;
}

/**
 * The events of one request, kept so that whoever iterates late gets all of them. Listening costs the request nothing: what
 * a listener does or throws is its own affair.
 */
export class EventLog {
  readonly #kept: AgentEvent[] = [];
  readonly #readers = new Set<Reader>();
  readonly #keeps: (event: AgentEvent) => boolean;
  /** The sign of life that each call gave last: it stands for those before, so that a long request does not grow by them. */
  readonly #beats = new Map<string, AgentEvent>();
  #closed = false;
  #last: number;

  /** What is not kept is told only to those who iterate already. */
  constructor(firstSeq: number, keeps: (event: AgentEvent) => boolean = () => true) {
    this.#last = firstSeq - 1;
    this.#keeps = keeps;
  }

  /** The seq of the last event. */
  get lastSeq(): number {
    return this.#last;
  }

  has(is: (event: AgentEvent) => boolean): boolean {
    return this.#kept.some(is);
  }

  push(event: AgentEvent): void {
    this.#last = event.seq;
    if (this.#keeps(event)) this.#keep(event);
    for (const { events } of this.#readers) events.push(event);
    this.wake();
  }

  #keep(event: AgentEvent): void {
    this.#kept.push(event);
    if (event.kind !== "keepalive") return;
    const call = `${event.callId} ${event.toolCallId}`;
    const before = this.#beats.get(call);
    if (before !== undefined) this.#kept.splice(this.#kept.lastIndexOf(before), 1);
    this.#beats.set(call, event);
  }

  /** There will be no more. */
  close(): void {
    this.#closed = true;
    this.wake();
  }

  /** Every event from the first on, then those that come; ends with the request, or when it is at rest. */
  async *iterate(isAtRest: () => boolean = () => false): AsyncGenerator<AgentEvent, void> {
    const reader: Reader = { events: [...this.#kept], wake: () => undefined };
    this.#readers.add(reader);
    try {
      for (;;) {
        const { events } = reader;
        reader.events = [];
        if (events.length > 0) for (const event of events) yield event;
        else if (this.#closed || isAtRest()) return;
        else {
          await new Promise<void>((resolve) => {
            reader.wake = resolve;
          });
        }
      }
    } finally {
      this.#readers.delete(reader);
    }
  }

  /** Those who iterate look again. */
  wake(): void {
    for (const { wake } of this.#readers) wake();
  }
}

/** Why a command was not carried out. */
export type ReceiptReason =
  | "idle"
  | "request_mismatch"
  | "empty_content"
  | "queue_full"
  | "closed"
  | "run_failed"
  | "cancelled"
  /** Another process has withdrawn the command. */
  | "withdrawn"
  /** The server was stopped, or it has lost the thread. The message waits for the process that resumes the request. */
  | "suspended";

/** Whether a message reached the request that was running, and at which entry, or why not. */
export type Receipt =
  | { readonly id: string; readonly delivered: true; readonly seq: number }
  | { readonly id: string; readonly delivered: false; readonly reason: ReceiptReason };

/** The answer to `steer`. `receipt` resolves when the message was delivered or dropped, and never rejects. */
export interface SteerAnswer {
  readonly id: string;
  readonly accepted: boolean;
  readonly reason?: ReceiptReason;
  readonly receipt: Promise<Receipt>;
}
