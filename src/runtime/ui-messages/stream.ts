import type { AgentEvent } from "../../agent/event.ts";
import type { Failure } from "../../agent/signal.ts";
import { ignoreRejection } from "../../thread/errors.ts";
import { heartbeats, STILL_HERE } from "../heartbeat.ts";
import { checkStreamOptions } from "../option-names.ts";
import { systemRuntimePorts } from "../ports.ts";
import { failureOf, RequestError } from "../request/request-error.ts";
import type { UIChunk, UIChunk6 } from "./message.ts";
import { isClient6, STREAM_OPTIONS, type UIMessageSource, type UIMessageStreamOptions } from "./options.ts";
import { requestMetadata } from "./request-metadata.ts";
import { READS_THREAD, Translator } from "./translator.ts";

/**
 * A request as the stream that `useChat` and `readUIMessageStream` of the AI SDK read, from its first event. It ends
 * when the request ends or waits for an approval or an answer. When the server stops first, it ends without `finish`, `error`
 * or `abort`: the page connects again. A reader that leaves does not cancel the request.
 *
 * @example
 * const server = await AgentServer.start({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
 * const stream = uiMessageStream(await server.ask("What's 2+2?"));
 * for await (const chunk of stream) if (chunk.type === "text-delta") console.log(chunk.delta); // 4
 * await server.stop();
 */
export function uiMessageStream(
  source: UIMessageSource,
  options: UIMessageStreamOptions & { readonly client: 6 },
): ReadableStream<UIChunk6>;
export function uiMessageStream(source: UIMessageSource, options?: UIMessageStreamOptions): ReadableStream<UIChunk>;
export function uiMessageStream(
  source: UIMessageSource,
  options: UIMessageStreamOptions = {},
): ReadableStream<UIChunk | UIChunk6> {
  checkStreamOptions("uiMessageStream", options, STREAM_OPTIONS);
  const chunks = chunksOf(source, options);
  return new ReadableStream<UIChunk | UIChunk6>({
    async pull(controller) {
      for (;;) {
        const { done, value } = await chunks.next();
        if (done) return controller.close();
        const shown = value.list.filter((chunk) => chunk !== "keepalive");
        for (const chunk of shown) controller.enqueue(chunk);
        if (shown.length > 0) return;
      }
    },
    cancel() {
      void chunks.return(undefined); // ends after the next event; no caller waits for that
    },
  });
}

const ENDS: ReadonlySet<UIChunk["type"]> = new Set(["error", "abort", "finish"]);
const TERMINAL: ReadonlySet<AgentEvent["kind"]> = new Set(["request_completed", "request_failed", "request_cancelled"]);
/** The process no longer runs the request, which is open. */
const INTERRUPTED = "request_suspended";

/** The chunks of one event. They are passed on as a list, because each step of an asynchronous iterator costs time. */
interface Chunks<Chunk> {
  readonly list: readonly (Chunk | "keepalive")[];
  /** The event, if the list is a part of a text or of thinking and nothing else. */
  readonly delta?: AgentEvent | undefined;
  /** The position of the step that begins in the list. */
  readonly id?: string | undefined;
}

/** The chunks of a request for the page's version, in lists that are not empty. `keepalive` means that a tool runs. */
function chunksOf(
  source: UIMessageSource,
  options: UIMessageStreamOptions,
): AsyncGenerator<Chunks<UIChunk | UIChunk6>, typeof INTERRUPTED | undefined> {
  if (options.metadata !== undefined && options.thread === undefined) throw noThread();
  return chunksFor(isClient6(options.client) ? new Client6Chunks() : undefined, source, options);
}

async function* chunksFor(
  client: Client6Chunks | undefined,
  source: UIMessageSource,
  options: UIMessageStreamOptions,
): AsyncGenerator<Chunks<UIChunk | UIChunk6>, typeof INTERRUPTED | undefined> {
  const { messageId = source.id, after = 0, lastEventId } = options;
  const from = stepIn(lastEventId, messageId);
  const forClient = (list: Chunks<UIChunk>["list"]): Chunks<UIChunk | UIChunk6>["list"] =>
    client === undefined
      ? list
      : list.flatMap<UIChunk6 | "keepalive">((chunk) => (chunk === "keepalive" ? chunk : client.rewrite(chunk)));
  const translator = new Translator(options);
  yield { list: forClient([{ type: "start", messageId }]), ...(from >= 0 && { id: positionOf(messageId, from) }) };
  let isOver = false;
  let begun = 0;
  let isNew = false;
  for await (const event of source.events({ until: "waiting" })) {
    const thread = READS_THREAD.has(event.kind) ? await options.thread?.() : undefined;
    if (event.kind === INTERRUPTED) return INTERRUPTED;
    const chunks = translator.take(event, thread);
    isOver = TERMINAL.has(event.kind);
    const isStep = chunks.some(({ type }) => type === "start-step");
    if (isStep) begun += 1;
    if (event.seq <= after) continue;
    const given = addedTo(event, options);
    const empty = isOver && after > 0 && !isNew ? emptyStep(messageId) : NOTHING;
    isNew = true;
    const added = isOver ? [...empty, ...given, ...(await ownMetadata(source.id, options))] : given;
    // Clients read nothing after an error or the end.
    const end = isOver ? chunks.findIndex(({ type }) => ENDS.has(type)) : chunks.length;
    const all = added.length === 0 ? chunks : [...chunks.slice(0, end), ...added, ...chunks.slice(end)];
    const shown = begun > from ? all : all.filter(({ type }) => ENDS.has(type));
    const list = forClient(event.kind === "keepalive" ? [...shown, "keepalive"] : shown);
    const delta = event.kind === "llm_delta" && list.length === 1 ? event : undefined;
    if (list.length > 0) yield { list, delta, id: isStep ? positionOf(messageId, begun - 1) : undefined };
  }
  if (isOver) return undefined;
  const failure = await failureIn(source);
  if (failure?.code === INTERRUPTED) return INTERRUPTED;
  const last = forClient(failure === undefined ? translator.rest(await options.thread?.()) : translator.fail(failure));
  if (last.length > 0) yield { list: last };
  return undefined;
}

