import type { AgentEvent, Suspension } from "../agent/event.ts";
import type { WaitingCall } from "../agent/react/waiting.ts";
import type { Entry } from "../thread/entry.ts";
import type { JsonObject } from "../thread/json.ts";
import type { EntriesWindow, ThreadDetail, ThreadRow } from "./answers.ts";
import { pathOf } from "./calls.ts";
import type { Call } from "./command.ts";
import { canAsk, decided, howToDecide } from "./decide.ts";
import { CliError, EXIT } from "./exit.ts";
import type { Interrupts } from "./interrupts.ts";
import type { Place } from "./place.ts";
import { messagesIn } from "./sse.ts";
import type { Steering } from "./steering.ts";
import { Telling } from "./telling.ts";
import { contentText } from "./text.ts";

const ATTEMPTS = 5;
/** How long to wait for late events of a request that has ended in the log. */
const LATE_MS = 1500;
const ENDED: ReadonlySet<string | undefined> = new Set(["completed", "failed", "cancelled"]);

interface Following {
  readonly call: Call;
  readonly place: Place;
  readonly threadId: string;
  readonly interrupts: Interrupts;
  /** Starts or resumes the request and returns its id. Called after the event stream is open, so that no event is missed. */
  readonly begin: () => Promise<string>;
  /** Text that the user sends to the running request. */
  readonly steering?: Steering | undefined;
}

/** Follows a request to its end, or until it waits for a decision that the user does not give. Returns the exit code. */
export async function follow(following: Following): Promise<number> {
  const follower = new Follower(following);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const end = await follower.read();
    if (end !== undefined) return end;
  }
  const message = `The event stream of the thread ended ${ATTEMPTS} times. To keep watching: heddle show ${following.threadId} --follow.`;
  throw new CliError({ code: "stream_ended", exit: EXIT.failed, retryable: true, message });
}

class Follower {
  readonly #following: Following;
  readonly #telling: Telling;
  readonly #decided = new Set<string>();
  #requestId: string | undefined;
  /** Event ids, because a sequence number can repeat when another process resumes the request. */
  readonly #seen = new Set<string>();
  /** Whether the current stream has brought an event of the request. */
  #isHeard = false;
  #loggedStatus: string | undefined;

  constructor(following: Following) {
    this.#following = following;
    this.#telling = new Telling(following.call.out);
  }

