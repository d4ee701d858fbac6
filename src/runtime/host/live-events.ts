import type { AgentEvent } from "../../agent/event.ts";
import { type Bus, MAX_MESSAGE_BYTES } from "../../stores/bus.ts";
import type { JsonValue } from "../../thread/json.ts";
import { ignoreErrorsOf } from "../callbacks.ts";
import type { RuntimePorts } from "../ports.ts";
import type { AgentRequest } from "../request/request.ts";
import type { LiveBatch, LiveSource } from "../server/followed-events.ts";
import { Timers } from "../timers.ts";

/** How long events are collected before they are sent. */
const BATCH_MS = 50;
/** How often a process that follows a request repeats that it does. The request may have moved to another process. */
const REPEAT_MS = 3000;
/** A process that has not repeated it for this time gets no more events. */
const EXPIRY_MS = 30_000;
/** The most characters of a text that are sent in one event. As JSON each takes at most 6 bytes. */
const MAX_CHARACTERS = 1000;
/** The most bytes of the events of a message, beside its other fields. */
const MAX_EVENTS_BYTES = MAX_MESSAGE_BYTES - 600;

/** Sent by a process that follows a request, to the process that runs it. */
interface FollowMessage {
  readonly type: "follow";
  /** Names this follower in the answers. */
  readonly to: string;
  readonly threadId: string;
  readonly requestId: string;
}

/** The answer: events that have no entry yet. */
type EventsMessage = { readonly type: "events"; readonly to: string } & LiveBatch;

/** A request that this process runs, and the revision of its thread now. */
interface HeldRequest {
  readonly request: AgentRequest;
  readonly rev: () => number;
}

interface LiveEventsOptions {
  readonly bus: Bus;
  readonly ports: RuntimePorts;
  /** Aborted when the host stops. */
  readonly stopped: AbortSignal;
  /** The request, if this process runs it. */
  readonly held: (threadId: string, requestId: string) => HeldRequest | undefined;
}

/** Passes on the events without an entry, such as the deltas of an answer, from the process that runs a request. */
export class LiveEvents {
  readonly #options: LiveEventsOptions;
  readonly #publish: (message: FollowMessage | EventsMessage) => void;
  /** The followers in other processes that get events, and until when. */
  readonly #served = new Map<string, number>();

  constructor(options: LiveEventsOptions) {
    const { bus, stopped } = options;
    this.#options = options;
    this.#publish = ignoreErrorsOf((message) => bus.publish(message as unknown as JsonValue)); // events are JSON
    stopped.addEventListener(
      "abort",
      this.#subscribe((message) => this.#receive(message)),
      { once: true },
    );
  }

  /** Asks the process that runs the request for its events. */
  follow(threadId: string, requestId: string, listen: (batch: LiveBatch) => void): LiveSource {
    const { ports, stopped } = this.#options;
    const message = { type: "follow", to: ports.ids("live"), threadId, requestId } as const;
    const timers = new Timers(ports, () => ask());
    const unsubscribe = this.#subscribe((answer) => {
      if (answer?.type === "events" && answer.to === message.to) listen(answer);
    });
    const ask = (): void => {
      if (stopped.aborted) return;
      this.#publish(message);
      timers.set({ name: "ask", ms: REPEAT_MS });
    };
    const pause = (): void => timers.clear();
    const stop = (): void => {
      pause();
      unsubscribe();
    };
    return { ask, pause, stop };
  }

  /** Errors of a bus and of its messages harm no request. */
  #subscribe(listen: (message: FollowMessage | EventsMessage | null) => void): () => void {
    const receive = (message: JsonValue): void => listen(message as unknown as FollowMessage | EventsMessage | null); // only hosts send on this bus
    return ignoreErrorsOf(this.#options.bus.subscribe(ignoreErrorsOf(receive)));
  }

  #receive(message: FollowMessage | EventsMessage | null): void {
    if (message?.type !== "follow" || this.#options.stopped.aborted) return;
    const { to, threadId, requestId } = message;
    const held = this.#options.held(threadId, requestId);
    if (held === undefined) return;
    const isServed = this.#served.has(to);
    this.#served.set(to, this.#options.ports.monotonic() + EXPIRY_MS);
    if (!isServed) void this.#serve(to, held).finally(() => this.#served.delete(to));
  }

  async #serve(to: string, { request, rev }: HeldRequest): Promise<void> {
    const { ports, stopped } = this.#options;
    const from = ports.ids("live");
    let batch = EMPTY_BATCH;
    const timers = new Timers(ports, () => {
      const lists = messagesOf(batch.events);
      for (const [index, events] of lists.entries())
        this.#publish({ type: "events", to, from, n: batch.n + index, rev: rev(), events });
      batch = { ...batch, n: batch.n + lists.length, events: [] };
    });
    for await (const event of request.events()) {
      if ((this.#served.get(to) ?? 0) < ports.monotonic() || stopped.aborted) break;
      if (batch.events.length === 0) timers.set({ name: "send", ms: BATCH_MS });
      batch = batchWith(batch, event);
    }
    timers.clear();
  }
}

