import type { AgentEvent } from "../../agent/event.ts";

/** Events that one iteration has still to give. */
interface Reader {
  readonly events: AgentEvent[];
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
        const events = reader.events.splice(0);
        if (events.length > 0) yield* events;
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
