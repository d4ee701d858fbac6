import type { ThreadChange } from "../runtime/chat/change-events.ts";
import type { ShownRest, ShownThread } from "../runtime/chat/chat-handler.ts";
import type { STILL_HERE } from "../runtime/heartbeat.ts";
import type { UIChunk, UIChunk6, UIMessageLike } from "../runtime/ui-messages/message.ts";
import type { UIClientVersion } from "../runtime/ui-messages/options.ts";
import { HeddleError } from "../thread/errors.ts";
import type { OptionNames } from "../thread/options.ts";
import { AnswerReplay } from "./answer-replay.ts";
import { ChatStreams } from "./chat-streams.ts";

/** A request of a page that the chat handler refused, or that did not reach it. `code` is that of the server's error. */
export class ChatError extends HeddleError {
  static override readonly className: string = "ChatError";
  /** The HTTP status, if the server answered. */
  declare readonly status?: number;

  constructor({ status, ...facts }: ConstructorParameters<typeof HeddleError>[0] & { readonly status?: number }) {
    super(facts);
    if (status !== undefined) this.status = status;
  }
}

type HeaderValues = Headers | { readonly [name: string]: string };

/** The server, and how its route is called. */
export interface ChatTransportOptions {
  /** The path or URL of `chatHandler`. Default "/api/chat". */
  readonly api?: string | undefined;
  /** The headers of every request. A function is called for each, for example for a new token. Default: none. */
  readonly headers?: HeaderValues | (() => HeaderValues | Promise<HeaderValues>) | undefined;
  /** Fields beside those of the message in the body of a turn, such as a model. Default: none. */
  readonly body?: object | (() => object | Promise<object>) | undefined;
  /** Whether cookies are sent to other origins. Default as `fetch`: "same-origin". */
  readonly credentials?: "omit" | "same-origin" | "include" | undefined;
  /** Default the `fetch` of the browser. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** The version of the AI SDK in the page. Default 7. */
  readonly client?: UIClientVersion | undefined;
  /**
   * Milliseconds before an attempt to connect after a failed one, which is the first of 1, 2, 3. It is made at once when the
   * browser is online again. Default about 250 ms, twice as long for each attempt, at most 5 to 10 s.
   */
  readonly retryDelayMs?: ((attempt: number) => number) | undefined;
}

interface SendOptions {
  readonly trigger: "submit-message" | "regenerate-message";
  readonly chatId: string;
  readonly messageId: string | undefined;
  readonly messages: readonly (UIMessageLike & { readonly id: string })[];
  readonly abortSignal: AbortSignal | undefined;
  readonly headers?: HeaderValues | undefined;
  readonly body?: object | undefined;
}

interface ReconnectOptions {
  readonly chatId: string;
  readonly abortSignal?: AbortSignal | undefined;
  readonly headers?: HeaderValues | undefined;
}

/** The transport of `useChat`, and the other requests of a page. Each rejects with a ChatError. */
export interface ThreadTransport<Chunk = UIChunk> {
  /** For `useChat`: a resumed stream begins with the first chunk of the answer. */
  readonly resumeStreamIsReplay: true;
  /** For `useChat`. The stream continues after a lost connection and a restart of the server. */
  sendMessages(options: SendOptions): Promise<ReadableStream<Chunk>>;
  /** For `useChat`. Resolves to null when nothing runs here. */
  reconnectToStream(options: ReconnectOptions): Promise<ReadableStream<Chunk> | null>;
  /** The messages of the active branch, as a reload shows them. */
  messages(threadId: string, signal?: AbortSignal): Promise<ShownThread>;
  /** The entries that any process commits from `nextSeq` on, until the signal aborts or the connection is lost. */
  changes(threadId: string, nextSeq: number, signal: AbortSignal): AsyncIterable<ThreadChange>;
  /** Shows another branch, one of the lanes in `siblings`. */
  switchBranch(threadId: string, lane: string): Promise<ShownThread>;
  /** Cancels the request on the server. Resolves to false when none is open. */
  stop(threadId: string): Promise<boolean>;
  /** Lets a call run that waits for approval. */
  approve(
    threadId: string,
    toolCallId: string,
    options?: { readonly reason?: string; readonly arguments?: unknown },
  ): Promise<void>;
  /** Refuses a call that waits for approval. The model is shown the reason. */
  deny(threadId: string, toolCallId: string, options?: { readonly reason?: string }): Promise<void>;
  /** The result of a call that waits for an answer. */
  answer(threadId: string, toolCallId: string, output: unknown): Promise<void>;
  /** Gives the thread a title, which no generated one replaces. */
  rename(threadId: string, title: string): Promise<void>;
  /** The id of the last message, if it could not be posted. */
  unsent(threadId: string): string | undefined;
  /** The streams of each chat that are open. */
  readonly streams: ChatStreams;
}

