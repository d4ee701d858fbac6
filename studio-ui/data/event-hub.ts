import type { AgentEvent, Entry } from "heddle";
import type { StreamEvent, ThreadRow } from "./contract.ts";
import type { StreamSubscription } from "./source.ts";

const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 5000;

export interface Subscription extends StreamSubscription {
  /** Undefined subscribes to the thread list. */
  readonly threadId: string | undefined;
}

interface Frame {
  readonly threadId: string | undefined;
  readonly event: StreamEvent;
}

/**
 * Shares one event stream among all subscribers, because browsers allow six connections to a host. It uses fetch,
 * because EventSource cannot send the token. After a lost connection, the header `Last-Event-ID` requests the missed
 * events.
 */
export class EventHub {
  readonly #subscriptions = new Set<Subscription>();
  #connection: AbortController | undefined;
  #isOpen = false;
  #lastId: string | undefined;
  #token: string | undefined;

  /** Returns a function that ends the subscription. */
  subscribe(subscription: Subscription, token: string | undefined): () => void {
    this.#token = token;
    this.#subscriptions.add(subscription);
    // A list subscriber needs only new events, so an open stream serves it at once. A thread subscriber needs a new
    // connection, which starts with the thread's row and the events of its running request.
    if (this.#isOpen && subscription.threadId === undefined) subscription.onState("open");
    else {
      subscription.onState("connecting");
      this.#reconnect();
    }
    return () => {
      this.#subscriptions.delete(subscription);
      if (this.#subscriptions.size === 0) this.#disconnect();
    };
  }

  #disconnect(): void {
    this.#connection?.abort();
    this.#connection = undefined;
    this.#isOpen = false;
    this.#lastId = undefined;
  }

  /** Connects in the next microtask, so that several new subscriptions share one connection. */
  #reconnect(): void {
    this.#connection?.abort();
    const connection = new AbortController();
    this.#connection = connection;
    this.#isOpen = false;
    queueMicrotask(() => void this.#run(connection.signal));
  }

  async #run(signal: AbortSignal): Promise<void> {
    let wait = FIRST_WAIT_MS;
    while (!signal.aborted) {
      await this.#read(signal, () => {
        wait = FIRST_WAIT_MS;
      }).catch(() => undefined); // the loop above reconnects after any failure
      if (signal.aborted) return;
      this.#isOpen = false;
      this.#tell("lost");
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(MAX_WAIT_MS, wait * 2);
    }
  }

  async #read(signal: AbortSignal, opened: () => void): Promise<void> {
    const ids = new Set([...this.#subscriptions].flatMap(({ threadId }) => threadId ?? []));
    const query = ids.size === 0 ? "" : `?${new URLSearchParams({ threads: [...ids].join() })}`;
    const response = await fetch(`/api/events${query}`, { headers: this.#headers(), signal, cache: "no-store" });
    if (response.status === 401 || response.status === 403) {
      this.#connection?.abort();
      this.#tell("closed");
      return;
    }
    if (!response.ok || response.body === null) throw new Error(`The stream answered ${response.status}.`);
    opened();
    this.#tell("open", ({ threadId }) => threadId !== undefined);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? "";
      for (const block of blocks) this.#take(block);
    }
  }

  #headers(): { readonly [name: string]: string } {
    return {
      accept: "text/event-stream",
      ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
      ...(this.#lastId !== undefined && { "last-event-id": this.#lastId }),
    };
  }

  #take(block: string): void {
    let name = "message";
    const data: string[] = [];
    for (const line of block.split(/\r?\n/)) {
      const [, field, value = ""] = /^([a-z]+):? ?(.*)$/.exec(line) ?? [];
      if (field === "id") this.#lastId = value;
      else if (field === "event") name = value;
      else if (field === "data") data.push(value);
    }
    if (name === "ready") {
      // From here on, the stream has all changes of the list.
      this.#isOpen = true;
      this.#tell("open", ({ threadId }) => threadId === undefined);
    }
    const frame = data.length === 0 ? undefined : frameOf(name, JSON.parse(data.join("\n")));
    if (frame === undefined) return;
    for (const { threadId, onEvent } of [...this.#subscriptions]) if (threadId === frame.threadId) onEvent(frame.event);
  }

  #tell(state: "open" | "lost" | "closed", isMeant: (subscription: Subscription) => boolean = () => true): void {
    for (const subscription of [...this.#subscriptions].filter(isMeant)) subscription.onState(state);
  }
}

/** Returns the event in the page's type. Undefined for an event name that the page does not know. */
function frameOf(name: string, data: Record<string, unknown>): Frame | undefined {
  const threadId = data["threadId"] as string | undefined; // the server's contract defines the fields of each event
  if (name === "entry") return { threadId, event: { event: name, entry: data["entry"] as Entry } };
  if (name === "agent") return { threadId, event: { event: name, agent: data as unknown as AgentEvent } };
  if (name === "thread") return { threadId, event: { event: name, thread: data as unknown as ThreadRow } };
  return name === "deleted" ? { threadId, event: { event: name, deleted: data as { id: string } } } : undefined;
}
