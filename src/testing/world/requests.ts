import type { AgentEvent } from "../../agent/event.ts";
import { endIn, type RequestEnd } from "../../agent/react/end.ts";
import type { AgentRequest } from "../../runtime/request/request.ts";
import { RequestError } from "../../runtime/request/request-error.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { Acknowledged } from "./acknowledged.ts";
import type { Journal } from "./journal.ts";
import type { WorldLog } from "./log.ts";
import type { SimulatedProcess } from "./process.ts";

const TERMINAL: ReadonlySet<AgentEvent["kind"]> = new Set(["request_completed", "request_failed", "request_cancelled"]);
/** Events without an entry. After a crash they may be emitted again with the same numbers. */
const PASSING: ReadonlySet<AgentEvent["kind"]> = new Set([
  "llm_started",
  "llm_delta",
  "llm_retried",
  "tool_started",
  "keepalive",
  "approval_requested",
  "answer_requested",
  "checkpoint",
  "summary_started",
  "summary_failed",
  "context_cut",
  "request_suspended",
]);

const LAW = "every request ends with exactly one terminal event, which is its last";

/** Follows every request by its events and its result, as a user does. */
export class FollowedRequests {
  readonly #journal: Journal;
  readonly #acknowledged: Acknowledged;
  readonly #followed = new Set<AgentRequest>();
  /** The number of each request's last event that has an entry, from any process. */
  readonly #lastSeq = new Map<string, number>();
  readonly #numbers = new Set<Numbers>();
  readonly counts = { completed: 0, failed: 0, cancelled: 0 };

  constructor(journal: Journal, acknowledged: Acknowledged) {
    this.#journal = journal;
    this.#acknowledged = acknowledged;
  }

  /** Call this when another process writes to the log: events about that have no own write. */
  blur(): void {
    for (const numbers of this.#numbers) numbers.isBlurred = true;
  }

  follow(request: AgentRequest, process: SimulatedProcess): void {
    if (this.#followed.has(request)) return;
    this.#followed.add(request);
    void this.#events(request, process);
  }

  async #events(request: AgentRequest, process: SimulatedProcess): Promise<void> {
    const isOwn = request.id.startsWith(`req_${process.name}_`);
    const numbers = new Numbers(this.#journal, this.#lastSeq, { isOwn, isWhole: process.keepsDeltas });
    this.#numbers.add(numbers);
    let last: AgentEvent | undefined;
    for await (const event of request.events()) {
      if (!process.isAlive) return; // a dead process emits nothing
      if (event.requestId !== request.id)
        this.#journal.broken(LAW, `${request.id} emitted an event of ${event.requestId}`);
      if (last !== undefined && (TERMINAL.has(last.kind) || last.kind === "request_suspended")) {
        this.#journal.broken(LAW, `${request.id} emitted ${event.kind} after ${last.kind}`);
      }
      numbers.take(event);
      last = event;
    }
    const result = await request.result.then(
      () => ({ status: "completed" as const }),
      (error: unknown) => endOf(error),
    );
    if (process.isAlive) this.#ended(request, last, result);
  }

  #ended({ id }: AgentRequest, last: AgentEvent | undefined, end: Ended): void {
    this.#journal.note(`${id} ended: ${end.status} ${end.code ?? ""}`);
    if (end.status === "suspended") {
      if (last !== undefined && last.kind === "request_suspended") return;
      this.#journal.broken(LAW, `${id} was suspended, and its last event is ${last?.kind ?? "none"}`);
      return;
    }
    if (end.status === "unknown" || end.code === "runtime_failed") {
      this.#journal.broken("a request fails for a known reason", `${id}: ${String(end.cause)}`, end.cause);
      return;
    }
    this.counts[end.status] += 1;
    if (last?.kind !== `request_${end.status}`) {
      this.#journal.broken(LAW, `${id} is ${end.status}, and its last event is ${last?.kind ?? "none"}`);
    }
    if (end.status === "failed" && isOfStore(end.code)) return; // a failed write is not in the log
    this.#acknowledged.told(`request ${id} is ${end.status}`, (log) => endIn0(log, id)?.status === end.status);
  }
}

/** How a request ended, according to the log. */
function endIn0({ thread }: WorldLog, requestId: string): RequestEnd | undefined {
  const ends = thread.filterByRef("requestId", requestId).map(({ payload }) => endIn(payload as JsonObject)); // payloads are JSON
  return ends.find((end) => end !== undefined);
}

interface Ended {
  readonly status: "completed" | "failed" | "cancelled" | "suspended" | "unknown";
  readonly code?: string;
  readonly cause?: unknown;
}

function endOf(error: unknown): Ended {
  if (!RequestError.isInstance(error)) return { status: "unknown", cause: error };
  if (error.code === "request_suspended") return { status: "suspended" };
  if (error.code === "request_cancelled") return { status: "cancelled" };
  return { status: "failed", code: error.failure?.code ?? error.code, cause: error };
}

/** Whether a code is a store failure, after which nothing can be written. */
export function isOfStore(code: string | undefined): boolean {
  return (
    code !== undefined && (code.startsWith("store_") || ["stale_holder", "thread_held", "conflict"].includes(code))
  );
}

/** Checks the numbers of one request's events in one process. */
class Numbers {
  readonly #journal: Journal;
  readonly #lastSeq: Map<string, number>;
  #before: number | undefined;
  /** Whether this process got the ask. It then emits events from the start, even if another process has resumed the request. */
  readonly #isOwn: boolean;
  /** Whether all events are received, including deltas from before the listener started. */
  readonly #isWhole: boolean;
  /** After a crash, the last emitted number is unknown until the next recorded model answer. */
  isBlurred = false;

  constructor(
    journal: Journal,
    lastSeq: Map<string, number>,
    { isOwn, isWhole }: { readonly isOwn: boolean; readonly isWhole: boolean },
  ) {
    this.#journal = journal;
    this.#lastSeq = lastSeq;
    this.#isOwn = isOwn;
    this.#isWhole = isWhole;
  }

  take(event: AgentEvent): void {
    const { seq, kind, requestId } = event;
    const law = "the numbers of a request's events grow without a gap, and go on after a crash";
    const emitted = this.#lastSeq.get(requestId) ?? 0;
    const isBeginning = this.#isOwn && kind === "request_started";
    if (this.#before === undefined && seq <= emitted && !isBeginning) {
      this.#journal.broken(law, `${requestId} continued with ${kind} as number ${seq}; ${emitted} was emitted before`);
    }
    const isNext = this.#before === undefined || seq === this.#before + 1 || (seq > this.#before && !this.#isWhole);
    if (!isNext) {
      this.#journal.broken(law, `${requestId} emitted ${kind} as number ${seq} after ${this.#before}`);
    }
    this.#before = seq;
    if (kind === "llm_completed") this.isBlurred = false;
    if (this.isBlurred) return;
    if (!PASSING.has(kind) && !(event.kind === "request_failed" && isOfStore(event.data.failure.code)))
      this.#lastSeq.set(requestId, Math.max(emitted, seq));
  }
}
