import { CliError, EXIT, type Io } from "./io.ts";
import type { Output } from "./output.ts";

/** Handles Ctrl-C: the first one cancels the current work, the second one ends the process. */
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
      void out.info(`${io.stderr.isTerminal ? "\n" : ""}Cancelling. Press again to exit at once.`);
      this.cancel(signal);
    });
  }

  /** Does the same as Ctrl-C. */
  cancel(signal: "SIGINT" | "SIGTERM" = "SIGINT"): void {
    this.#signal ??= signal;
    this.#run();
  }

  get isInterrupted(): boolean {
    return this.#signal !== undefined;
  }

  /** The exit code that a shell expects after this signal. */
  get exit(): typeof EXIT.interrupted | typeof EXIT.terminated {
    return this.#signal === "SIGTERM" ? EXIT.terminated : EXIT.interrupted;
  }

  /** Throws if the user has pressed Ctrl-C. Work in several steps calls this between steps. */
  check(): void {
    if (!this.isInterrupted) return;
    throw new CliError({
      code: "interrupted",
      exit: this.exit,
      message: "Interrupted. The incomplete output has been removed. Run the command again.",
    });
  }

  /** Sets the function that Ctrl-C calls. If Ctrl-C was pressed already, calls it now. */
  onCancel(cancel: () => Promise<unknown>): void {
    this.#cancel = cancel;
    if (this.isInterrupted) this.#run();
  }

  #run(): void {
    const cancel = this.#cancel;
    this.#cancel = undefined;
    cancel?.().catch(() => undefined); // ignored: the request may have ended already
  }

  /** Stops handling Ctrl-C. */
  end(): void {
    this.#off();
  }
}

/** Runs `work`, a server. `stopped` resolves at the first Ctrl-C or SIGTERM; the second one ends the process. */
export async function untilStopped<Result>(io: Io, work: (stopped: Promise<void>) => Promise<Result>): Promise<Result> {
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  let isAsked = false;
  const off = io.onInterrupt(() => {
    if (isAsked) io.leave(EXIT.interrupted);
    isAsked = true;
    resolve();
  });
  try {
    return await work(stopped);
  } finally {
    off();
  }
}

/** Runs `work`, which Ctrl-C can cancel. */
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
