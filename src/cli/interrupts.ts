import { CliError, EXIT } from "./exit.ts";
import type { Io } from "./io.ts";
import type { Output } from "./output.ts";

/** Ctrl-C: once is asked nicely, twice is left. */
export class Interrupts {
  readonly #off: () => void;
  #cancel: (() => Promise<unknown>) | undefined;
  #signal: "SIGINT" | "SIGTERM" | undefined;

  constructor(io: Io, out: Output) {
    this.#off = io.onInterrupt((signal) => {
      if (this.#signal !== undefined) {
        io.leave(this.exit);
        return;
      }
      void out.say(`${io.stderr.isTerminal ? "\n" : ""}Cancelling. Again leaves at once.`);
      this.cancel(signal);
    });
  }

  /** As Ctrl-C does. */
  cancel(signal: "SIGINT" | "SIGTERM" = "SIGINT"): void {
    this.#signal ??= signal;
    this.#run();
  }

  get isAsked(): boolean {
    return this.#signal !== undefined;
  }

  /** What a shell expects of somebody who was told to go. */
  get exit(): typeof EXIT.interrupted | typeof EXIT.terminated {
    return this.#signal === "SIGTERM" ? EXIT.terminated : EXIT.interrupted;
  }

  /** Ends work that goes step by step, where it was asked for. */
  check(): void {
    if (!this.isAsked) return;
    throw new CliError({
      code: "interrupted",
      exit: this.exit,
      message: "It was interrupted, and nothing is left of it.",
    });
  }

  /** What is to be done about it; at once, where it was asked for already. */
  onCancel(cancel: () => Promise<unknown>): void {
    this.#cancel = cancel;
    if (this.isAsked) this.#run();
  }

  #run(): void {
    const cancel = this.#cancel;
    this.#cancel = undefined;
    cancel?.().catch(() => undefined); // it has ended meanwhile
  }

  /** Leaves Ctrl-C to others again. */
  end(): void {
    this.#off();
  }
}

/** Does something that Ctrl-C cancels. */
export async function interruptible<Result>(
  { io, out }: { readonly io: Io; readonly out: Output },
  work: (interrupts: Interrupts) => Promise<Result>,
): Promise<Result> {
  const interrupts = new Interrupts(io, out);
  try {
    return await work(interrupts);
  } finally {
    interrupts.end();
  }
}