/** How long a server that does not answer is tried. */
const RETRY_FOR_MS = 300_000;
/** An attempt and the wait after it count for no more: a page that slept has time left. */
const MOST_COUNTED_MS = 60_000;
const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 10_000;
/** The heartbeat of our server. The type keeps them equal: an import would bring the server's code into the page. */
const HEARTBEAT: typeof STILL_HERE = ": still here\n\n";
/** Three heartbeats. A server that sends them, and was silent for so long, is lost. */
const SILENCE_MS = 45_000;

/**
 * The transport of a chat page to `chatHandler`. It posts the last message only, and connects again by itself when a connection
 * is lost or the server restarts: the page shows no error, and each word once.
 *
 * @example
 * const transport = chatTransport({ api: "/api/chat", headers: () => ({ authorization: "Bearer token" }) });
 * // useChat({ id: "thread_1", transport })
 * console.log(transport.resumeStreamIsReplay); // true
 */
export function chatTransport(options: ChatTransportOptions & { readonly client: 6 }): ThreadTransport<UIChunk6>;
export function chatTransport(options?: ChatTransportOptions): ThreadTransport;
export function chatTransport(options: ChatTransportOptions = {}): ThreadTransport {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(OPTIONS, name));
  if (unknown !== undefined) throw noOption(unknown);
  return new HttpTransport(options);
}

const OPTIONS: OptionNames<ChatTransportOptions> = {
  api: true,
  headers: true,
  body: true,
  credentials: true,
  fetch: true,
  client: true,
  retryDelayMs: true,
};

/** Shorter than that of the server's functions, because a page loads it. */
function noOption(name: string): ChatError {
  const message = `chatTransport has no option "${name}". It has: ${Object.keys(OPTIONS).join(", ")}.`;
  return new ChatError({ code: "invalid_options", message });
}

class HttpTransport implements ThreadTransport {
  readonly resumeStreamIsReplay = true;
  readonly streams = new ChatStreams();
  readonly #options: ChatTransportOptions;
  /** A message that is sent while a stop is under way is sent after it. */
  readonly #stopping = new Map<string, Promise<unknown>>();
  readonly #unsent = new Map<string, string>();
  /** The messages of the last load, which the next one does not load again. */
  #shown: (Pick<ShownRest, "known" | "messages" | "nextSeq"> & { readonly threadId: string }) | undefined;

  constructor(options: ChatTransportOptions) {
    this.#options = options;
  }