const NOTHING: readonly UIChunk[] = [];

/**
 * A page that has all of the answer may send it again by itself while its last step has calls. So it gets one without. It shows
 * a step at the next chunk that has an id.
 */
function emptyStep(messageId: string): readonly UIChunk[] {
  return [{ type: "start-step" }, { type: "start", messageId }, { type: "finish-step" }];
}

/** The position of a step in an answer, which is the same in every process: a step follows when the one before is in the log. */
function positionOf(messageId: string, step: number): string {
  return `${encodeURIComponent(messageId)}/${step}`;
}

/** The number of the step that a page was in, or -1. */
function stepIn(lastEventId: string | null | undefined, messageId: string): number {
  const [id, step = ""] = lastEventId?.split("/") ?? [];
  return id === encodeURIComponent(messageId) && /^\d{1,9}$/.test(step) ? Number(step) : -1;
}

function addedTo(event: AgentEvent, { data, messageMetadata }: UIMessageStreamOptions): readonly UIChunk[] {
  if (data === undefined && messageMetadata === undefined) return NOTHING;
  const given = data?.(event);
  const parts = given === undefined ? [] : "type" in given ? [given] : given;
  const metadata = messageMetadata?.(event);
  ignoreRejection(given);
  ignoreRejection(metadata);
  if (parts.length === 0 && metadata === undefined) return NOTHING;
  return [
    ...parts,
    ...(metadata === undefined ? [] : [{ type: "message-metadata", messageMetadata: metadata } as const]),
  ];
}

/** The metadata of an ended request, as `toUIMessages` also makes it. */
async function ownMetadata(id: string, { metadata, thread }: UIMessageStreamOptions): Promise<readonly UIChunk[]> {
  if (metadata === undefined || thread === undefined) return NOTHING;
  const messageMetadata = requestMetadata(await thread(), id, metadata);
  return messageMetadata === undefined ? NOTHING : [{ type: "message-metadata", messageMetadata }];
}

function noThread(): RequestError {
  const message = "`metadata` needs `thread`, which reads the log of the request. Pass what chatTurn returned.";
  return new RequestError({ code: "invalid_options", message });
}

const NO_MORE_EVENTS = { code: "request_interrupted", message: "The events of the request ended before its result." };

/** The reason why the events end before the request. */
async function failureIn(source: UIMessageSource): Promise<Failure | undefined> {
  if (source.state !== "done") return undefined; // a host keeps the thread of a caller that awaits `result`
  return source.result.then(
    () => undefined,
    (error: unknown) => failureOf(error, NO_MORE_EVENTS),
  );
}

/** Rewrites a stream for a client of AI SDK 6, which ends in an error at a chunk that it does not know. */
class Client6Chunks {
  readonly #openBlocks = new Map<string, "text" | "reasoning">();
  /** Calls whose input has begun and is not complete, and their tools. */
  readonly #partialCalls = new Map<string, string>();
  readonly #calls = new Map<string, Extract<UIChunk6, { type: "tool-input-available" }>>();
  /** The calls of the approvals that this stream has requested. */
  readonly #requested = new Map<string, string>();

  rewrite(chunk: UIChunk): readonly UIChunk6[] {
    switch (chunk.type) {
      case "custom":
        return [];
      case "text-start":
        this.#openBlocks.set(chunk.id, "text");
        return [chunk];
      case "reasoning-start":
        this.#openBlocks.set(chunk.id, "reasoning");
        return [chunk];
      case "text-end":
      case "reasoning-end":
        this.#openBlocks.delete(chunk.id);
        return [chunk];
      case "tool-input-start":
        this.#partialCalls.set(chunk.toolCallId, chunk.toolName);
        return [chunk];
      case "tool-input-available":
        this.#partialCalls.delete(chunk.toolCallId);
        this.#calls.set(chunk.toolCallId, chunk);
        return [chunk];
      case "tool-approval-request":
        this.#requested.set(chunk.approvalId, chunk.toolCallId);
        return [chunk];
      case "tool-approval-response":
        return chunk.approved ? this.#running(chunk.approvalId) : [];
      case "steering-message":
        return [{ type: "data-steering-message", id: chunk.id, data: { parts: chunk.parts } }];
      case "reset-step":
        return this.#newStep();
      case "finish":
        return [{ ...chunk, finishReason: chunk.finishReason === "interrupted" ? "other" : chunk.finishReason }];
      default:
        return [chunk];
    }
  }

