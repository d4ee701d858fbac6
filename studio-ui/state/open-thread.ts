import { computed, signal } from "@preact/signals";
import type { AgentEvent, Entry, JsonObject } from "heddle";
import { recordIn } from "../data/calls.ts";
import type { CallDetail, CallPage, CallRow, StreamEvent, ThreadDetail, ThreadRow } from "../data/contract.ts";
import type { LinkState, Source } from "../data/source.ts";
import { EntryLog } from "./entry-log.ts";
import { applyEvent, isResumedBy, type Live, NO_LIVE_REQUEST } from "./live.ts";
import { failed, LOADING, type LoadState } from "./load-state.ts";
import { coalesced } from "./reload.ts";
import { attempt } from "./toasts.ts";

const CALLS = 60;

/** The thread that the page shows. Its event stream keeps it up to date. */
export class OpenThread {
  readonly id: string;
  readonly source: Source;
  readonly log: EntryLog;
  readonly detail = signal<LoadState<ThreadDetail>>(LOADING);
  readonly live = signal<Live | undefined>(undefined);
  readonly link = signal<LinkState>("connecting");
  /** The model calls loaded so far, newest first. */
  readonly calls = signal<LoadState<readonly CallRow[]>>(LOADING);
  readonly hasMoreCalls = signal(false);
  /** The seq where the search for calls stopped. Older entries may contain more calls. */
  readonly callsFrom = signal(0);
  /** Steers (messages to the running request) that were accepted but not delivered yet. */
  readonly steers = signal<
    readonly { readonly id: string; readonly content: string; readonly kind: "steer" | "follow_up" }[]
  >([]);
  /** The kinds of the waits of the open request. */
  readonly waiting = computed(() => {
    const { value: detail } = this.detail;
    const known = detail.state === "there" ? (detail.value.request?.waiting ?? []) : [];
    return this.live.value?.state === "running" ? [] : known.map(({ kind }) => kind);
  });
  readonly isBusy = computed(() => {
    const { value: live } = this.live;
    const { value: detail } = this.detail;
    const request = detail.state === "there" ? detail.value.request : undefined;
    if (live !== undefined && (request === undefined || request.id === live.requestId)) return live.state !== "done";
    return request !== undefined && request.state !== "done";
  });
  readonly #details = new Map<string, Promise<CallDetail>>();
  readonly #stop: () => void;
  #waiting: AgentEvent[] = [];
  /** The id of the last call whose answer is in the log. */
  #said: string | undefined;
  #wasLost = false;

  constructor(source: Source, id: string) {
    this.source = source;
    this.id = id;
    this.log = new EntryLog(source, id);
    this.#stop = source.listen(id, { onEvent: (event) => this.#take(event), onState: (state) => this.#linked(state) });
    void this.refresh();
  }

  close(): void {
    this.#stop();
  }

  async refresh(): Promise<void> {
    await Promise.all([this.refreshDetail(), this.refreshCalls()]);
  }

  readonly refreshDetail = coalesced(async () => {
    const before = this.live.peek();
    try {
      const detail = await this.source.thread(this.id);
      this.log.grow(detail.rev);
      this.detail.value = { state: "there", value: detail };
      // If events arrived while the server was asked, they are newer than its answer.
      const isOld = this.live.peek() === before && before?.state !== "done";
      if (detail.request === undefined && isOld) this.live.value = undefined;
    } catch (error) {
      // A thread that is already shown stays visible. The connection state shows that the server is unreachable.
      if (this.detail.peek().state !== "there") this.detail.value = failed(error);
    }
  });

  readonly refreshCalls = coalesced(async () => {
    try {
      const page = await this.source.calls(this.id, { limit: CALLS });
      const known = this.calls.peek();
      const before = known.state === "there" ? known.value : undefined;
      const oldest = page.calls.at(-1)?.seq ?? Number.POSITIVE_INFINITY;
      // Keeps the older calls that were loaded, unless calls are missing between them and the new page.
      const isJoined = before && (page.calls.length < CALLS || before.some(({ seq }) => seq >= oldest));
      if (!isJoined) this.#callsUpTo(page);
      const older = isJoined ? before.filter(({ seq }) => seq < oldest) : [];
      this.calls.value = { state: "there", value: [...page.calls, ...older] };
    } catch (error) {
      if (this.calls.peek().state !== "there") this.calls.value = failed(error);
    }
  });