  async sendMessages(options: SendOptions): Promise<ReadableStream<UIChunk>> {
    const { chatId, abortSignal } = options;
    return this.streams.open(chatId, abortSignal, async (signal, isJoined) => {
      await this.#stopping.get(chatId);
      const last = options.messages.at(-1);
      const response = await this.#post(options, signal).catch((error: unknown) => {
        if (last !== undefined) this.#unsent.set(chatId, last.id);
        throw error;
      });
      this.#unsent.delete(chatId);
      if (response.headers.get("x-heddle-joined") === "1" && isJoined()) {
        void response.body?.cancel(); // the stream that is open shows it
        return undefined;
      }
      const steps = last?.role === "assistant" && options.trigger === "submit-message" ? stepsIn(last) : 0;
      return this.#chunks(response, chatId, signal, new AnswerReplay({ isFor6: this.#isFor6, steps }));
    });
  }

  async reconnectToStream({ chatId, abortSignal, headers }: ReconnectOptions): Promise<ReadableStream<UIChunk> | null> {
    const response = await this.#stream(chatId, {}, abortSignal, headers).catch((error: unknown) => {
      if (ChatError.isInstance(error) && error.code === "thread_held") return undefined; // another process runs it
      throw error;
    });
    if (response === undefined || response.status === 204) return null;
    const replay = new AnswerReplay({ isFor6: this.#isFor6 });
    return this.streams.open(chatId, abortSignal, async (signal) => this.#chunks(response, chatId, signal, replay));
  }

  async messages(threadId: string, signal?: AbortSignal): Promise<ShownThread> {
    const before = this.#shown?.threadId === threadId ? this.#shown : undefined;
    const path = `${pathOf(threadId)}/messages?known=${before?.known ?? ""}`;
    const { known, kept = 0, ...page } = (await (await this.#get(path, { signal })).json()) as ShownRest; // of our server
    const messages = [...(before?.messages.slice(0, kept) ?? []), ...page.messages];
    this.#shown = { threadId, known, messages, nextSeq: page.nextSeq };
    return { ...page, messages };
  }

  async *changes(threadId: string, nextSeq: number, signal: AbortSignal): AsyncGenerator<ThreadChange, void> {
    const response = await this.#get(`${pathOf(threadId)}/events?fromSeq=${nextSeq}`, { signal });
    for await (const { event, data } of serverEvents(response, signal)) {
      if (event === "change") yield JSON.parse(data) as ThreadChange; // of our server
    }
  }

  async switchBranch(threadId: string, lane: string): Promise<ShownThread> {
    return (await this.#act(threadId, "branch", { lane })).json() as Promise<ShownThread>; // of our server
  }

  async stop(threadId: string): Promise<boolean> {
    const stopped = this.#act(threadId, "stop", {});
    const settled = stopped.catch(() => undefined);
    this.#stopping.set(threadId, settled);
    void settled.finally(() => {
      if (this.#stopping.get(threadId) === settled) this.#stopping.delete(threadId);
    });
    return ((await (await stopped).json()) as { readonly stopped: boolean }).stopped; // of our server
  }

  async approve(threadId: string, toolCallId: string, options: object = {}): Promise<void> {
    await this.#act(threadId, "approve", { toolCallId, ...options });
  }

  async deny(threadId: string, toolCallId: string, options: object = {}): Promise<void> {
    await this.#act(threadId, "deny", { toolCallId, ...options });
  }

  async answer(threadId: string, toolCallId: string, output: unknown): Promise<void> {
    await this.#act(threadId, "answer", { toolCallId, output });
  }

  async rename(threadId: string, title: string): Promise<void> {
    await this.#act(threadId, "rename", { title });
  }

  unsent(threadId: string): string | undefined {
    return this.#unsent.get(threadId);
  }

  get #isFor6(): boolean {
    return this.#options.client === 6;
  }

  /** The chunks of an answer, also when its connection is lost. */
  async *#chunks(
    first: Response,
    chatId: string,
    signal: AbortSignal,
    replay: AnswerReplay,
  ): AsyncGenerator<UIChunk, void> {
    for (let response = first; ; ) {
      for await (const { data, id } of serverEvents(response, signal)) {
        if (data === "[DONE]") return;
        yield* replay.take(JSON.parse(data) as UIChunk, id); // of our server
      }
      if (signal.aborted) return;
      response = await this.#stream(chatId, replay, signal);
      if (response.status === 204) return;
      replay.restart();
    }
  }

  async #post(options: SendOptions, signal: AbortSignal): Promise<Response> {
    const { chatId, messages, trigger, messageId, headers } = options;
    const { body } = this.#options;
    const own = typeof body === "function" ? await body() : body;
    const nextSeq = this.#shown?.threadId === chatId ? this.#shown.nextSeq : undefined;
    const all = { ...own, ...options.body, id: chatId, messages: postedOf(messages), trigger, messageId, nextSeq };
    const init = { body: all, signal, headers };
    return this.#connect(signal, async (attempt) => {
      try {
        return await this.#fetch("", init);
      } catch (error) {
        // The first attempt decided the call, and its response was lost.
        const isDecided = attempt > 1 && ChatError.isInstance(error) && error.code === "not_waiting";
        if (!isDecided) throw error;
        return this.#fetch(`${pathOf(chatId)}/stream`, { signal, headers });
      }
    });
  }

  #stream(
    chatId: string,
    { messageId, position }: Partial<Pick<AnswerReplay, "messageId" | "position">>,
    signal?: AbortSignal,
    headers?: HeaderValues,
  ): Promise<Response> {
    const after = position === undefined ? "" : `&after=${encodeURIComponent(position)}`;
    const query = messageId === undefined ? "" : `?message=${encodeURIComponent(messageId)}${after}`;
    return this.#get(`${pathOf(chatId)}/stream${query}`, { signal, headers });
  }

  #get(path: string, init: RequestOptions): Promise<Response> {
    return this.#connect(init.signal, () => this.#fetch(path, init));
  }

  #act(threadId: string, action: string, body: object): Promise<Response> {
    return this.#connect(undefined, () => this.#fetch(`${pathOf(threadId)}/${action}`, { body }));
  }

  /** Tries until the server answers, or the time is over. */
  async #connect(signal: AbortSignal | undefined, open: (attempt: number) => Promise<Response>): Promise<Response> {
    const { retryDelayMs = defaultDelay } = this.#options;
    for (let attempt = 1, counted = 0; ; attempt += 1) {
      const begun = Date.now();
      try {
        return await open(attempt);
      } catch (error) {
        if (!isTransient(error) || counted >= RETRY_FOR_MS || signal?.aborted) throw error;
      }
      await waited(retryDelayMs(attempt), signal);
      counted += Math.min(Date.now() - begun, MOST_COUNTED_MS);
    }
  }

  async #fetch(path: string, { body, signal, headers: given }: RequestOptions): Promise<Response> {
    const { api = "/api/chat", headers: own, credentials, client, fetch = globalThis.fetch } = this.#options;
    const headers = new Headers(entriesOf(typeof own === "function" ? await own() : own));
    for (const [name, value] of entriesOf(given)) headers.set(name, value);
    if (body !== undefined) headers.set("content-type", "application/json");
    const version = client === undefined ? "" : `${path.includes("?") ? "&" : "?"}client=${client}`;
    const init = {
      method: body === undefined ? "GET" : "POST",
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(credentials !== undefined && { credentials }),
      ...(signal !== undefined && { signal }),
    };
    const response = await fetch(`${api}${path}${version}`, init).catch((error: unknown) => {
      throw signal?.aborted ? error : unreachable(error);
    });
    if (response.ok) return response;
    throw await errorOf(response);
  }
}

