import { isAsk } from "../../agent/react/restore.ts";
import type { Signal } from "../../agent/signal.ts";
import { contentOf } from "../../projection/transcript/payload.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import { isInboxRead } from "../live/inbox.ts";
import type { Live } from "../live/live.ts";
import type { Effect, LiveSignal, Work } from "../live/signal.ts";
import { RELEASE_LIMIT_MS } from "../live/stopping.ts";
import { LiveRequest } from "../request/request.ts";
import { isSuspended } from "../request/request-error.ts";
import { retryStore } from "../session/store-retry.ts";
import type { RequestSpan, RequestWork } from "../telemetry/telemetry.ts";
import { pause } from "../timers.ts";
import { callModel } from "./call-model.ts";
import { checkExchange } from "./check-exchange.ts";
import { reportEnd } from "./report-end.ts";
import { runToolCall } from "./run-tool-call.ts";
import type { PerformedCall, Scene, ThreadOptions } from "./scene.ts";
import { summarize } from "./summarize.ts";

interface Opening {
  readonly requestId: string;
  readonly runId: string;
  readonly firstEventSeq: number;
  /** The number of the last event of an earlier handle of the request. */
  readonly before: number;
}

/** The handle of a request, which numbers its events, and its span. */
export function openRequest(
  { ports, holder, telemetry, listen, definition }: ThreadOptions,
  scene: Scene,
  { requestId: id, runId, firstEventSeq, before }: Opening,
): { readonly handle: LiveRequest; readonly span: RequestSpan } {
  const span = telemetry.request({ requestId: id, runId, ...traceOf(scene, id) }, scene);
  const handle = new LiveRequest({
    id,
    runId,
    epoch: holder?.epoch,
    ports,
    captureDeltas: definition.captureDeltas,
    firstEventSeq: Math.max(firstEventSeq, before + 1),
    hold: { isHeld: scene.isHeld, ensure: scene.ensureHeld },
    listen: (event) => {
      span.event(event);
      listen(event);
    },
  });
  return { handle, span };
}

/** The trace of a request, and its ask. */
function traceOf(scene: Scene, requestId: string): Omit<RequestWork, "requestId" | "runId"> {
  const { thread, state } = scene.agent();
  const run = [state.run, state.last?.run].find((one) => one?.requestId === requestId);
  const { asked } = scene.transient(requestId);
  const input = (): Content | undefined => {
    const ask = thread.filterByRef("requestId", requestId, { partial: true }).find(isAsk);
    return ask === undefined || !("content" in ask.payload) ? undefined : contentOf(ask.payload.content);
  };
  return { asked, traceparent: run?.options.traceparent, input };
}

const ABORTED = "The signal of the request was aborted.";

/** Cancels the request when its caller's signal is aborted. */
export function cancelOnAbort(
  request: LiveRequest,
  signal: AbortSignal | undefined,
  send: (signal: Signal) => void,
): void {
  if (signal === undefined) return;
  const cancel = (): void => {
    if (isSuspended(signal)) return;
    request.abort.abort(new Error(ABORTED)); // work that is about to start must not
    send({ type: "cancel", requestId: request.id, reason: ABORTED });
  };
  if (signal.aborted) cancel();
  signal.addEventListener("abort", cancel, { once: true });
  void request.result.catch(() => undefined).then(() => signal.removeEventListener("abort", cancel));
}

/** Calls `notice` for entries that the agent does not have, until the signal is aborted. */
export async function followLog(
  { store, threadId, agent }: Pick<Scene, "store" | "threadId" | "agent">,
  fromSeq: number,
  signal: AbortSignal,
  notice: () => Promise<unknown>,
): Promise<void> {
  for await (const { seq } of store.watch(threadId, { fromSeq, signal })) {
    if (signal.aborted) return;
    if (seq >= agent().thread.rev) await notice();
  }
}

/** The loop of a live thread. */
interface CalledThread {
  readonly options: Pick<ThreadOptions, "ports" | "holder" | "performCall">;
  readonly live: Live;
  /** Aborted when the thread is released. */
  readonly stopped: AbortSignal;
  /** Resolves to the answer to a signal. */
  readonly reply: (signal: (reply: string) => LiveSignal) => Promise<unknown>;
}

/** How long after a failed read the inbox is read again. */
const AGAIN_MS = 1000;

const doNothing = (): void => undefined;

/** Notes when other processes have posted or changed commands of a thread. */
export interface PostedCommands {
  /** From now on the loop reads its inbox then, until it is stopped. */
  readonly readBy: (thread: CalledThread) => void;
  readonly end: () => void;
}

