import { styleText } from "node:util";
import { BrokenPipe } from "./exit.ts";
import type { Io, Sink } from "./io.ts";

type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan" | "magenta";

export type Paint = (style: Style, text: string) => string;

interface OutputOptions {
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
  readonly "no-color"?: boolean | undefined;
}

/** Output of a command: data goes to stdout, everything else to stderr. */
export class Output {
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  /** For stdout. */
  readonly paint: Paint;
  /** For stderr. */
  readonly talk: Paint;
  readonly #io: Io;

  constructor(io: Io, options: OutputOptions) {
    this.#io = io;
    this.isJson = options.json === true;
    this.isQuiet = options.quiet === true;
    this.paint = painter(io, io.stdout, options["no-color"] === true);
    this.talk = painter(io, io.stderr, options["no-color"] === true);
  }

  get width(): number {
    const { stdout, env } = this.#io;
    return stdout.isTerminal ? stdout.columns : (columnsIn(env["COLUMNS"]) ?? 120);
  }

  get isOnTerminal(): boolean {
    return this.#io.stdout.isTerminal;
  }

  get talkWidth(): number {
    return this.#io.stderr.columns;
  }

  /** Whether a progress bar can be shown on stderr. */
  get showsProgress(): boolean {
    return this.#io.stderr.isTerminal && this.#io.env["TERM"] !== "dumb" && !this.isQuiet;
  }

  async data(line: string): Promise<void> {
    await this.raw(`${line}\n`);
  }

  /** Writes text to stdout as it is. At a terminal, control characters are replaced. */
  async raw(text: string): Promise<void> {
    await this.#io.stdout.write(this.#io.stdout.isTerminal ? harmless(text) : text);
  }

  async json(value: unknown): Promise<void> {
    await this.#io.stdout.write(`${JSON.stringify(value)}\n`);
  }

  async say(line: string): Promise<void> {
    if (!this.isQuiet) await this.error(line);
  }

  /** Writes a line to stderr, also with --quiet. */
  async error(line: string): Promise<void> {
    await this.#talk(`${this.#io.stderr.isTerminal ? harmless(line) : line}\n`);
  }

  /** Replaces the last line of the terminal. */
  async status(text: string): Promise<void> {
    if (this.showsProgress) await this.#talk(`\r\u001b[K${text}`);
  }

  async #talk(text: string): Promise<void> {
    try {
      await this.#io.stderr.write(text);
    } catch (error) {
      if (!(error instanceof BrokenPipe)) throw error; // stderr is closed; stdout may still have a reader
    }
  }
}

/** The width from COLUMNS; it applies to a pipe too. */
function columnsIn(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,3}$/.test(text) ? Number(text) : undefined;
}

function painter(io: Io, sink: Sink, isOff: boolean): Paint {
  const { NO_COLOR, FORCE_COLOR, TERM } = io.env;
  const isForced = FORCE_COLOR !== undefined && FORCE_COLOR !== "0" && FORCE_COLOR !== "false";
  const isOn = !isOff && !NO_COLOR && (isForced || (sink.isTerminal && TERM !== "dumb" && FORCE_COLOR === undefined));
  return (style, text) => (isOn ? styleText(style, text, { validateStream: false }) : text);
}

/** Replaces control characters, which could take over the terminal. Color codes stay, because this class writes them. */
function harmless(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
  return text.replaceAll(/\u001b(?!\[\d{1,3}m)|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g, "\ufffd");
}