interface RequestOptions {
  readonly body?: object | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly headers?: HeaderValues | undefined;
}

function pathOf(threadId: string): string {
  return `/${encodeURIComponent(threadId)}`;
}

/** The last message, and the id of the one before, which says the branch. The server has the others. */
function postedOf(messages: SendOptions["messages"]): readonly object[] {
  const before = messages.at(-2);
  return [...(before === undefined ? [] : [{ id: before.id, role: before.role, parts: [] }]), ...messages.slice(-1)];
}

function stepsIn({ parts }: UIMessageLike): number {
  return parts.filter(({ type }) => type === "step-start").length;
}

function entriesOf(headers: HeaderValues | undefined): [string, string][] {
  return headers instanceof Headers ? [...headers] : Object.entries(headers ?? {});
}

/** Pages that lost the same server do not come back at the same moment. */
function defaultDelay(attempt: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), MAX_RETRY_MS) * (0.5 + Math.random() / 2);
}

/** Resolves after the time, when the signal aborts, or when the browser is online again. */
export function waited(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const page = globalThis as Partial<Pick<AbortSignal, "addEventListener" | "removeEventListener">>; // absent in Node
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      page.removeEventListener?.("online", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
    page.addEventListener?.("online", done);
  });
}

/** A process that ends answers 503: the next one will take the request. */
function isTransient(error: unknown): boolean {
  return ChatError.isInstance(error) && (error.retryable || error.status === 503);
}

function unreachable(cause: unknown): ChatError {
  const message = "The chat server does not answer. Check the connection and the option `api` of chatTransport.";
  return new ChatError({ code: "server_unreachable", retryable: true, message, cause });
}

/** The error in a response. A proxy whose server restarts answers with a text of its own. */
async function errorOf(response: Response): Promise<ChatError> {
  const { status } = response;
  const body = (await response.json().catch(() => undefined)) as
    | { readonly error?: { readonly code?: string; readonly message?: string; readonly retryable?: boolean } }
    | null
    | undefined; // checked below
  const { code, message, retryable = false } = body?.error ?? {};
  if (typeof code === "string" && typeof message === "string")
    return new ChatError({ code, message, retryable, status });
  const text = `The chat server answered ${status}. Check the option \`api\` of chatTransport, and the log of the server.`;
  const isProxy = status === 502 || status === 503 || status === 504;
  return new ChatError({ code: "server_unreachable", retryable: isProxy, message: text, status });
}

interface ServerEvent {
  readonly event: string | undefined;
  readonly id: string | undefined;
  readonly data: string;
}

/**
 * Server-sent events of a response. A connection that is lost ends them without an error. It may be lost without an end, so a
 * server that sends heartbeats must not be silent.
 */
async function* serverEvents({ body }: Response, signal: AbortSignal): AsyncGenerator<ServerEvent, void> {
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const leave = (): Promise<void> => reader.cancel().catch(() => undefined);
  try {
    for (let rest = "", beats = false; ; ) {
      const limit = beats ? setTimeout(leave, SILENCE_MS) : undefined;
      const { done, value = "" } = await reader.read().finally(() => clearTimeout(limit));
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        beats ||= `${block}\n\n` === HEARTBEAT;
        const field = (name: string) =>
          block.split("\n").flatMap((line) => (line.startsWith(`${name}: `) ? [line.slice(name.length + 2)] : []));
        const data = field("data");
        if (data.length > 0) yield { event: field("event")[0], id: field("id")[0], data: data.join("\n") };
      }
    }
  } catch (error) {
    if (!(error instanceof TypeError) && !signal.aborted) throw error;
  } finally {
    await leave();
  }
}
