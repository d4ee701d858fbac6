import { randomBytes } from "node:crypto";
import { escapeHidden, visibleText } from "../thread/hidden-characters.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";
import { BrokenPipe, type Io, type Sink } from "./io.ts";

/** The codes that begin and end a style. */
const STYLES = {
  ...{ bold: [1, 22], dim: [2, 22] },
  ...{ red: [31, 39], green: [32, 39], yellow: [33, 39], magenta: [35, 39], cyan: [36, 39] },
} as const;

type Style = keyof typeof STYLES;

/** Marks the codes that this process writes, so that it can escape those in a text of a model or a tool. */
const KEY = randomBytes(6).toString("hex");
const MARK = `\u001b[${KEY}:`;

export type Paint = (style: Style, text: string) => string;

interface OutputOptions {
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
  readonly "no-color"?: boolean | undefined;
}

/** The output of a command. Data goes to stdout, everything else to stderr. */
export class Output {
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  /** For stdout. */
  readonly paint: Paint;
  /** For stderr. */
  readonly paintError: Paint;
  readonly #io: Io;
  /** Half of a character at the end of the last text, and the end of what was written. */
  #half = "";
  #end = "";

  constructor(io: Io, options: OutputOptions) {
    this.#io = io;
    this.isJson = options.json === true;
    this.isQuiet = options.quiet === true;
    this.paint = painter(io, io.stdout, options["no-color"] === true);
    this.paintError = painter(io, io.stderr, options["no-color"] === true);
  }

  get width(): number {
    const { stdout, env } = this.#io;
    return stdout.isTerminal ? stdout.columns : (columnsIn(env["COLUMNS"]) ?? 120);
  }

  get isOnTerminal(): boolean {
    return this.#io.stdout.isTerminal;
  }

  get errorWidth(): number {
    return this.#io.stderr.columns;
  }

  /** Whether a progress bar can be shown on stderr. */
  get showsProgress(): boolean {
    return this.#io.stderr.isTerminal && this.#io.env["TERM"] !== "dumb" && !this.isQuiet;
  }

  async data(line: string): Promise<void> {
    await this.raw(`${line}\n`);
  }

  /** Writes text to stdout as it is. At a terminal, hidden, reordering and control characters are escaped. */
  async raw(text: string): Promise<void> {
    if (!this.#io.stdout.isTerminal) return this.#io.stdout.write(withCodes(text));
    // A stream may be cut between the halves of a character, or before a joiner.
    const all = `${this.#half}${text}`;
    const whole = /[\ud800-\udbff]$/.test(all) ? all.slice(0, -1) : all;
    this.#half = all.slice(whole.length);
    await this.#io.stdout.write(shown(whole, this.#end));
    this.#end = `${this.#end}${whole}`.slice(-3);
  }

  async json(value: unknown): Promise<void> {
    const text = JSON.stringify(value);
    await this.#io.stdout.write(`${this.#io.stdout.isTerminal ? escapeHidden(text) : text}\n`);
  }

  /** The text as `error` would write it, for a question. */
  question(text: string): string {
    return shown(text);
  }

  async info(line: string): Promise<void> {
    if (!this.isQuiet) await this.error(line);
  }

  /** Writes a line to stderr, even with --quiet. It is for people, so hidden characters are escaped in a pipe too. */
  async error(line: string): Promise<void> {
    await this.#talk(`${shown(line)}\n`);
  }

  /** Replaces the last line of the terminal with a status text. */
  async status(text: string): Promise<void> {
    if (this.showsProgress) await this.#talk(`\r\u001b[K${shown(text)}`);
  }

  async #talk(text: string): Promise<void> {
    try {
      await this.#io.stderr.write(text);
    } catch (error) {
      if (!(error instanceof BrokenPipe)) throw error; // ignored: stderr is closed, but stdout may still have a reader
    }
  }
}

/** Reads the width from COLUMNS, which also applies to a pipe. */
function columnsIn(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,3}$/.test(text) ? Number(text) : undefined;
}

function painter(io: Io, sink: Sink, isOff: boolean): Paint {
  const { NO_COLOR, FORCE_COLOR, TERM } = io.env;
  const isForced = FORCE_COLOR !== undefined && FORCE_COLOR !== "0" && FORCE_COLOR !== "false";
  const isOn = !isOff && !NO_COLOR && (isForced || (sink.isTerminal && TERM !== "dumb" && FORCE_COLOR === undefined));
  return (style, text) => {
    const [begin, end] = STYLES[style];
    return isOn ? `${MARK}${begin}m${text}${MARK}${end}m` : text;
  };
}

const CODES = new RegExp(`\\u001b\\[${KEY}:(\\d+)m`);

/** A text with the codes of its styles, and nothing else that a terminal obeys or hides. */
function shown(text: string, before = ""): string {
  let end = before;
  return text.split(CODES).reduce((done, part, at) => {
    if (at % 2 === 1) return `${done}\u001b[${part}m`;
    const visible = visibleText(part, end);
    end = `${end}${part}`.slice(-3);
    return done + visible;
  }, "");
}

function withCodes(text: string): string {
  return text.split(CODES).reduce((done, part, at) => done + (at % 2 === 1 ? `\u001b[${part}m` : part), "");
}

