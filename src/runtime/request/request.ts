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
  /** Resolves when the request is done, or waits for an approval or an answer. */
  settled(): Promise<Exclude<RequestState, "running">>;
  /** The text of the model while it is streamed. A retried call (`llm_retried`) streams its text again from the start. */
  readonly textStream: AsyncIterable<string>;
  /** All events from the first on, also if you start late. The last is the terminal event or `request_suspended`. */
  events(options?: EventsOptions): AsyncIterable<AgentEvent>;
}

interface Options {
  readonly id: string;
  readonly runId: string;
  /** The epoch of the claim. Undefined for a thread that only this process can have. */
  readonly epoch: number | undefined;
  readonly ports: RuntimePorts;
  readonly captureDeltas: boolean;
  /** After a crash the numbers continue. */
  readonly firstEventSeq: number;
  readonly listen: (event: AgentEvent) => void;
  readonly hold: Hold;
}

/** The claim of the thread. It is checked before work starts, and before an event without an entry is emitted. */
interface Hold {
  /** Whether no other process can have the thread. */
  readonly isHeld: () => boolean;
  /** The same, after a renewal if the last one is too old. If false, the request is suspended. */
  readonly ensure: () => Promise<boolean>;
}

/** Events without an entry. No append has proven that the thread is held when they are emitted. */
const UNRECORDED: ReadonlySet<EventKind> = new Set([
  "llm_delta",
  "llm_retried",
  "tool_started",
  "tool_output",
  "tool_data",
  "keepalive",
]);

/** A request with the methods that the loop uses. */
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

  /** Whether this event of a call was emitted and is kept. */
  hasTold(event: EventDraft): boolean {
    const { kind, callId, toolCallId } = event;
    const count = questionCount(event);
    return this.#log.has((other) => {
      return (
        other.kind === kind &&
        other.callId === callId &&
        other.toolCallId === toolCallId &&
        questionCount(other) === count
      );
    });
  }

  /**
   * Emits an event, unless the request is done. While another process may have the thread, events without an entry wait. An
   * event with an entry is emitted at once: its append has proven that the thread is held.
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
    // After a crash another event may get the same number, but with another epoch. Replayed events keep their id.
    const { kind, callId, toolCallId } = event;
    const count = questionCount(event);
    const parts = REPLAYED.has(kind) ? [runId, callId, toolCallId, kind, count] : [runId, epoch, seq];
    const id = parts.filter((part) => part !== undefined).join(".");
    const full = { ...event, id, seq, at: ports.clock(), runId, requestId: this.id, iteration };
    const frozen: AgentEvent = Object.freeze(full);
    this.#log.push(frozen);
    listen(frozen);
  }

  /** Ends the request in this process. Events that wait for a renewal are dropped. */
  suspend(suspension: Suspension, iteration: number, error: unknown): void {
    if (this.#state === "done") return;
    this.#withheld = [];
    this.#put({ kind: "request_suspended", data: suspension }, iteration);
    this.reject(error);
  }

  /** Resolves when the request is done, or `isOver` is true at a turn or after an event. */
  async until(isOver: () => boolean): Promise<void> {
    for await (const _event of this.#log.iterate(isOver));
  }

  /** Wakes the readers also in the same state: its calls may be those of other agents now. */
  turn(state: Exclude<RequestState, "done">): void {
    if (this.#state === "done") return;
    const isSame = this.#state === state;
    this.#state = state;
    if (state === "waiting") this.#rest.resolve(state);
    else if (!isSame) this.#rest = Promise.withResolvers();
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

/** How many questions the call of this event has asked. Undefined for other events. */
function questionCount(event: EventDraft): number | undefined {
  return event.kind === "answer_requested" ? event.data.question?.count : undefined;
}

/** Events that each process emits again when it takes over a waiting request. */
const REPLAYED: ReadonlySet<AgentEvent["kind"]> = new Set(["approval_requested", "answer_requested"]);

export async function* textOf(log: EventLog): AsyncGenerator<string, void> {
  let streamed = "";
  for await (const event of log.iterate()) {
    if (event.kind === "llm_started" || event.kind === "llm_retried") streamed = "";
    if (event.kind === "llm_delta" && event.data.type === "text") {
      streamed += event.data.text;
      yield event.data.text;
    }
    // Without streaming there are no deltas.
    if (event.kind === "llm_completed" && streamed === "" && event.data.text !== "") yield event.data.text;
  }
}

/** Events of a call that replace the one before. */
const REPLACED: ReadonlySet<EventKind> = new Set(["keepalive", "tool_output", "tool_data"]);

/** The events that one iteration has not yielded yet. */
interface Reader {
  events: AgentEvent[];
  wake: () => void;
}

/**
 * The events of one request. They are kept, so that a late iteration gets all of them. A slow or failing reader does not
 * affect the request.
 */
export class EventLog {
  readonly #kept: AgentEvent[] = [];
  readonly #readers = new Set<Reader>();
  readonly #keeps: (event: AgentEvent) => boolean;
  /** The last keepalive, output and part of one id of each call. It replaces the earlier ones, so that a long request does not grow. */
  readonly #latest = new Map<string, AgentEvent>();
  #closed = false;
  #last: number;

  /** Events that are not kept go only to running iterations. */
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
    const kept = this.#kept;
    kept.push(event);
    const { kind, callId, toolCallId } = event;
    const isPart = kind === "tool_data";
    if (!REPLACED.has(kind) || (isPart && event.data.id === undefined)) return;
    const part = isPart ? JSON.stringify([event.data.type, event.data.id, event.data.transient]) : kind;
    const key = `${callId} ${toolCallId} ${part}`;
    const before = this.#latest.get(key);
    this.#latest.set(key, event);
    if (before === undefined) return;
    const at = kept.lastIndexOf(before);
    // The first version of a part is kept too, where others follow it: that is its place on the page.
    const place = `place of ${key}`;
    if (isPart && at < kept.length - 2 && !this.#latest.has(place)) this.#latest.set(place, before);
    else kept.splice(at, 1);
  }

  /** No event follows. */
  close(): void {
    this.#closed = true;
    this.wake();
  }

  /** Yields every event from the first on. Ends with the request, or when `isAtRest` is true after the last event. */
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

  /** Has all iterations check for new events. */
  wake(): void {
    for (const { wake } of this.#readers) wake();
  }
}

/** Why a message was not delivered. */
export type ReceiptReason =
  | "idle"
  | "request_mismatch"
  | "empty_content"
  | "queue_full"
  /** It does not fit into the context beside the ask, the system prompt and the tools. */
  | "pending_overflow"
  | "closed"
  | "run_failed"
  | "cancelled"
  /** A newer message with the same key has replaced it. */
  | "replaced"
  /** Another process has withdrawn the command. */
  | "withdrawn"
  /** The server was stopped, or it has lost the thread. The message waits for the process that resumes the request. */
  | "suspended";

/** Whether a message was delivered to the running request, with the seq of its entry or a reason. */
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
