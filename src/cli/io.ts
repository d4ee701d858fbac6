/** An output stream. `write` resolves when more can be written, and throws BrokenPipe when the reader has gone. */
export interface Sink {
  readonly isTerminal: boolean;
  readonly columns: number;
  write(text: string): Promise<void>;
}

/** Input of a user who types at a terminal while output is written to it. */
export interface Keyboard {
  /** Output to these waits while the user types a line. */
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** Whether the user answered the last prompt with Ctrl-C. */
  readonly isInterrupted: boolean;
  /** The next unread line; undefined at the end of input or after Ctrl-C. */
  line(prompt: string): Promise<string | undefined>;
  /** Asks a question. Lines that were typed before it are not taken as the answer. */
  ask(question: string): Promise<string | undefined>;
  /** Calls `handler` with each line typed while no prompt is open. Returns a function that stops this. */
  listen(handler: (line: string) => void): () => void;
  /** Releases the terminal. */
  close(): void;
}

/** The process as a command sees it. Tests pass their own. */
export interface Io {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly env: { readonly [name: string]: string | undefined };
  readonly cwd: string;
  readonly now: () => number;
  readonly stdinIsTerminal: boolean;
  /** The lines of stdin, as they arrive. */
  lines(): AsyncIterable<string>;
  /** All of stdin. */
  text(): Promise<string>;
  /** The bytes of stdin, as they arrive. */
  bytes(): AsyncIterable<Uint8Array>;
  /** Calls `again` every `ms` milliseconds. Returns a function that stops this. */
  every(ms: number, again: () => void): () => void;
  /** Asks the user at the terminal; undefined at the end of input. */
  ask(question: string): Promise<string | undefined>;
  /** Opens the keyboard for `chat`. Nothing else may read stdin until it is closed. */
  keyboard(): Keyboard;
  /** Handles SIGINT (Ctrl-C) and SIGTERM. Returns a function that stops this. Without a handler, a signal ends the process. */
  onInterrupt(handler: (signal: "SIGINT" | "SIGTERM") => void): () => void;
  /** Ends the process at once. */
  leave(code: number): void;
  /** Opens an address in the user's browser. */
  open(url: string): void;
  readonly fetch: typeof fetch;
}
