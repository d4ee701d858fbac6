import { spawn } from "node:child_process";
import {
  createInterface,
  emitKeypressEvents,
  type Interface,
  type Key,
  createInterface as readlineOn,
} from "node:readline";
import { text } from "node:stream/consumers";
import type { WriteStream } from "node:tty";
import { BrokenPipe, type Io, type Keyboard, type Sink } from "./io.ts";

type Interrupt = Parameters<Io["onInterrupt"]>[0];

/** The input and output of this process. */
export function systemIo(): Io {
  const handlers = new Set<Interrupt>();
  let signaledAt = Number.NEGATIVE_INFINITY;
  const signaled = (signal: "SIGINT" | "SIGTERM"): void => {
    const now = performance.now();
    if (now - signaledAt < SAME_MS) return;
    signaledAt = now;
    for (const handler of [...handlers]) handler(signal);
  };
  const [stdout, stderr] = [sinkOf(process.stdout), sinkOf(process.stderr)];
  return {
    stdout,
    stderr,
    env: process.env,
    cwd: process.cwd(),
    now: Date.now,
    stdinIsTerminal: process.stdin.isTTY === true,
    lines: () => createInterface({ input: process.stdin }),
    text: () => text(process.stdin),
    bytes: () => process.stdin,
    every: (ms, again) => {
      const timer = setInterval(again, ms).unref();
      return () => clearInterval(timer);
    },
    keyboard: () =>
      new TerminalKeyboard({
        stdin: process.stdin,
        screen: process.stderr,
        stdout,
        stderr,
        isDumb: process.env["TERM"] === "dumb",
        interrupted: () => signaled("SIGINT"),
      }),
    ask: (question) => ask(question, () => (handlers.size > 0 ? signaled("SIGINT") : process.exit(130))),
    onInterrupt: (handler) => {
      if (handlers.size === 0) for (const signal of SIGNALS) process.on(signal, signaled);
      handlers.add(handler);
      return () => {
        handlers.delete(handler);
        if (handlers.size === 0) for (const signal of SIGNALS) process.off(signal, signaled);
      };
    },
    leave: (code) => process.exit(code),
    open,
    fetch: (...given) => fetch(...given),
  };
}

/**
 * Milliseconds in which a second Ctrl-C is ignored. npx and other parents forward a signal that the terminal sent
 * already.
 */
const SAME_MS = 250;
const SIGNALS = ["SIGINT", "SIGTERM"] as const;

function sinkOf(stream: NodeJS.WriteStream | WriteStream): Sink {
  let broken = false;
  let drained = Promise.withResolvers<void>();
  stream.on("error", () => {
    broken = true; // usually EPIPE; after any error, no more can be written
    drained.resolve();
  });
  stream.on("drain", () => {
    drained.resolve();
    drained = Promise.withResolvers<void>();
  });
  return {
    isTerminal: stream.isTTY === true,
    get columns() {
      return stream.columns || 100; // some terminals report a width of 0
    },
    write: async (piece) => {
      if (broken) throw new BrokenPipe();
      if (!stream.write(piece)) await drained.promise;
      if (broken) throw new BrokenPipe();
    },
  };
}

/** Asks one question. `interrupted` is called on Ctrl-C, because a terminal in raw mode sends no signal. */
function ask(question: string, interrupted: () => void): Promise<string | undefined> {
  const reader: Interface = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    reader.on("SIGINT", () => {
      reader.close();
      interrupted();
    });
    reader.on("close", () => resolve(undefined));
    reader.question(question, (answer) => {
      resolve(answer);
      reader.close();
    });
  });
}

function open(url: string): void {
  const [command, ...args] =
    process.platform === "darwin"
      ? ["open"]
      : process.platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler"]
        : ["xdg-open"];
  if (command === undefined) return;
  const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined); // ignored: there is no browser, and the address was printed before
  child.unref();
}

interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  readonly screen: NodeJS.WriteStream;
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** Whether the terminal is "dumb". Such a terminal echoes the keys itself and sends Ctrl-C as a signal. */
  readonly isDumb: boolean;
  /** Called on Ctrl-C: a terminal in raw mode sends no signal for it. */
  readonly interrupted: () => void;
}

