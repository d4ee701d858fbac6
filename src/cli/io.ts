/** Where text goes. Resolves when there is room for more; a reader that has gone is a BrokenPipe. */
export interface Sink {
  readonly isTerminal: boolean;
  readonly columns: number;
  write(text: string): Promise<void>;
}

/** Somebody who types at a terminal that is written to at the same time. */
export interface Keyboard {
  /** What is written here waits while a line is typed. */
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** Whether the last thing that was asked for was answered with Ctrl-C. */
  readonly isInterrupted: boolean;
  /** The next line that nobody has heard yet; undefined when they left, or pressed Ctrl-C. */
  line(prompt: string): Promise<string | undefined>;
  /** The answer to a question, which nothing is that was typed before it. */
  ask(question: string): Promise<string | undefined>;
  /** Told the lines that nothing has asked for, until what it answers is called. */
  listen(handler: (line: string) => void): () => void;
  /** Gives the terminal back. */
  close(): void;
}

/** All that a command has of the process it runs in; tests bring their own. */
export interface Io {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly env: { readonly [name: string]: string | undefined };
  readonly cwd: string;
  readonly now: () => number;
  readonly stdinIsTerminal: boolean;
  /** The lines of stdin, as they come. */
  lines(): AsyncIterable<string>;
  /** All of stdin. */
  text(): Promise<string>;
  /** Stdin as it comes. */
  bytes(): AsyncIterable<Uint8Array>;
  /** Does something again and again, until what it answers is called. */
  every(ms: number, again: () => void): () => void;
  /** Asks somebody at a terminal; undefined when they left without an answer. */
  ask(question: string): Promise<string | undefined>;
  /** For a talk; until it is closed, nobody else reads stdin. */
  keyboard(): Keyboard;
  /** Told of Ctrl-C and of a friendly kill, until what it answers is called. Without anybody to tell, the process ends. */
  onInterrupt(handler: (signal: "SIGINT" | "SIGTERM") => void): () => void;
  /** Ends the process at once. */
  leave(code: number): void;
  /** Opens an address in the browser of whoever sits there. */
  open(url: string): void;
  readonly fetch: typeof fetch;
}