/** The events to send next. Those of an answer or a result that is in the log by now are dropped. */
interface Batch {
  readonly events: readonly AgentEvent[];
  /** How many messages were sent. */
  readonly n: number;
  /** The seq of the last event. */
  readonly last: number | undefined;
  /** The call of which deltas are missing, because the request does not keep them. */
  readonly incomplete: string | undefined;
}

const EMPTY_BATCH: Batch = { events: [], n: 0, last: undefined, incomplete: undefined };

function batchWith(before: Batch, event: AgentEvent): Batch {
  const { events } = before;
  const { kind, callId, toolCallId, seq } = event;
  const batch = { ...before, last: seq };
  const without = (kinds: readonly AgentEvent["kind"][]): readonly AgentEvent[] =>
    events.filter((other) => !kinds.includes(other.kind) || other.callId !== callId);
  switch (kind) {
    case "llm_started":
      return { ...batch, incomplete: undefined, events: [...events, event] };
    case "llm_retried":
      return { ...batch, incomplete: undefined, events: [...without(["llm_delta", "llm_retried"]), event] };
    case "llm_delta": {
      const isMissing = before.incomplete === callId || (before.last !== undefined && seq !== before.last + 1);
      return isMissing ? { ...batch, incomplete: callId } : { ...batch, events: joined(events, event) };
    }
    case "llm_completed":
      return { ...batch, events: without(["llm_started", "llm_delta", "llm_retried"]) };
    case "tool_completed":
      return { ...batch, events: events.filter((other) => other.callId !== callId || other.toolCallId !== toolCallId) };
    case "tool_started":
    case "tool_output":
    case "tool_data":
    case "keepalive":
      return { ...batch, events: [...events, event] };
    default:
      return batch; // it is in the log, or only for this process
  }
}

/** The events of each message. An event that is too large waits for its entry. */
function messagesOf(events: readonly AgentEvent[]): readonly (readonly AgentEvent[])[] {
  const lists: AgentEvent[][] = [];
  let room = 0;
  for (const event of events.flatMap(pieces)) {
    const bytes = new TextEncoder().encode(JSON.stringify(event)).byteLength + 1;
    if (bytes > MAX_EVENTS_BYTES) continue;
    if (bytes > room) {
      lists.push([]);
      room = MAX_EVENTS_BYTES;
    }
    room -= bytes;
    lists.at(-1)?.push(event);
  }
  return lists;
}

type Delta = Extract<AgentEvent, { kind: "llm_delta" }>;

const isText = ({ data: { type } }: Delta): boolean => type === "text" || type === "thinking" || type === "tool_input";

/** Joins pieces of one text. */
function joined(events: readonly AgentEvent[], event: Delta): readonly AgentEvent[] {
  const last = events.at(-1);
  const isSame =
    last?.kind === "llm_delta" &&
    isText(event) &&
    last.callId === event.callId &&
    last.toolCallId === event.toolCallId &&
    last.data.type === event.data.type &&
    last.data.id === event.data.id;
  if (!isSame) return [...events, event];
  return [...events.slice(0, -1), { ...event, data: { ...event.data, text: last.data.text + event.data.text } }];
}

/** Cuts a long text, between whole characters. */
function pieces(event: AgentEvent): readonly AgentEvent[] {
  if (event.kind !== "llm_delta" || !isText(event)) return [event];
  const { text } = event.data;
  const cut: AgentEvent[] = [];
  for (let at = 0; at < text.length || at === 0; ) {
    const isInPair = /[\uD800-\uDBFF]/.test(text.charAt(at + MAX_CHARACTERS - 1)) && at + MAX_CHARACTERS < text.length;
    const end = at + MAX_CHARACTERS + (isInPair ? 1 : 0);
    cut.push({ ...event, data: { ...event.data, text: text.slice(at, end) } });
    at = end;
  }
  return cut;
}