  /**
   * Another page or process approved: the call is sent once more, so that this page stops waiting. A page keeps its own
   * approval.
   */
  #running(approvalId: string): readonly UIChunk6[] {
    const call = this.#calls.get(this.#requested.get(approvalId) ?? "");
    return call === undefined ? [] : [call];
  }

  /** Version 6 cannot discard a step that it has shown: the step is closed, and its replacement is a new step. */
  #newStep(): readonly UIChunk6[] {
    const ends = [...this.#openBlocks].map(([id, type]): UIChunk6 => ({ type: `${type}-end`, id }));
    const errors = [...this.#partialCalls].map(([toolCallId, toolName]): UIChunk6 => {
      return { type: "tool-input-error", toolCallId, toolName, input: {}, errorText: "This call was not made." };
    });
    this.#openBlocks.clear();
    this.#partialCalls.clear();
    return [...ends, ...errors, { type: "finish-step" }, { type: "start-step" }];
  }
}

/** The options of the stream, and the status and headers of the response. */
export interface UIMessageStreamResponseInit extends UIMessageStreamOptions {
  /** The HTTP status. Default 200. */
  readonly status?: number | undefined;
  /** The HTTP status text. Default "". */
  readonly statusText?: string | undefined;
  /** Headers beside those that the AI SDK reads. They override those. Default: none. */
  readonly headers?: ConstructorParameters<typeof Headers>[0] | undefined;
}

const encoder = new TextEncoder();

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  connection: "keep-alive",
  "x-vercel-ai-ui-message-stream": "v1",
  "x-accel-buffering": "no", // a proxy must not buffer the stream
};

/**
 * The response of a route that `useChat` posts to: the stream of `uiMessageStream` as server-sent events. A comment at its start
 * and after each 15 silent seconds keeps the connection open, and `chatTransport` notices when it is lost.
 *
 * @example
 * const host = AgentHost.create({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
 * const POST = async (content: string) => uiMessageStreamResponse(await host.ask("thread_1", content));
 * console.log((await POST("What's 2+2?")).headers.get("content-type")); // text/event-stream
 */
export function uiMessageStreamResponse(source: UIMessageSource, init: UIMessageStreamResponseInit = {}): Response {
  checkStreamOptions("uiMessageStreamResponse", init, {
    ...STREAM_OPTIONS,
    status: true,
    statusText: true,
    headers: true,
  });
  const { status = 200, statusText = "", headers: given, ...options } = init;
  const headers = new Headers(given);
  for (const [name, value] of Object.entries(HEADERS)) if (!headers.has(name)) headers.set(name, value);
  const chunks = chunksOf(source, options);
  const beats = heartbeats(systemRuntimePorts);
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(STILL_HERE)),
    async pull(controller) {
      beats.begin(controller);
      const { done, value } = await chunks.next();
      if (!done) return controller.enqueue(encoded(value));
      beats.end();
      if (value !== INTERRUPTED) controller.enqueue(encoder.encode("data: [DONE]\n\n"));
      controller.close();
    },
    cancel() {
      beats.end();
      void chunks.return(undefined); // ends after the next event; no caller waits for that
    },
  });
  return new Response(body, { status, statusText, headers });
}

/** The last encoded part of a text. The other streams of the request read the same event next. */
let shared: { readonly delta: AgentEvent; readonly id: string; readonly bytes: Uint8Array<ArrayBuffer> } | undefined;

/** Server-sent events. A part of a text is encoded once for all streams. Each gets a copy, because it may change it. */
function encoded({ list, delta, id: position }: Chunks<UIChunk | UIChunk6>): Uint8Array<ArrayBuffer> {
  const first = list[0];
  const id = delta !== undefined && typeof first === "object" && "id" in first ? first.id : undefined;
  if (shared !== undefined && shared.delta === delta && shared.id === id) return shared.bytes.slice();
  const lines = list.map((chunk) => {
    if (chunk === "keepalive") return ": keepalive\n\n"; // a client ignores a line that begins with a colon
    const isPlaced = position !== undefined && (chunk.type === "start-step" || chunk.type === "start");
    return `${isPlaced ? `id: ${position}\n` : ""}data: ${JSON.stringify(chunk)}\n\n`;
  });
  const bytes = encoder.encode(lines.join(""));
  if (delta !== undefined && id !== undefined) shared = { delta, id, bytes: bytes.slice() };
  return bytes;
}
