import { setTimeout as pause } from "node:timers/promises";
import type { AgentEvent, Suspension } from "../agent/event.ts";
import type { WaitingCall } from "../agent/react/agent.ts";
import type { CancelResult, EntryWindow, ThreadDetail, ThreadRow } from "../studio/contract.ts";
import type { Entry } from "../thread/entry.ts";
import { HeddleError } from "../thread/errors.ts";
import { escapeHidden } from "../thread/hidden-characters.ts";
import type { JsonObject, JsonValue } from "../thread/json.ts";
import type { ToolCall } from "../thread/message.ts";
import type { Steering } from "./chat-steering.ts";
import type { CommandCall } from "./command.ts";
import { askForDecision, canAsk, howToDecide } from "./decision-prompt.ts";
import type { Interrupts } from "./interrupts.ts";
import { BrokenPipe, CliError, EXIT } from "./io.ts";
import { contentText, line, type Output } from "./output.ts";
import type { StudioClient } from "./studio-client.ts";
import { messagesIn, pathOf } from "./studio-requests.ts";

const ATTEMPTS = 5;
/** Milliseconds to wait for late events after the log shows the request's end. */
const LATE_MS = 1500;
/** Milliseconds after which an ask that has not begun is looked at: it may wait for its turn. */
const TURN_MS = 500;
const ENDED: ReadonlySet<string | undefined> = new Set(["completed", "failed", "cancelled"]);

interface FollowOptions {
  readonly call: CommandCall;
  readonly client: StudioClient;
  readonly threadId: string;
  readonly interrupts: Interrupts;
  readonly requestId: string;
  /** Starts or resumes the request. It runs after the event stream is open, so that no event is missed. */
  readonly begin: () => Promise<void>;
  /** Text that the user sends to the running request. */
  readonly steering?: Steering | undefined;
}

/** Follows a request to its end, or until it waits for a decision that the user does not give. Returns the exit code. */
export async function follow(options: FollowOptions): Promise<number> {
  const follower = new Follower(options);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const end = await follower.read();
    if (end !== undefined) return end;
  }
  const message = `The event stream of the thread ended ${ATTEMPTS} times. To keep watching: heddle show ${options.threadId} --follow.`;
  throw new CliError({ code: "stream_ended", exit: EXIT.failed, retryable: true, message });
}

