import type { JsonObject, JsonValue, Thread } from "heddle";
import type {
  CallDetail,
  CallPage,
  EntryWindow,
  Info,
  StreamEvent,
  ThreadDetail,
  ThreadQuery,
  ThreadRow,
  ThreadRowPage,
} from "./contract.ts";

/** The connection to the event stream. `closed` is final: the server refused the stream. */
export type LinkState = "connecting" | "open" | "lost" | "closed";

export interface StreamSubscription {
  onEvent(event: StreamEvent): void;
  onState(state: LinkState): void;
}

/** A search for entries of some kinds, or of one lane. Runs forward from `from`, or else backward from `to`. */
export interface EntryRange {
  readonly kinds: readonly string[];
  readonly lane?: string | undefined;
  readonly from?: number;
  readonly to?: number;
  readonly limit: number;
}

/** How a text reaches a request that is open. `cancel` ends it, and the text is asked. `deny` denies its waiting calls. */
export type SteerMode = "steer" | "follow_up" | "cancel" | "deny";

/** The data of the page comes from a server or from the exported file. */
export interface Source {
  readonly kind: "server" | "file";
  info(): Promise<Info>;
  threads(query: ThreadQuery): Promise<ThreadRowPage>;
  thread(id: string): Promise<ThreadDetail>;
  /** Returns the entries from `from` to `to`, both included. */
  entries(id: string, from: number, to: number): Promise<EntryWindow>;
  /** Returns the matching entries found within the server's time limit. `searched` is the range covered so far. */
  filtered(id: string, wish: EntryRange): Promise<EntryWindow>;
  /** Returns the end of the thread up to `atSeq`: at least `last` entries. The page can project it. */
  tail(id: string, wish: { readonly atSeq: number; readonly last: number }): Promise<Thread>;
  calls(id: string, page: { readonly before?: number; readonly limit: number }): Promise<CallPage>;
  call(id: string, callId: string): Promise<CallDetail>;
  /**
   * Subscribes to the events of a thread, or of the list if `id` is undefined. Returns a function that ends the
   * subscription.
   */
  listen(id: string | undefined, listening: StreamSubscription): () => void;
  /** Saves the thread as a file. */
  download(id: string, format: "json" | "jsonl" | "html"): Promise<void>;
  readonly act: Actions | undefined;
}

/** A message for another branch than the end of the active one, or for a request that is open. */
type Turn =
  | { readonly content: string; readonly edit: string }
  | { readonly regenerate: string }
  | { readonly content: string; readonly busy: "deny" | "cancel" };

/** Actions that change threads. An exported file and a read-only server have none. */
export interface Actions {
  create(title?: string): Promise<ThreadRow>;
  /** Imports a thread or a list of messages from a file. Set `format` if the list fits several formats. */
  import(file: Blob, format?: string): Promise<ThreadRow>;
  ask(id: string, content: string): Promise<{ readonly requestId: string }>;
  /** Edits a message, gives an answer once more, or says something to a request that is open. */
  turn(id: string, turn: Turn): Promise<{ readonly requestId: string }>;
  steer(
    id: string,
    content: string,
    kind: "steer" | "follow_up",
  ): Promise<{ id: string; accepted: boolean; reason?: string }>;
  cancel(id: string): Promise<unknown>;
  decide(id: string, toolCallId: string, approved: boolean, reason: string): Promise<unknown>;
  answer(id: string, toolCallId: string, output: JsonValue): Promise<unknown>;
  reset(id: string): Promise<unknown>;
  summarize(
    id: string,
    range?: { readonly fromSeq?: number; readonly toSeq?: number },
  ): Promise<{ readonly seq: number }>;
  /** Switches to another lane, or replaces the context of a lane. */
  context(id: string, contextRef: string, operation: JsonObject): Promise<{ readonly status: string }>;
  fork(id: string, atSeq: number): Promise<ThreadRow>;
  remove(id: string): Promise<unknown>;
}

/** An error answer of the server, with its code and message. */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status: number) {
    super(message);
    this.name = "Refusal";
    this.code = code;
    this.status = status;
  }
}

/** Turns any thrown value into a code and a message for the user. */
export function problemOf(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof Error) {
    const { code = "error", message } = error as Error & { readonly code?: string };
    return { code, message };
  }
  return { code: "error", message: String(error) };
}