  async moreCalls(): Promise<void> {
    const known = this.calls.peek();
    if (known.state !== "there") return;
    const before = this.callsFrom.peek();
    const page = await attempt(() => this.source.calls(this.id, { before, limit: CALLS }));
    if (page === undefined) return;
    this.calls.value = { state: "there", value: [...known.value, ...page.calls] };
    this.#callsUpTo(page);
  }

  #callsUpTo({ calls, searchedTo }: CallPage): void {
    const isFull = calls.length >= CALLS;
    this.callsFrom.value = searchedTo ?? (isFull ? (calls.at(-1)?.seq ?? 0) : 0);
    this.hasMoreCalls.value = this.callsFrom.peek() > 0;
  }

  /** Loads a call once. A past call never changes. */
  callDetail(callId: string): Promise<CallDetail> {
    const known = this.#details.get(callId);
    if (known !== undefined) return known;
    const asked = this.source.call(this.id, callId);
    this.#details.set(callId, asked);
    asked.catch(() => this.#details.delete(callId));
    return asked;
  }

  #linked(state: LinkState): void {
    const wasOpen = this.link.peek() === "open";
    this.link.value = state;
    if (state === "lost") this.#wasLost = true;
    if (state !== "open" || wasOpen) return;
    // The stream repeats the request from its first event. After a crash, event numbers may be lower than before.
    const live = this.live.peek();
    if (this.#wasLost && live !== undefined) this.live.value = { ...live, ...NO_LIVE_REQUEST, eventSeq: 0 };
    this.#wasLost = false;
    // The stream starts now. Data that was loaded before may lack entries.
    void this.refresh();
  }

  #take(event: StreamEvent): void {
    if (event.event === "entry") this.#entry(event.entry);
    else if (event.event === "agent") this.#agent(event.agent);
    else if (event.event === "thread") this.#row(event.thread);
  }

  #entry(entry: Entry): void {
    this.log.take(entry);
    const { callId, signalId } = entry.refs;
    const live = this.live.peek();
    const { role } = entry.payload as JsonObject; // every entry payload is a JSON object
    if (callId !== undefined && role === "assistant") {
      this.#said = String(callId);
      if (live?.callId === callId) this.live.value = { ...live, ...NO_LIVE_REQUEST };
    }
    if (live !== undefined && isResumedBy(live, entry)) {
      this.live.value = undefined;
      void this.refreshDetail();
    }
    if (signalId !== undefined) this.steers.value = this.steers.peek().filter(({ id }) => id !== signalId);
    if (entry.kind === "ai_context_operation") void this.refreshDetail(); // another branch may be shown now
    if (recordIn(entry) !== undefined) void this.refreshCalls();
  }

  /** Collects events and shows them once per frame, because hundreds of text deltas arrive per second. */
  #agent(event: AgentEvent): void {
    this.#waiting.push(event);
    if (this.#waiting.length > 1) return;
    const show = () => {
      const events = this.#waiting;
      this.#waiting = [];
      const live = events.reduce<Live | undefined>(applyEvent, this.live.peek());
      // Deltas can arrive after the log has the finished answer. Their text is not shown again.
      this.live.value =
        live?.callId !== undefined && live.callId === this.#said ? { ...live, ...NO_LIVE_REQUEST } : live;
      const isOver = events.some(
        ({ kind }) => kind.startsWith("request_") || kind.startsWith("approval_") || kind === "answer_requested",
      );
      if (isOver) void this.refreshDetail();
      if (this.live.peek()?.state === "done") this.steers.value = [];
    };
    // A hidden page gets no animation frames.
    if (document.visibilityState === "visible") requestAnimationFrame(show);
    else setTimeout(show, 50);
  }

  #row(row: ThreadRow): void {
    if (row.id !== this.id) return;
    const detail = this.detail.peek();
    this.log.grow(row.rev);
    if (detail.state !== "there") return;
    const before = detail.value;
    this.detail.value = { state: "there", value: { ...before, ...row } };
    // Another process may run the request. This stream does not carry its events.
    if (before.status !== row.status || before.live !== row.live) void this.refreshDetail();
  }
}