class Follower {
  readonly #options: FollowOptions;
  readonly #printer: EventPrinter;
  readonly #decided = new Set<string>();
  readonly #requestId: string;
  #isBegun = false;
  /** Whether it was reported that the ask waits for its turn. */
  #isQueued = false;
  /**
   * Ids of printed events. Sequence numbers are not enough: they can repeat when another process resumes the request.
   */
  readonly #seen = new Set<string>();
  /** Whether the current stream has sent an event of the request. */
  #isHeard = false;
  #loggedStatus: string | undefined;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#requestId = options.requestId;
    this.#printer = new EventPrinter(options.call.out);
  }

  /**
   * Reads one stream to the request's end and returns the exit code. Returns undefined if the connection ends first.
   */
  async read(): Promise<number | undefined> {
    const { client, threadId } = this.#options;
    const ended = new AbortController();
    this.#isHeard = false;
    try {
      const { body } = await client.open(pathOf(threadId, "events"), {}, { signal: ended.signal });
      const early = await this.#begin();
      if (early !== undefined) return early;
      for await (const { event, data } of messagesIn(body ?? new ReadableStream())) {
        const end = await this.#message(event, data, ended);
        if (end !== undefined) return end;
      }
    } catch (error) {
      if (!ended.signal.aborted && (!this.#isBegun || !isBroken(error))) throw error;
    } finally {
      await this.#printer.end();
      ended.abort();
    }
    return this.#loggedStatus === undefined ? undefined : this.#endOfLog(this.#loggedStatus);
  }

  /** Begins the request. Returns an exit code for an ask that left the queue. */
  async #begin(): Promise<number | undefined> {
    if (this.#isBegun) return undefined;
    const { interrupts, begin, steering, call } = this.#options;
    const begun = begin().then(() => true);
    begun.catch(() => undefined); // the loop below gets the error
    try {
      while (!(await Promise.race([begun, pause(TURN_MS, false, { ref: false })]))) {
        const end = await this.#beforeTurn();
        if (end !== undefined) return end;
      }
    } catch (error) {
      const isCancelled = HeddleError.isInstance(error) && error.code === "request_cancelled";
      if (!isCancelled || !interrupts.isInterrupted) throw error;
      const record = { kind: "request_cancelled", requestId: this.#requestId, data: { text: "" } };
      if (call.out.isJson) await this.#printer.data(() => call.out.json(record));
      await this.#printer.line("Cancelled. The ask did not begin.");
      return interrupts.exit;
    }
    this.#isBegun = true;
    steering?.began(this.#requestId);
    interrupts.onCancel(() => this.#cancel());
    return undefined;
  }

  /** The ask waits for its turn. The request before it may wait for a person. */
  async #beforeTurn(): Promise<number | undefined> {
    const { client, threadId, interrupts, call } = this.#options;
    interrupts.onCancel(() => this.#cancel());
    if (interrupts.isInterrupted) {
      await this.#cancel(); // again: the first one may have come before the ask
      return undefined;
    }
    const { request } = await client.get<ThreadDetail>(pathOf(threadId));
    if (request === undefined || request.id === this.#requestId) return undefined;
    if (!this.#isQueued) await call.out.info("The ask waits for its turn: a request is open in this thread.");
    this.#isQueued = true;
    return this.#askPerson(request);
  }

  async #cancel(reason: string | undefined = "interrupted"): Promise<boolean> {
    const { client, threadId } = this.#options;
    const body = { requestId: this.#requestId, reason };
    return (await client.post<CancelResult>(pathOf(threadId, "cancel"), body)).cancelled;
  }

  async #message(event: string, data: string, ended: AbortController): Promise<number | undefined> {
    if (event === "agent") return this.#agentEvent(JSON.parse(data) as AgentEvent); // Studio wrote this event
    if (event === "thread") return this.#row(JSON.parse(data) as ThreadRow, ended); // Studio wrote this event
    return undefined;
  }

  async #agentEvent(event: AgentEvent): Promise<number | undefined> {
    if (event.requestId !== this.#requestId) return undefined;
    this.#isHeard = true;
    if (this.#seen.has(event.id)) return undefined;
    this.#seen.add(event.id);
    await this.#printer.event(event);
    await this.#options.steering?.event(event);
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
    // Reads the thread, because the row may belong to the request before. If another process runs the request, only the
    // log shows its end.
    const { client, threadId } = this.#options;
    const { status, live } = await client.get<ThreadDetail>(pathOf(threadId));
    if (live || !ENDED.has(status)) return undefined;
    this.#loggedStatus = status;
    setTimeout(() => this.#isHeard || ended.abort(), LATE_MS).unref();
    return undefined;
  }

  async #waiting(): Promise<number | undefined> {
    const { client, threadId, interrupts } = this.#options;
    const { request } = await client.get<ThreadDetail>(pathOf(threadId));
    if (request === undefined || request.id !== this.#requestId || interrupts.isInterrupted) return undefined;
    return this.#askPerson(request);
  }

  /** Asks the user to decide on the calls of a request. */
  async #askPerson({ id, waiting }: NonNullable<ThreadDetail["request"]>): Promise<number | undefined> {
    const { call, client, threadId, interrupts } = this.#options;
    const open = waiting.filter(({ toolCallId, kind }) => kind !== "sleep" && !this.#decided.has(toolCallId));
    for (const one of open) {
      await this.#printer.end();
      const isDone =
        canAsk(call.io, call.options) && (await askForDecision({ io: call.io, out: call.out, client, threadId }, one));
      if (!isDone) return interrupts.isInterrupted ? undefined : this.#leaveWaiting(id, open);
      this.#decided.add(one.toolCallId);
    }
    return undefined;
  }

  /** `requestId`: the request that waits. If it is the one before an ask, the ask leaves the queue, unless its turn has come. */
  async #leaveWaiting(requestId: string, waiting: readonly WaitingCall[]): Promise<number | undefined> {
    const { call, threadId } = this.#options;
    const isOther = requestId !== this.#requestId;
    if (isOther && !(await this.#cancel("The request before it waits for a person."))) return undefined;
    const record = { kind: "waiting", threadId, requestId, waiting };
    if (call.out.isJson) await this.#printer.data(() => call.out.json(record));
    if (isOther) await call.out.error("The ask was withdrawn: this thread waits for a decision.");
    for (const one of waiting) await call.out.error(howToDecide(call.out, threadId, one));
    return EXIT.refused;
  }

  async #endOfLog(status: string): Promise<number> {
    const { call, client, threadId } = this.#options;
    const { entries } = await client.get<EntryWindow>(pathOf(threadId, "entries"), { last: 50 });
    const last = entries.findLast((entry) => isAnswerOf(entry, this.#requestId));
    const text = contentText((last?.payload as JsonObject | undefined)?.["content"]); // every entry payload is a JSON object
    const record = { kind: `request_${status}`, requestId: this.#requestId, data: { text } };
    if (call.out.isJson) await this.#printer.data(() => call.out.json(record));
    else if (status === "completed") await this.#printer.data(() => call.out.data(text));
    if (status === "completed") return EXIT.ok;
    return status === "cancelled" ? this.#cancelled() : this.#failed("See why in the log: heddle show.");
  }

  async #failed(message: string): Promise<number> {
    const { out } = this.#options.call;
    await this.#printer.end();
    if (!out.isJson) await out.error(`${out.paintError("red", "failed:")} ${message}`);
    return EXIT.failed;
  }

  async #suspended({ reason, holder }: Suspension): Promise<number> {
    const { call, threadId } = this.#options;
    const { out } = call;
    await this.#printer.end();
    if (out.isJson) return EXIT.suspended;
    const why = {
      store: "The store cannot be reached.",
      lost: `Another process${holder === undefined ? "" : ` (${holder})`} has claimed the thread and will finish the request.`,
      stopped: "The process that ran the request was stopped.",
    }[reason];
    const next = `The request is open in the log. Watch it: heddle show ${threadId} --follow.`;
    await out.error(`${out.paintError("yellow", "suspended:")} ${why} ${next}`);
    return EXIT.suspended;
  }

  async #cancelled(): Promise<number> {
    const { interrupts } = this.#options;
    await this.#printer.line("Cancelled. The thread has the answer so far.");
    return interrupts.isInterrupted ? interrupts.exit : EXIT.failed;
  }
}

function isAnswerOf({ kind, payload, refs }: Entry, requestId: string | undefined): boolean {
  return kind === "ai_message" && refs["requestId"] === requestId && (payload as JsonObject)["role"] === "assistant"; // every entry payload is a JSON object
}

/** Whether the connection was lost, so that the caller should try again. */
function isBroken(error: unknown): boolean {
  return error instanceof TypeError || (CliError.isInstance(error) && error.code === "server_unreachable");
}

/** Prints the events of a request: the answer on stdout as it arrives, tool calls and warnings on stderr. */
class EventPrinter {
  readonly #out: Output;
  #isMidLine = false;
  /** Whether the text of the answer was written as it arrived. */
  #isWritten = false;
  /** The calls of the last answer. */
  #calls: readonly ToolCall[] = [];
  #isClosed = false;

  constructor(out: Output) {
    this.#out = out;
  }

  async event(event: AgentEvent): Promise<void> {
    if (event.kind === "checkpoint") return; // not printed: it is only a resume token
    if (this.#out.isJson) await this.data(() => this.#out.json(event));
    else await this.#print(event);
  }

  /** Writes data to stdout. If the reader closes the pipe, later writes do nothing and the request continues. */
  async data(write: () => Promise<void>): Promise<void> {
    if (this.#isClosed) return;
    try {
      await write();
    } catch (error) {
      if (!(error instanceof BrokenPipe)) throw error;
      this.#isClosed = true;
    }
  }

  async line(text: string): Promise<void> {
    await this.#endLine();
    await this.#out.info(text);
  }

  async end(): Promise<void> {
    await this.#endLine();
  }

  /** Undefined for a call of an answer that another process has printed, or that was edited. */
  #argumentsOf(toolCallId: string): JsonValue | undefined {
    return this.#calls.find(({ id }) => id === toolCallId)?.arguments;
  }

  #shortArguments(toolCallId: string): string {
    const given = this.#argumentsOf(toolCallId);
    return given === undefined ? "" : line(escapeHidden(JSON.stringify(given)), 160);
  }

  async #print(event: AgentEvent): Promise<void> {
    const { paintError: talk } = this.#out;
    switch (event.kind) {
      case "llm_delta":
        if (event.data.type === "text" && event.data.text !== "") {
          await this.#text(event.data.text);
          this.#isWritten = true;
        }
        return;
      case "llm_started":
        this.#isWritten = false;
        return this.#endLine();
      case "llm_retried":
        return this.line(`${talk("yellow", "retry:")} ${event.data.failure.message}`);
      case "llm_completed":
        this.#calls = event.data.toolCalls;
        // Another process runs the request: the log has the whole text only.
        if (!this.#isWritten && event.data.text !== "") await this.#text(event.data.text);
        return;
      case "tool_started":
        return this.line(
          talk(
            "dim",
            `→ ${escapeHidden(JSON.stringify(event.toolName).slice(1, -1))} ${this.#shortArguments(event.toolCallId)}`,
          ),
        );
      case "tool_completed": {
        const text = line(contentText(event.data.content), 160);
        return this.line(event.data.isError ? `${talk("red", "← failed:")} ${text}` : talk("dim", `← ${text}`));
      }
      case "summary_requested":
        return this.line(
          talk("dim", `Waiting for a summary of the entries ${event.data.fromSeq} to ${event.data.toSeq}.`),
        );
      case "summary_completed":
        return this.line(
          talk("dim", `A summary now replaces the entries ${event.data.fromSeq} to ${event.data.toSeq}.`),
        );
      case "summary_failed":
        return this.line(`${talk("yellow", "warning:")} the summary failed: ${event.data.reason}`);
      case "summary_skipped":
        return this.line(
          `${talk("yellow", "warning:")} the entries ${event.data.fromSeq} to ${event.data.toSeq} could not be summarized`,
        );
      case "context_cut":
        return this.line(
          `${talk("yellow", "warning:")} the entries ${event.data.fromSeq} to ${event.data.toSeq} are cut, and no summary covers them`,
        );
      case "request_completed":
        if (event.data.terminationReason !== "final_answer")
          await this.line(`${talk("yellow", "warning:")} ended early: ${event.data.terminationReason}`);
        return;
      default:
        return;
    }
  }

  async #text(text: string): Promise<void> {
    await this.data(() => this.#out.raw(text));
    this.#isMidLine = !text.endsWith("\n");
  }

  async #endLine(): Promise<void> {
    if (this.#isMidLine) await this.data(() => this.#out.raw("\n"));
    this.#isMidLine = false;
  }
}
