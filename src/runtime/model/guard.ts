import type { RuntimePorts } from "../ports.ts";
import { ModelError } from "./error.ts";

/**
 * Waits for a model, but not for longer than anybody wants: an abort or a silence that lasts too long ends the wait at
 * once, whether the package looks at its signal or not. What it does later is neither awaited nor an unhandled rejection.
 */
export class Guard {
  readonly #outer: AbortSignal | undefined;
  readonly #ports: RuntimePorts;
  readonly #inner = new AbortController();
  #stopped: ModelError | undefined;
  #interrupt: ((error: ModelError) => void) | undefined;

  constructor(outer: AbortSignal | undefined, ports: RuntimePorts) {
    this.#outer = outer;
    this.#ports = ports;
    if (outer?.aborted) this.#onAbort();
    else outer?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** For the package: it is aborted when the wait is over for any reason. */
  get signal(): AbortSignal {
    return this.#inner.signal;
  }

  /** `late` says what it is when it takes longer than that. */
  until<T>(begin: () => PromiseLike<T>, timeoutMs?: number, late: (ms: number) => ModelError = silent): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#stopped !== undefined) {
        reject(this.#stopped);
        return;
      }
      let done = (): void => {};
      const end = (): void => {
        done();
        this.#interrupt = undefined;
      };
      this.#interrupt = (error) => {
        end();
        reject(error);
      };
      if (timeoutMs !== undefined) done = this.#ports.after(timeoutMs, () => this.#stop(late(timeoutMs)));
      started(begin).then(
        (value) => {
          end();
          resolve(value);
        },
        (error: unknown) => {
          end();
          reject(error);
        },
      );
    });
  }

  /** Nothing is waited for any more. */
  release(): void {
    this.#outer?.removeEventListener("abort", this.#onAbort);
  }

  /** Tells the package that nobody listens any more. */
  abandon(): void {
    if (!this.#inner.signal.aborted) this.#inner.abort();
  }

  readonly #onAbort = (): void => this.#stop(aborted());

  #stop(error: ModelError): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = error;
    try {
      this.#inner.abort(this.#outer?.aborted ? this.#outer.reason : error);
    } finally {
      this.#interrupt?.(error);
    }
  }
}

/** Packages without types may throw where they should reject, or give no promise at all. */
async function started<T>(begin: () => PromiseLike<T>): Promise<T> {
  return await begin();
}

function aborted(): ModelError {
  return new ModelError({ code: "model_aborted", message: "The model call was aborted by its signal." });
}

function silent(ms: number): ModelError {
  return new ModelError({
    code: "model_stream_idle",
    message: `The model sent nothing for ${ms} ms. Try again, or raise streamIdleTimeoutMs if it thinks that long.`,
    retryable: true,
  });
}
