import type { AgentEvent } from "../../agent/event.ts";
import { type RequestEnd, readRequestEnd } from "../../agent/react/state.ts";
import type { AgentRequest } from "../../runtime/request/request.ts";
import { RequestError } from "../../runtime/request/request-error.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { Journal } from "./journal.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { AcknowledgedWrites, SimulationLog } from "./simulation-log.ts";

const TERMINAL: ReadonlySet<AgentEvent["kind"]> = new Set(["request_completed", "request_failed", "request_cancelled"]);
/** Events that write no entry. After a crash they may be emitted again with the same numbers. */
const PASSING: ReadonlySet<AgentEvent["kind"]> = new Set([
  "llm_started",
  "llm_delta",
  "llm_retried",
  "tool_started",
  "tool_output",
  "tool_data",
  "keepalive",
  "approval_requested",
  "answer_requested",
  "checkpoint",
  "summary_started",
  "summary_requested",
  "summary_failed",
  "context_cut",
  "request_suspended",
]);

const LAW = "every request ends with exactly one terminal event, which is its last";

/** Follows every request by its events and its result, as a user does. */
export class FollowedRequests {
  readonly #journal: Journal;
  readonly #acknowledged: AcknowledgedWrites;
  readonly #followed = new Set<AgentRequest>();
  /** For each request, the number of its last event with an entry, from any process. */
  readonly #lastSeq = new Map<string, number>();
  readonly #numbers = new Set<EventNumbers>();
  readonly counts = { completed: 0, failed: 0, cancelled: 0 };

  constructor(journal: Journal, acknowledged: AcknowledgedWrites) {
    this.#journal = journal;
    this.#acknowledged = acknowledged;
  }

  /**
   * Call this when another process writes to the log. This process emits events about that write, but does not write
   * itself.
   */
  expectForeignWrite(): void {
    for (const numbers of this.#numbers) numbers.isUncertain = true;
  }

  follow(request: AgentRequest, process: SimulatedProcess): void {
    if (this.#followed.has(request)) return;
    this.#followed.add(request);
    void this.#events(request, process);
  }

  async #events(request: AgentRequest, process: SimulatedProcess): Promise<void> {
    const isOwn = request.id.startsWith(`req_${process.name}_`);
    const numbers = new EventNumbers(this.#journal, this.#lastSeq, { isOwn, isWhole: process.keepsDeltas });
    this.#numbers.add(numbers);
    let last: AgentEvent | undefined;
    for await (const event of request.events()) {
      if (!process.isAlive) return; // a killed process emits no events
      if (event.requestId !== request.id)
        this.#journal.reportViolation(LAW, `${request.id} emitted an event of ${event.requestId}`);
      if (last !== undefined && (TERMINAL.has(last.kind) || last.kind === "request_suspended")) {
        this.#journal.reportViolation(LAW, `${request.id} emitted ${event.kind} after ${last.kind}`);
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

  #ended({ id }: AgentRequest, last: AgentEvent | undefined, end: ObservedEnd): void {
    this.#journal.note(`${id} ended: ${end.status} ${end.code ?? ""}`);
    if (end.status === "suspended") {
      if (last !== undefined && last.kind === "request_suspended") return;
      this.#journal.reportViolation(LAW, `${id} was suspended, and its last event is ${last?.kind ?? "none"}`);
      return;
    }
    if (end.status === "unknown" || end.code === "runtime_failed") {
      this.#journal.reportViolation("a request fails for a known reason", `${id}: ${String(end.cause)}`, end.cause);
      return;
    }
    this.counts[end.status] += 1;
    if (last?.kind !== `request_${end.status}`) {
      this.#journal.reportViolation(LAW, `${id} is ${end.status}, and its last event is ${last?.kind ?? "none"}`);
    }
    if (end.status === "failed" && isOfStore(end.code)) return; // the log has no entry of a failed write, so there is nothing to compare
    this.#acknowledged.add(`request ${id} is ${end.status}`, (log) => endInLog(log, id)?.status === end.status);
  }
}

/** Returns how a request ended, according to the log. */
function endInLog({ thread }: SimulationLog, requestId: string): RequestEnd | undefined {
  const ends = thread.filterByRef("requestId", requestId).map(({ payload }) => readRequestEnd(payload as JsonObject)); // every entry payload is a JSON object
  return ends.find((end) => end !== undefined);
}

interface ObservedEnd {
  readonly status: "completed" | "failed" | "cancelled" | "suspended" | "unknown";
  readonly code?: string;
  readonly cause?: unknown;
}

function endOf(error: unknown): ObservedEnd {
  if (!RequestError.isInstance(error)) return { status: "unknown", cause: error };
  if (error.code === "request_suspended") return { status: "suspended" };
  if (error.code === "request_cancelled") return { status: "cancelled" };
  return { status: "failed", code: error.failure?.code ?? error.code, cause: error };
}

/** Whether an error code means that the store failed. Nothing can be written after that. */
export function isOfStore(code: string | undefined): boolean {
  return (
    code !== undefined && (code.startsWith("store_") || ["stale_holder", "thread_held", "conflict"].includes(code))
  );
}

/** Checks that the events of one request in one process are numbered without gaps. */
class EventNumbers {
  readonly #journal: Journal;
  readonly #lastSeq: Map<string, number>;
  #before: number | undefined;
  /**
   * Whether this process accepted the request. It then emits events from the start, even if another process resumes the
   * request.
   */
  readonly #isOwn: boolean;
  /** Whether the listener gets all events, including text deltas from before it started. */
  readonly #isWhole: boolean;
  /** Whether the last emitted number is unknown. It is after a crash, until the next recorded model answer. */
  isUncertain = false;

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
      this.#journal.reportViolation(
        law,
        `${requestId} continued with ${kind} as number ${seq}; ${emitted} was emitted before`,
      );
    }
    const isNext = this.#before === undefined || seq === this.#before + 1 || (seq > this.#before && !this.#isWhole);
    if (!isNext) {
      this.#journal.reportViolation(law, `${requestId} emitted ${kind} as number ${seq} after ${this.#before}`);
    }
    this.#before = seq;
    if (kind === "llm_completed") this.isUncertain = false;
    if (this.isUncertain) return;
    if (!PASSING.has(kind) && !(event.kind === "request_failed" && isOfStore(event.data.failure.code)))
      this.#lastSeq.set(requestId, Math.max(emitted, seq));
  }
}