/** Begin before the rows are read for the first time, and call `readBy` after that. */
export function notePosted(store: ThreadStore, threadId: string): PostedCommands {
  let isPosted = false;
  let wake: () => void = doNothing;
  const end = store.onPosted(threadId, () => {
    isPosted = true;
    wake();
  });
  const readBy = (thread: CalledThread): void => {
    const { options, stopped } = thread;
    const { ports, holder } = options;
    const read = async (): Promise<void> => {
      while (isPosted && !stopped.aborted) {
        isPosted = false;
        const rows = await retryStore(ports, () => store.pending(threadId, { signal: stopped }));
        const mayBeDeleted = rows.length === 0 && thread.live.request?.phase === "waiting";
        if (isInboxRead(thread.live, rows) && !mayBeDeleted) continue;
        // The holder of a new claim may have written them. A process that has lost the thread starts nothing.
        holder?.doubt();
        if (await holder?.ensure()) await thread.reply((reply) => ({ type: "look", reply }));
      }
    };
    const begin = (): void => {
      wake = doNothing;
      read().then(done, failed);
    };
    // The command may be the last one.
    const failed = (error: unknown): void => {
      const isAway = HeddleError.isInstance(error) && error.retryable;
      isPosted ||= isAway;
      void (isAway ? pause(ports, AGAIN_MS) : Promise.resolve()).then(done);
    };
    const rest = (): void => {
      wake = begin;
    };
    const done = (): void => {
      rest();
      if (isPosted && !stopped.aborted) begin(); // since the last look
    };
    begin();
    if (stopped.aborted) end();
    else stopped.addEventListener("abort", end, { once: true });
  };
  return { readBy, end };
}

/** The calls of other processes that are performed now. */
export class PerformedCalls {
  readonly #thread: CalledThread;
  /** By the id of the row; with the outcome of a call that could not be written. */
  readonly #calls = new Map<string, PerformedCall | "running">();

  constructor(thread: CalledThread) {
    this.#thread = thread;
  }

  /**
   * Performs a call and writes its outcome. A call that this process could not end stays in the inbox, for the next start. An
   * outcome that could not be written is written when the row is read again.
   */
  async perform({ commandId: id, revision, call }: Extract<Effect, { type: "perform_call" }>): Promise<void> {
    const known = this.#calls.get(id);
    if (known === "running") return; // the rows were read again
    this.#calls.set(id, "running");
    const performed = known ?? (await this.#thread.options.performCall(call));
    this.#calls.delete(id);
    if (performed === undefined) return;
    this.#calls.set(id, performed);
    const consumes = [{ id, outcome: performed.outcome, revision }];
    const write = (reply: string): LiveSignal => {
      const then = [{ type: "settle", reply } as const];
      return { type: "consume", consumes, then, metadata: {} };
    };
    const isWritten = await this.#thread.reply(write).then(
      () => this.#calls.delete(id),
      () => false,
    );
    if (isWritten) performed.after?.();
  }
}

/** The store does not answer a stop. The claim expires, because it is not renewed any more. */
export function leaveClaim({ threadId, holder, warn }: ThreadOptions): void {
  const what = `the store did not answer within ${RELEASE_LIMIT_MS} ms after its server was stopped`;
  warn(`Thread ${threadId}: ${what}. Entries that were not acknowledged may be lost, and its claim expires by itself.`);
  holder?.release().catch(() => undefined);
}

/** A claim that cannot be released expires, so the failure is only a warning and must not fail the stop. */
export async function releaseClaim({ threadId, holder, warn }: ThreadOptions): Promise<void> {
  try {
    await holder?.release();
  } catch (error) {
    const why = HeddleError.isInstance(error) ? error.message : "unexpected error.";
    warn(`Thread ${threadId}: its claim could not be released, and expires by itself: ${why}`);
  }
}

/** The result of work; undefined when it was not started because the process stops. */
interface Worked {
  readonly signal: Signal;
  readonly object?: JsonValue;
  readonly thrown?: { readonly error: unknown; readonly code: string };
}

/** Starts work. Undefined where its request has ended here. */
export function performWork(
  scene: Scene,
  work: Work,
  request: LiveRequest | undefined,
): Promise<Worked | undefined> | undefined {
  switch (work.type) {
    case "summarize":
      return summarize(scene, work, request?.abort.signal);
    case "llm_stream":
      return request && callModel(scene, work, request);
    case "tool_exec":
      return request && runToolCall(scene, work, request);
    case "check":
      return request && checkExchange(scene, work, request);
    case "report_end":
      return reportEnd(scene, work);
    default:
      return work satisfies never;
  }
}
