import type { AgentEvent } from "../../agent/event.ts";
import type { AgentRequest } from "../../runtime/request/request.ts";
import { Bell } from "./bell.ts";

/** A request of this process, with what it has told so far; whoever comes late reads it from the first event. */
export interface LiveRequest {
  readonly id: string;
  readonly state: AgentRequest["state"];
  readonly events: readonly AgentEvent[];
}

/**
 * A place in the row of requests of a thread. A reader goes from one to the next, so that a slow one misses none; what is
 * over is forgotten with its last reader.
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

/** The requests at work in this process, by thread. Their events are read once, however many pages look. */
export class LiveRequests {
  /** Rings when a thread comes to be live, or no longer is. */
  readonly changes = new Bell();
  readonly #last = new Map<string, MutableLink>();
  readonly #bells = new Map<string, Bell>();
  readonly #deleted: string[] = [];

  get(threadId: string): LiveRequest | undefined {
    return this.#last.get(threadId)?.request;
  }

  /** Where a reader of a thread begins: at the request that is live, or before the next one. */
  link(threadId: string): Link {
    return this.#linkOf(threadId);
  }

  isLive(threadId: string): boolean {
    const state = this.get(threadId)?.state;
    return state === "running" || state === "waiting";
  }

  /** Threads deleted here, in order. */
  get deleted(): readonly string[] {
    return this.#deleted;
  }

  noteDeleted(threadId: string): void {
    this.#deleted.push(threadId);
    this.#ring(threadId);
  }

  /** Follows a request until it ends or waits; again after it has waited. The same one twice is once. */
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

  /** Resolves when the request of a thread tells something, or there is another. */
  async next(threadId: string, signal: AbortSignal): Promise<void> {
    const bell = this.#bells.get(threadId) ?? new Bell();
    this.#bells.set(threadId, bell);
    await bell.next(signal);
    if (bell.isAlone && this.#bells.get(threadId) === bell) this.#bells.delete(threadId);
  }

  async #follow(threadId: string, followed: Followed): Promise<void> {
    const { events, request } = followed;
    for await (const event of request.events({ until: "waiting" })) {
      if (event.seq <= (events.at(-1)?.seq ?? 0)) continue; // told before it waited
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

/** A resume token is a key to the thread; a page has no use for it. */
function withoutToken(event: AgentEvent): AgentEvent {
  return event.kind === "checkpoint" ? { ...event, data: { ...event.data, token: "" } } : event;
}