interface Question {
  readonly answer: (line: string | undefined) => void;
}

const PROMPT = "> ";

/**
 * A terminal with output while the user types. The first letter starts a new line. Output waits until the user sends or
 * deletes the line, so that input and output never mix.
 */
class TerminalKeyboard implements Keyboard {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly #terminal: Terminal;
  readonly #reader: Interface;
  readonly #early: string[] = [];
  #question: Question | undefined;
  #handler: ((line: string) => void) | undefined;
  #typing: PromiseWithResolvers<void> | undefined;
  #isMidLine = false;
  #isInterrupted = false;
  #isClosed = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    const { stdin, screen, isDumb } = terminal;
    this.stdout = this.#held(terminal.stdout);
    this.stderr = this.#held(terminal.stderr);
    this.#reader = readlineOn({ input: stdin, output: screen, terminal: !isDumb, prompt: "", historySize: 200 });
    if (!isDumb) {
      emitKeypressEvents(stdin, this.#reader);
      stdin.prependListener("keypress", this.#before);
      stdin.on("keypress", this.#after);
    }
    this.#reader.on("line", (line) => this.#entered(line));
    this.#reader.on("SIGINT", () => this.#interrupt());
    this.#reader.on("close", () => {
      this.#isClosed = true;
      if (this.#question !== undefined) screen.write("\n");
      this.#released();
      this.#answer(undefined);
    });
  }

  get isInterrupted(): boolean {
    return this.#isInterrupted;
  }

  line(prompt: string): Promise<string | undefined> {
    const early = this.#early.shift();
    return early === undefined ? this.ask(prompt) : Promise.resolve(early);
  }

  ask(question: string): Promise<string | undefined> {
    this.#isInterrupted = false;
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((answer) => {
      this.#question = { answer };
      this.#reader.setPrompt(question);
      this.#reader.prompt(true);
    });
  }

  listen(handler: (line: string) => void): () => void {
    this.#handler = handler;
    return () => {
      if (this.#handler === handler) this.#handler = undefined;
    };
  }

  close(): void {
    const { stdin } = this.#terminal;
    stdin.off("keypress", this.#before);
    stdin.off("keypress", this.#after);
    this.#reader.close();
  }

  readonly #before = (letters: string | undefined, key: Key | undefined): void => {
    const isLetter = letters !== undefined && letters >= " " && letters !== "\u007f" && key?.ctrl !== true;
    if (!isLetter || this.#question !== undefined || this.#typing !== undefined) return;
    this.#typing = Promise.withResolvers();
    if (this.#isMidLine) this.#terminal.screen.write("\n");
    this.#isMidLine = false;
    this.#reader.setPrompt(PROMPT);
    this.#reader.prompt(true);
  };

  /** Writes the delayed output when the user has deleted the whole line. */
  readonly #after = (): void => {
    if (this.#typing === undefined || this.#reader.line !== "") return;
    this.#terminal.screen.write("\r\u001b[K");
    this.#released();
  };

  #entered(line: string): void {
    this.#released();
    if (this.#question !== undefined) this.#answer(line);
    else if (this.#handler !== undefined) this.#handler(line);
    else if (line.trim() !== "") this.#early.push(line);
  }

  #released(): void {
    this.#reader.setPrompt("");
    this.#typing?.resolve();
    this.#typing = undefined;
  }

  #answer(line: string | undefined): void {
    const question = this.#question;
    this.#question = undefined;
    question?.answer(line);
  }

  #interrupt(): void {
    // Deletes the typed line, as a shell does on Ctrl-C.
    if (this.#reader.line !== "") this.#reader.write(null, { ctrl: true, name: "u" });
    this.#terminal.screen.write("^C\n");
    this.#isInterrupted = true;
    this.#released();
    this.#answer(undefined);
    this.#terminal.interrupted();
  }

  #held(sink: Sink): Sink {
    return {
      isTerminal: sink.isTerminal,
      get columns() {
        return sink.columns;
      },
      write: async (text) => {
        while (this.#typing !== undefined && sink.isTerminal) await this.#typing.promise;
        if (sink.isTerminal && text !== "") this.#isMidLine = !text.endsWith("\n");
        await sink.write(text);
      },
    };
  }
}
