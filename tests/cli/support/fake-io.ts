import type { Io, Sink } from "../../../src/cli/io.ts";
import { BrokenPipe } from "../../../src/cli/io.ts";
import { main } from "../../../src/cli/main.ts";

type Interrupt = Parameters<Io["onInterrupt"]>[0];

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface FakeOptions {
  readonly cwd: string;
  readonly stdin?: string;
  readonly env?: { readonly [name: string]: string };
  /** A terminal on both sides, where this is answered to questions, one after the other. */
  readonly answers?: readonly (string | undefined)[];
  readonly isTerminal?: boolean;
  /** Told what is written, with the means to interrupt, and to type a line that nothing has asked for. */
  readonly onWrite?: (written: string, interrupt: () => void, type: (line: string) => void) => void;
  /** stdout breaks after so many writes. */
  readonly breaksAfter?: number;
  readonly now?: () => number;
  readonly columns?: number;
}

/** Runs a command in this process; the demo speaks without pauses. */
export async function run(args: readonly string[], options: FakeOptions): Promise<Ran> {
  const fake = new Fake(options);
  const code = await main(args, fake.io);
  return { code, stdout: fake.stdout, stderr: fake.stderr };
}

class Fake {
  stdout = "";
  stderr = "";
  readonly io: Io;

  constructor({
    cwd,
    stdin = "",
    env = {},
    answers,
    isTerminal,
    onWrite,
    breaksAfter,
    now,
    columns = 100,
  }: FakeOptions) {
    const isTty = isTerminal ?? answers !== undefined;
    const left = [...(answers ?? [])];
    const handlers = new Set<Interrupt>();
    const interrupt = (): void => {
      for (const handler of [...handlers]) handler("SIGINT");
    };
    let listener: ((line: string) => void) | undefined;
    let writes = 0;
    const sink = (write: (text: string) => void): Sink => ({
      isTerminal: isTty,
      columns,
      write: async (text) => {
        write(text);
        onWrite?.(text, interrupt, (line) => listener?.(line));
      },
    });
    this.io = {
      stdout: sink((text) => {
        if (breaksAfter !== undefined && writes++ >= breaksAfter) throw new BrokenPipe();
        this.stdout += text;
      }),
      stderr: sink((text) => {
        this.stderr += text;
      }),
      env: { HEDDLE_DEMO_WORD_MS: "0", ...env },
      cwd,
      now: now ?? Date.now,
      stdinIsTerminal: isTty,
      lines: async function* () {
        yield* stdin.split("\n");
      },
      text: async () => stdin,
      bytes: async function* () {
        yield Buffer.from(stdin);
      },
      every: (_ms, again) => {
        again();
        return () => undefined;
      },
      ask: async (question) => {
        this.stderr += question;
        return left.shift();
      },
      keyboard: () => ({
        stdout: this.io.stdout,
        stderr: this.io.stderr,
        isInterrupted: false,
        line: this.io.ask,
        ask: this.io.ask,
        listen: (handler) => {
          listener = handler;
          return () => (listener = undefined);
        },
        close: () => undefined,
      }),
      onInterrupt: (handler) => {
        handlers.add(handler);
        return () => handlers.delete(handler);
      },
      leave: (code) => {
        throw new Error(`left with ${code}`);
      },
      open: (url) => {
        this.stderr += `opened ${url}\n`;
      },
      fetch,
    };
  }
}
