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
