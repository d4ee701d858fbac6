import type { JsonObject, JsonValue, Thread } from "heddle";
import type {
  CallDetail,
  CallPage,
  EntryWindow,
  Info,
  StreamEvent,
  ThreadDetail,
  ThreadPage,
  ThreadQuery,
  ThreadRow,
} from "./contract.ts";

/** `closed` is final: the server refuses this stream. */
export type LinkState = "connecting" | "open" | "lost" | "closed";

export interface Listening {
  onEvent(event: StreamEvent): void;
  onState(state: LinkState): void;
}

/** A search for entries of some sorts or kinds, or of one lane: forward from `from`, else back from `to`. */
export interface EntryWish {
  readonly kinds: readonly string[];
  readonly lane?: string | undefined;
  readonly from?: number;
  readonly to?: number;
  readonly limit: number;
}

export type SteerWay = "steer" | "follow_up";

/** The source of the page's data: a server, or the exported file. */
export interface Source {
  readonly kind: "server" | "file";
  info(): Promise<Info>;
  threads(query: ThreadQuery): Promise<ThreadPage>;
  thread(id: string): Promise<ThreadDetail>;
  /** Both ends included. */
  entries(id: string, from: number, to: number): Promise<EntryWindow>;
  /** The entries found within the time limit. `searched` says where to continue. */
  filtered(id: string, wish: EntryWish): Promise<EntryWindow>;
  /** The end of the thread at an entry, with at least that many entries, to project it in the page. */
  tail(id: string, wish: { readonly atSeq: number; readonly last: number }): Promise<Thread>;
  calls(id: string, page: { readonly before?: number; readonly limit: number }): Promise<CallPage>;
  call(id: string, callId: string): Promise<CallDetail>;
  /** Subscribes to events. Returns the function that ends the subscription. */
  listen(id: string | undefined, listening: Listening): () => void;
  /** Saves the thread as a file. */
  download(id: string, format: "json" | "jsonl" | "html"): Promise<void>;
  readonly act: Actions | undefined;
}

/** The actions that change something. A file and a read-only server have none. */
export interface Actions {
  create(title?: string): Promise<ThreadRow>;
  /** Imports a thread or a list of messages from a file. `format` is needed if a list fits several formats. */
  import(file: Blob, format?: string): Promise<ThreadRow>;
  ask(id: string, content: string): Promise<{ readonly requestId: string }>;
  steer(id: string, content: string, kind: SteerWay): Promise<{ id: string; accepted: boolean; reason?: string }>;
  cancel(id: string): Promise<unknown>;
  decide(id: string, toolCallId: string, approved: boolean): Promise<unknown>;
  answer(id: string, toolCallId: string, output: JsonValue): Promise<unknown>;
  reset(id: string): Promise<unknown>;
  summarize(
    id: string,
    range?: { readonly fromSeq?: number; readonly toSeq?: number },
  ): Promise<{ readonly seq: number }>;
  /** Switches to a lane, or replaces the context of one. */
  context(id: string, contextRef: string, operation: JsonObject): Promise<{ readonly status: string }>;
  fork(id: string, atSeq: number): Promise<ThreadRow>;
  remove(id: string): Promise<unknown>;
}

/** An error with the server's code and message. */
export class Refusal extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status: number) {
    super(message);
    this.name = "Refusal";
    this.code = code;
    this.status = status;
  }
}

/** Any thrown value as a code and a message for the user. */
export function problemOf(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof Error) {
    const { code = "error", message } = error as Error & { readonly code?: string };
    return { code, message };
  }
  return { code: "error", message: String(error) };
}
