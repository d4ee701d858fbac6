import { ThreadHeldError } from "../stores/errors.ts";
import { errorResponse as httpAnswer } from "../studio/http/response.ts";
import { type ErrorFacts, HeddleError } from "../thread/errors.ts";

/**
 * An output stream. `write` resolves when more can be written. It throws BrokenPipe after the reader has closed the
 * pipe.
 */
export interface Sink {
  readonly isTerminal: boolean;
  readonly columns: number;
  write(text: string): Promise<void>;
}

/** Reads lines that a user types at a terminal, while the command writes to the same terminal. */
export interface Keyboard {
  /** Output written here is delayed while the user types a line. */
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** Whether the user pressed Ctrl-C at the last prompt. */
  readonly isInterrupted: boolean;
  /** Returns the next unread line. Undefined at the end of input or after Ctrl-C. */
  line(prompt: string): Promise<string | undefined>;
  /** Asks a question. Lines that were typed before the question are not its answer. */
  ask(question: string): Promise<string | undefined>;
  /**
   * Calls `handler` with each line that is typed while no prompt is open. Returns a function that removes the handler.
   */
  listen(handler: (line: string) => void): () => void;
  /** Closes the keyboard, so that other code can use the terminal. */
  close(): void;
}

/** The input and output of the process. Tests pass their own. */
export interface Io {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly env: { readonly [name: string]: string | undefined };
  readonly cwd: string;
  readonly now: () => number;
  readonly stdinIsTerminal: boolean;
  /** Yields the lines of stdin as they arrive. */
  lines(): AsyncIterable<string>;
  /** Returns all of stdin as text. */
  text(): Promise<string>;
  /** Yields the bytes of stdin as they arrive. */
  bytes(): AsyncIterable<Uint8Array>;
  /** Calls `again` every `ms` milliseconds. Returns a function that stops the calls. */
  every(ms: number, again: () => void): () => void;
  /** Asks the user at the terminal. Undefined at the end of input. */
  ask(question: string): Promise<string | undefined>;
  /** Opens the keyboard for `chat`. No other code may read stdin until it is closed. */
  keyboard(): Keyboard;
  /**
   * Calls `handler` on SIGINT (Ctrl-C) and SIGTERM. Returns a function that removes it. Without a handler, a signal
   * ends the process.
   */
  onInterrupt(handler: (signal: "SIGINT" | "SIGTERM") => void): () => void;
  /** Ends the process at once. */
  leave(code: number): void;
  /** Opens a URL in the user's browser. */
  open(url: string): void;
  readonly fetch: typeof fetch;
}

/** The exit codes of the process. docs/cli.md lists them for users. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  suspended: 5,
  interrupted: 130,
  terminated: 143,
} as const;

type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An error of the command line, or an error answer of a server. `exit` is the exit code of the process. */
export class CliError extends HeddleError {
  static override readonly className: string = "CliError";
  readonly exit: ExitCode;

  constructor({ exit, ...facts }: ErrorFacts & { readonly exit: ExitCode }) {
    super(facts);
    this.exit = exit;
  }
}

export function badUsage(message: string): CliError {
  return new CliError({ code: "bad_usage", exit: EXIT.usage, message });
}

/**
 * Thrown when the reader of stdout has closed the pipe, as `head` does. The command then stops writing without an
 * error.
 */
export class BrokenPipe extends Error {}

/** The exit code of an error, derived from its HTTP status. */
export function exitOf(error: unknown): ExitCode {
  return CliError.isInstance(error) ? error.exit : exitOfStatus(httpAnswer(error).status);
}

/** Returns the exit code for the status of a failed HTTP response. */
export function exitOfStatus(status: number): ExitCode {
  if (status === 404) return EXIT.notFound;
  if (status === 400 || status === 413) return EXIT.usage;
  return status === 401 || status === 403 || status === 409 ? EXIT.refused : EXIT.failed;
}

/**
 * Returns the message of an error. If another process holds the thread, the advice is rewritten for users of the
 * command line.
 */
export function adviceOf(error: HeddleError): string {
  if (!ThreadHeldError.isInstance(error)) return error.message;
  const { threadId } = error;
  return (
    `Another process runs thread ${threadId}. Wait until it ends, or watch it: heddle show ${threadId} --follow. ` +
    "If a Studio runs it, name that Studio with --server."
  );
}