/** Prints rows. Column titles are printed only at a terminal, so that a pipe gets rows alone. */
export async function printTable(
  out: Output,
  head: readonly string[],
  rows: readonly (readonly string[])[],
  isDim: (row: number) => boolean = () => false,
): Promise<void> {
  if (rows.length === 0) return;
  const heads = out.isOnTerminal ? [head] : [];
  const lines = table([...heads, ...rows], out.width);
  for (const [index, line] of lines.entries()) {
    const row = index - heads.length;
    await out.data(row < 0 ? out.paint("bold", line) : isDim(row) ? out.paint("dim", line) : line);
  }
}

const WIDTH = 24;
/** The smallest width of the bar, in cells. */
const LEAST = 6;
const OFTEN_MS = 80;
/** Milliseconds before the progress is shown. Shorter work shows none. */
const LONG_MS = 400;
const FRAMES = ["-", "\\", "|", "/"];

type Clock = Pick<Io, "now" | "every">;

/** A progress bar on stderr. It prints nothing if stderr is not a terminal. */
export class Progress {
  readonly #out: Output;
  readonly #what: string;
  readonly #clock: Clock;
  readonly #numbers: (count: number) => string;
  #shownAt = Number.NEGATIVE_INFINITY;

  constructor(
    out: Output,
    what: string,
    clock: Clock,
    numbers = (count: number): string => count.toLocaleString("en-US"),
  ) {
    this.#out = out;
    this.#what = what;
    this.#clock = clock;
    this.#numbers = numbers;
  }

  /** Shows the progress. If the total is unknown, no bar is shown. */
  async at(done: number, total: number | undefined): Promise<void> {
    const now = this.#clock.now();
    if (!this.#out.showsProgress || now - this.#shownAt < OFTEN_MS) return;
    this.#shownAt = now;
    if (total === undefined) return this.#show(`${this.#what} ${this.#numbers(done)}`);
    const part = total === 0 ? 1 : Math.min(1, done / total);
    const numbers = `${this.#numbers(done)} of ${this.#numbers(total)}`;
    const width = Math.min(WIDTH, this.#out.errorWidth - this.#what.length - numbers.length - 3);
    if (width < LEAST) return this.#show(`${this.#what} ${numbers}`);
    const bar = "█".repeat(Math.round(part * width)).padEnd(width, "░");
    await this.#out.status(`${this.#what} ${this.#out.paintError("cyan", bar)} ${numbers}`);
  }

  /** Shows that work of unknown length is running. */
  async during<Result>(work: Promise<Result>): Promise<Result> {
    const began = this.#clock.now();
    let frame = 0;
    const stop = this.#clock.every(2 * OFTEN_MS, () => {
      const now = this.#clock.now();
      if (!this.#out.showsProgress || now - began < LONG_MS) return;
      this.#shownAt = now;
      void this.#show(`${this.#what} ${FRAMES[frame++ % FRAMES.length]} ${Math.floor((now - began) / 1000)} s`);
    });
    try {
      return await work;
    } finally {
      stop();
      await this.end();
    }
  }

  async end(): Promise<void> {
    if (this.#shownAt === Number.NEGATIVE_INFINITY) return;
    this.#shownAt = Number.NEGATIVE_INFINITY;
    await this.#out.status("");
  }

  /** Shows the text on one line, because a wrapped line could not be erased. */
  async #show(text: string): Promise<void> {
    await this.#out.status(line(text, this.#out.errorWidth - 1));
  }
}

/** Formats bytes as MiB. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toLocaleString("en-US", { maximumFractionDigits: 1, minimumFractionDigits: 1 })} MiB`;
}

/** The text on one line, shortened to `width` characters. */
export function line(text: string, width: number): string {
  const flat = text.trim().replaceAll(/\s+/g, " ");
  const letters = [...flat];
  return letters.length <= width ? flat : `${letters.slice(0, Math.max(0, width - 1)).join("")}…`;
}

/** Returns the text of a content, with at least one line for each part. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content === undefined ? "" : JSON.stringify(content);
  return content.map(partText).filter(Boolean).join("\n");
}

function partText(part: JsonValue): string {
  if (!isPlainObject(part)) return JSON.stringify(part);
  const { type, text, filename, mediaType } = part as JsonObject; // content is JSON
  if (type === "text") return String(text ?? "");
  if (type === "thinking") return `(thinking) ${String(text ?? "")}`;
  if (type === "file") return `[file ${String(filename ?? mediaType ?? "")}]`;
  return type === "tool_call" ? "" : `[${String(type)}]`;
}

/** Aligns rows in columns. The last column gets the rest of the width, and its text is shortened. */
export function table(rows: readonly (readonly string[])[], width: number): readonly string[] {
  const columns = Math.max(0, ...rows.map(({ length }) => length));
  const widths = Array.from({ length: columns }, (_, at) =>
    Math.max(...rows.map((row) => [...(row[at] ?? "")].length)),
  );
  return rows.map((given) => {
    const row = given.map((cell) => cell.replaceAll(/[\n\r\t]+/g, " ")); // a value must not begin a line of its own
    const before = row.slice(0, -1).map((cell, at) => cell.padEnd(widths[at] ?? 0));
    const used = before.reduce((sum, cell) => sum + [...cell].length + 2, 0);
    return [...before, line(row.at(-1) ?? "", Math.max(20, width - used))].join("  ").trimEnd();
  });
}

/** Wraps text to `width`. A longer word gets a line of its own. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

export function when(at: number): string {
  return new Date(at).toISOString().replace("T", " ").slice(0, 19);
}

export function indented(text: string, by = "  "): string {
  return text.replaceAll(/^(?=.)/gm, by);
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en-US")} ${number === 1 ? one : many}`;
}
