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
/** No entry tells of them: they may be told again, under the same numbers, when a process has died in their midst. */
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

/** Follows every request that somebody holds, as a user does: by its events and its result. */
export class FollowedRequests {
  readonly #journal: Journal;
  readonly #acknowledged: Acknowledged;
  readonly #followed = new Set<AgentRequest>();
  /** The number of the last event of a request that was more than a sign of life, whichever process told it. */
  readonly #lastSeq = new Map<string, number>();
  readonly #numbers = new Set<Numbers>();
  readonly counts = { completed: 0, failed: 0, cancelled: 0 };

  constructor(journal: Journal, acknowledged: Acknowledged) {
    this.#journal = journal;
    this.#acknowledged = acknowledged;
  }

  /** Somebody else writes into the log: what is told of that is told without a write of one's own. */
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
      if (!process.isAlive) return; // nobody hears it
      if (event.requestId !== request.id) this.#journal.broken(LAW, `${request.id} tells of ${event.requestId}`);
      if (last !== undefined && (TERMINAL.has(last.kind) || last.kind === "request_suspended")) {
        this.#journal.broken(LAW, `${request.id} told ${event.kind} after ${last.kind}`);
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
    if (end.status === "failed" && isOfStore(end.code)) return; // what could not be written is not in the log
    this.#acknowledged.told(`request ${id} is ${end.status}`, (log) => endIn0(log, id)?.status === end.status);
  }
}

/** How the log says that a request ended. */
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

/** Failures of the store, after which nothing can be written. */
export function isOfStore(code: string | undefined): boolean {
  return (
    code !== undefined && (code.startsWith("store_") || ["stale_holder", "thread_held", "conflict"].includes(code))
  );
}

/** The numbers of one request's events, as one process tells them. */
class Numbers {
  readonly #journal: Journal;
  readonly #lastSeq: Map<string, number>;
  #before: number | undefined;
  /** Whoever was asked tells it from the beginning, also when others have gone on with it before it knew that it may. */
  readonly #isOwn: boolean;
  /** Every event is heard: also deltas that were told before anybody listened. */
  readonly #isWhole: boolean;
  /** Until the next answer of the model, whose number is recorded, it is not known after a crash what was told. */
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
    const told = this.#lastSeq.get(requestId) ?? 0;
    const isBeginning = this.#isOwn && kind === "request_started";
    if (this.#before === undefined && seq <= told && !isBeginning) {
      this.#journal.broken(law, `${requestId} went on with ${kind} as number ${seq}; ${told} was told before`);
    }
    const isNext = this.#before === undefined || seq === this.#before + 1 || (seq > this.#before && !this.#isWhole);
    if (!isNext) {
      this.#journal.broken(law, `${requestId} told ${kind} as number ${seq} after ${this.#before}`);
    }
    this.#before = seq;
    if (kind === "llm_completed") this.isBlurred = false;
    if (this.isBlurred) return;
    if (!PASSING.has(kind) && !(event.kind === "request_failed" && isOfStore(event.data.failure.code)))
      this.#lastSeq.set(requestId, Math.max(told, seq));
  }
}
