import { emitKeypressEvents, type Interface, type Key, createInterface as readlineOn } from "node:readline";
import type { Keyboard, Sink } from "./io.ts";

interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  readonly screen: NodeJS.WriteStream;
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** A dumb terminal echoes the keys itself and sends Ctrl-C as a signal. */
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
 * deletes that line, so that input and output never mix.
 */
export class TerminalKeyboard implements Keyboard {
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

  /** Releases the output when the user has deleted the whole line. */
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
    // Discards the typed line, as a shell does.
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
