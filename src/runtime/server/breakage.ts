import type { Suspension } from "../../agent/event.ts";
import type { Failure } from "../../agent/signal.ts";
import { StaleHolderError, StoreError, ThreadHeldError } from "../../stores/errors.ts";
import type { RuntimePorts } from "../ports.ts";
import { failureOf } from "../request/request-error.ts";

const UNKNOWN = { code: "runtime_failed", message: "The runtime met an error that it does not know." } as const;

/** After a failure the log is read anew: at first soon, then more and more rarely. */
const MEND_MS = 1000;
const LONGEST_MEND_MS = 60_000;

/** After these nothing can be written here any more. */
const LOST: ReadonlySet<string> = new Set(["stale_holder", "store_closed", "thread_held"]);

/** Whether nothing can be written here after this error. */
export function isForGood(error: unknown): boolean {
  return LOST.has(failureOf(error, UNKNOWN).code);
}

/** Where another process has the thread, or the store is away, an end that is emitted here would not be the only one. */
function suspensionOf(error: unknown): Suspension | undefined {
  if (StaleHolderError.isInstance(error) || ThreadHeldError.isInstance(error)) {
    const { holder } = error;
    return { reason: "lost", ...(holder !== undefined && { holder }) };
  }
  const isAway = StoreError.isInstance(error) && (error.retryable || error.code === "store_closed");
  return isAway ? { reason: "store" } : undefined;
}

/** What could not be written: what is held here is not what the log says, until the log has been read anew. */
export class Breakage {
  readonly #ports: RuntimePorts;
  readonly #mend: () => Promise<void>;
  #broken: { readonly error: unknown } | undefined;
  #mending: Promise<void> | undefined;
  #later: (() => void) | undefined;
  #isClosed = false;

  constructor(ports: RuntimePorts, mend: () => Promise<void>) {
    this.#ports = ports;
    this.#mend = mend;
  }

  get isThere(): boolean {
    return this.#broken !== undefined;
  }

  get failure(): Failure {
    return failureOf(this.#broken?.error, UNKNOWN);
  }

  /** Why the request is left open in the log, for whoever can write there; undefined where it has failed. */
  get suspension(): Suspension | undefined {
    return this.#broken && suspensionOf(this.#broken.error);
  }

  get isForGood(): boolean {
    return this.#broken !== undefined && isForGood(this.#broken.error);
  }

  /** What the log was not told is told it also when nobody asks again: its list of threads should not say "running" for ever. */
  begin(error: unknown): void {
    this.#broken = { error };
    if (!this.isForGood) this.#tryLater(MEND_MS);
  }

  /** The log has been read anew. */
  end(): void {
    this.#broken = undefined;
    this.#later?.();
  }

  /** Nobody tries any more unasked. */
  close(): void {
    this.#isClosed = true;
    this.#later?.();
  }

  /** However many ask for it, it is done once. */
  mend(): Promise<void> {
    if (this.#broken === undefined) return Promise.resolve();
    this.#mending ??= this.#mend().finally(() => {
      this.#mending = undefined;
    });
    return this.#mending;
  }

  #tryLater(ms: number): void {
    this.#later?.();
    if (this.#isClosed) return;
    this.#later = this.#ports.after(ms, () => {
      this.mend().catch(() => this.#tryLater(Math.min(2 * ms, LONGEST_MEND_MS)));
    });
  }
}
