import type { AgentEvent } from "../../agent/event.ts";
import type { AgentRequest } from "../../runtime/request/request.ts";
import { Bell } from "./bell.ts";

/** A request of this process with its events so far. A late reader starts with the first event. */
export interface LiveRequest {
  readonly id: string;
  readonly state: AgentRequest["state"];
  readonly events: readonly AgentEvent[];
}

/**
 * A node of the linked list of requests of a thread. Readers follow the links, so that a slow reader misses no request. Old
 * nodes are garbage collected after their last reader has moved on.
 */
export interface Link {
  readonly request?: LiveRequest;
  readonly next?: Link;
}

interface MutableLink extends Link {
  request?: Followed;
  next?: MutableLink;
}

class Followed implements LiveRequest {
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

/** The live requests of this process, by thread. Their events are read once for all open pages. */
export class LiveRequests {
  /** Rings when a thread becomes live or stops being live. */
  readonly changes = new Bell();
  readonly #last = new Map<string, MutableLink>();
  readonly #bells = new Map<string, Bell>();
  readonly #deleted: string[] = [];

  get(threadId: string): LiveRequest | undefined {
    return this.#last.get(threadId)?.request;
  }

  /** The node where a new reader starts: that of the live request, or the one before the next request. */
  link(threadId: string): Link {
    return this.#linkOf(threadId);
  }

  isLive(threadId: string): boolean {
    const state = this.get(threadId)?.state;
    return state === "running" || state === "waiting";
  }

  /** Threads deleted by this process, in order. */
  get deleted(): readonly string[] {
    return this.#deleted;
  }

  noteDeleted(threadId: string): void {
    this.#deleted.push(threadId);
    this.#ring(threadId);
  }

  /** Follows a request until it ends or waits. Call it again when the request resumes; a second call in between does nothing. */
  attach(threadId: string, request: AgentRequest): void {
    const last = this.#linkOf(threadId);
    const known = last.request;
    const followed = known?.id === request.id ? known : new Followed(request);
    followed.request = request;
    if (followed !== known) this.#append(threadId, last, { request: followed });
    if (followed.isFollowed) return;
    followed.isFollowed = true;
    void this.#follow(threadId, followed);
    this.#ring(threadId);
  }

  /** Resolves at the next event of the thread's request, or when there is another request. */
  async next(threadId: string, signal: AbortSignal): Promise<void> {
    const bell = this.#bells.get(threadId) ?? new Bell();
    this.#bells.set(threadId, bell);
    await bell.next(signal);
    if (bell.isAlone && this.#bells.get(threadId) === bell) this.#bells.delete(threadId);
  }

  async #follow(threadId: string, followed: Followed): Promise<void> {
    const { events, request } = followed;
    for await (const event of request.events({ until: "waiting" })) {
      if (event.seq <= (events.at(-1)?.seq ?? 0)) continue; // emitted already, before the request waited
      events.push(withoutToken(event));
      this.#bells.get(threadId)?.ring();
    }
    followed.isFollowed = false;
    const last = this.#linkOf(threadId);
    if (request.state !== "waiting" && last.request === followed) this.#append(threadId, last, {});
    this.#ring(threadId);
  }

  #linkOf(threadId: string): MutableLink {
    const link = this.#last.get(threadId) ?? {};
    this.#last.set(threadId, link);
    return link;
  }

  #append(threadId: string, last: MutableLink, next: MutableLink): void {
    last.next = next;
    this.#last.set(threadId, next);
  }

  #ring(threadId: string): void {
    this.#bells.get(threadId)?.ring();
    this.changes.ring();
  }
}

/** Removes the resume token: it gives access to the thread, and the page does not need it. */
function withoutToken(event: AgentEvent): AgentEvent {
  return event.kind === "checkpoint" ? { ...event, data: { ...event.data, token: "" } } : event;
}