  /** Reads one stream. Returns undefined when the connection ends before the request. */
  async read(): Promise<number | undefined> {
    const { place, threadId } = this.#following;
    const ended = new AbortController();
    this.#isHeard = false;
    try {
      const { body } = await place.open(pathOf(threadId, "events"), {}, { signal: ended.signal });
      await this.#begin();
      for await (const { event, data } of messagesIn(body ?? new ReadableStream())) {
        const end = await this.#told(event, data, ended);
        if (end !== undefined) return end;
      }
    } catch (error) {
      if (!ended.signal.aborted && (this.#requestId === undefined || !isBroken(error))) throw error;
    } finally {
      await this.#telling.end();
      ended.abort();
    }
    return this.#loggedStatus === undefined ? undefined : this.#endOfLog(this.#loggedStatus);
  }

  async #begin(): Promise<void> {
    if (this.#requestId !== undefined) return;
    const { place, threadId, interrupts, begin } = this.#following;
    const requestId = await begin();
    this.#requestId = requestId;
    this.#following.steering?.began(requestId);
    interrupts.onCancel(() => place.post(pathOf(threadId, "cancel"), { requestId, reason: "interrupted" }));
  }

  async #told(event: string, data: string, ended: AbortController): Promise<number | undefined> {
    if (event === "agent") return this.#agentEvent(JSON.parse(data) as AgentEvent); // written by Studio
    if (event === "thread") return this.#row(JSON.parse(data) as ThreadRow, ended); // written by Studio
    return undefined;
  }

  async #agentEvent(event: AgentEvent): Promise<number | undefined> {
    if (event.requestId !== this.#requestId) return undefined;
    this.#isHeard = true;
    if (this.#seen.has(event.id)) return undefined;
    this.#seen.add(event.id);
    await this.#telling.event(event);
    await this.#following.steering?.event(event);
    switch (event.kind) {
      case "request_completed":
        return EXIT.ok;
      case "request_failed":
        return this.#failed(event.data.failure.message);
      case "request_cancelled":
        return this.#cancelled();
      case "request_suspended":
        return this.#suspended(event.data);
      default:
        return undefined;
    }
  }

  async #row(row: ThreadRow, ended: AbortController): Promise<number | undefined> {
    if (row.status === "waiting") return this.#waiting();
    if (this.#isHeard || this.#loggedStatus !== undefined || row.live || !ENDED.has(row.status)) return undefined;
    // Another process may run the request, so that only the log has its end. Or the row belongs to the request before.
    const { place, threadId } = this.#following;
    const { status, live } = await place.get<ThreadDetail>(pathOf(threadId));
    if (live || !ENDED.has(status)) return undefined;
    this.#loggedStatus = status;
    setTimeout(() => this.#isHeard || ended.abort(), LATE_MS).unref();
    return undefined;
  }

  async #waiting(): Promise<number | undefined> {
    const { call, place, threadId, interrupts } = this.#following;
    const { request } = await place.get<ThreadDetail>(pathOf(threadId));
    if (request === undefined || request.id !== this.#requestId || interrupts.isAsked) return undefined;
    const open = request.waiting.filter(({ toolCallId }) => !this.#decided.has(toolCallId));
    for (const one of open) {
      await this.#telling.end();
      const isDone =
        canAsk(call.io, call.options) && (await decided({ io: call.io, out: call.out, place, threadId }, one));
      if (!isDone) return interrupts.isAsked ? undefined : this.#left(open);
      this.#decided.add(one.toolCallId);
    }
    return undefined;
  }

  async #left(waiting: readonly WaitingCall[]): Promise<number> {
    const { call, threadId } = this.#following;
    const told = { kind: "waiting", threadId, requestId: this.#requestId, waiting };
    if (call.out.isJson) await this.#telling.data(() => call.out.json(told));
    for (const one of waiting) await call.out.error(howToDecide(threadId, one));
    return EXIT.refused;
  }

  async #endOfLog(status: string): Promise<number> {
    const { call, place, threadId } = this.#following;
    const { entries } = await place.get<EntriesWindow>(pathOf(threadId, "entries"), { last: 50 });
    const last = entries.findLast((entry) => isAnswerOf(entry, this.#requestId));
    const text = contentText((last?.payload as JsonObject | undefined)?.["content"]); // payloads are JSON
    const told = { kind: `request_${status}`, requestId: this.#requestId, data: { text } };
    if (call.out.isJson) await this.#telling.data(() => call.out.json(told));
    else if (status === "completed") await this.#telling.data(() => call.out.data(text));
    if (status === "completed") return EXIT.ok;
    return status === "cancelled" ? this.#cancelled() : this.#failed("See why in the log: heddle show.");
  }

  async #failed(message: string): Promise<number> {
    const { out } = this.#following.call;
    await this.#telling.end();
    if (!out.isJson) await out.error(`${out.talk("red", "failed:")} ${message}`);
    return EXIT.failed;
  }

  async #suspended({ reason, holder }: Suspension): Promise<number> {
    const { call, threadId } = this.#following;
    const { out } = call;
    await this.#telling.end();
    if (out.isJson) return EXIT.suspended;
    const why = {
      store: "The store cannot be reached.",
      lost: `Another process${holder === undefined ? "" : ` (${holder})`} has claimed the thread and will finish the request.`,
      stopped: "The process that ran the request was stopped.",
    }[reason];
    const next = `The request is open in the log. Watch it: heddle show ${threadId} --follow.`;
    await out.error(`${out.talk("yellow", "suspended:")} ${why} ${next}`);
    return EXIT.suspended;
  }

  async #cancelled(): Promise<number> {
    const { interrupts } = this.#following;
    await this.#telling.line("Cancelled. The thread has the answer so far.");
    return interrupts.isAsked ? interrupts.exit : EXIT.failed;
  }
}

function isAnswerOf({ kind, payload, refs }: Entry, requestId: string | undefined): boolean {
  return kind === "ai_message" && refs["requestId"] === requestId && (payload as JsonObject)["role"] === "assistant"; // payloads are JSON
}

/** Whether the connection was lost, so that another attempt can work. */
function isBroken(error: unknown): boolean {
  return error instanceof TypeError || (CliError.isInstance(error) && error.code === "server_unreachable");
}
