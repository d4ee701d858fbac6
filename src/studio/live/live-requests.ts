import type { AgentEvent } from "../../agent/event.ts";
import type { AgentRequest } from "../../runtime/request/request.ts";

/** A request that runs in this process, with its events so far. A late reader starts with the first event. */
interface LiveRequest {
  readonly id: string;
  readonly state: AgentRequest["state"];
  readonly events: readonly AgentEvent[];
}

/**
 * A node in the linked list of a thread's requests. A slow reader follows the links and misses no request. Unreferenced
 * old nodes are garbage collected.
 */
interface RequestNode {
  readonly request?: LiveRequest;
  readonly next?: RequestNode;
}

interface MutableRequestNode extends RequestNode {
  request?: FollowedRequest;
  next?: MutableRequestNode;
}

class FollowedRequest implements LiveRequest {
  readonly events: AgentEvent[] = [];
  request: AgentRequest;
  isFollowed = false;

  constructor(request: AgentRequest) {
    this.request = request;
  }

  get id(): string {
    return this.request.id;
  }

  get state(): AgentRequest["state"] {
    return this.request.state;
  }
}

/** The requests that run in this process, by thread. Each request's events are read once for all connected pages. */
export class LiveRequests {
  /** Notifies when a thread becomes live or stops being live. */
  readonly changes = new ChangeSignal();
  readonly #last = new Map<string, MutableRequestNode>();
  readonly #signals = new Map<string, ChangeSignal>();
  readonly #deleted: string[] = [];

  get(threadId: string): LiveRequest | undefined {
    return this.#last.get(threadId)?.request;
  }

  /** Returns the node where a new reader starts: the running request, or an empty node before the next request. */
  link(threadId: string): RequestNode {
    return this.#linkOf(threadId);
  }

  isLive(threadId: string): boolean {
    const state = this.get(threadId)?.state;
    return state === "running" || state === "waiting";
  }

  /** The ids of threads that this process deleted, in order. */
  get deleted(): readonly string[] {
    return this.#deleted;
  }

  noteDeleted(threadId: string): void {
    this.#deleted.push(threadId);
    this.#notify(threadId);
  }

  /**
   * Collects the events of a request until it ends or waits. Call it again when the request resumes. A duplicate call
   * has no effect.
   */
  attach(threadId: string, request: AgentRequest): void {
    const last = this.#linkOf(threadId);
    const known = last.request;
    const followed = known?.id === request.id ? known : new FollowedRequest(request);
    followed.request = request;
    if (followed !== known) this.#append(threadId, last, { request: followed });
    if (followed.isFollowed) return;
    followed.isFollowed = true;
    void this.#follow(threadId, followed);
    this.#notify(threadId);
  }

  /** Resolves at the next event of the thread's running request, or when a new request starts. */
  async next(threadId: string, signal: AbortSignal): Promise<void> {
    const changed = this.#signals.get(threadId) ?? new ChangeSignal();
    this.#signals.set(threadId, changed);
    await changed.next(signal);
    if (changed.isUnused && this.#signals.get(threadId) === changed) this.#signals.delete(threadId);
  }

  async #follow(threadId: string, followed: FollowedRequest): Promise<void> {
    const { events, request } = followed;
    for await (const event of request.events({ until: "waiting" })) {
      if (event.seq <= (events.at(-1)?.seq ?? 0)) continue; // a resumed request repeats the events from before the wait
      events.push(withoutToken(event));
      this.#signals.get(threadId)?.notify();
    }
    followed.isFollowed = false;
    const last = this.#linkOf(threadId);
    if (request.state !== "waiting" && last.request === followed) this.#append(threadId, last, {});
    this.#notify(threadId);
  }

  #linkOf(threadId: string): MutableRequestNode {
    const link = this.#last.get(threadId) ?? {};
    this.#last.set(threadId, link);
    return link;
  }

  #append(threadId: string, last: MutableRequestNode, next: MutableRequestNode): void {
    last.next = next;
    this.#last.set(threadId, next);
  }

  #notify(threadId: string): void {
    this.#signals.get(threadId)?.notify();
    this.changes.notify();
  }
}

/** Removes the resume token: it gives access to the thread, and the page does not need it. */
function withoutToken(event: AgentEvent): AgentEvent {
  return event.kind === "checkpoint" ? { ...event, data: { ...event.data, token: "" } } : event;
}

/**
 * A signal that can fire many times. Read `count`, then the state, then call `next` with that count. Changes in between
 * are not missed.
 */
export class ChangeSignal {
  readonly #waiting = new Set<() => void>();
  #count = 0;

  /** The number of notifications so far. */
  get count(): number {
    return this.#count;
  }

  /** Whether no caller waits for the next notification. */
  get isUnused(): boolean {
    return this.#waiting.size === 0;
  }

  notify(): void {
    this.#count += 1;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Resolves when `count` is no longer `seen` (default: the current count), or when `signal` is aborted. */
  next(signal: AbortSignal, seen = this.#count): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener("abort", wake);
        this.#waiting.delete(wake);
        resolve();
      };
      if (signal.aborted || this.#count !== seen) return resolve();
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }
}
