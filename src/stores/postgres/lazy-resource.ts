import { storeClosed } from "../errors.ts";
import { untilAborted, waitAtMost } from "./deadlines.ts";
import { isTimeout } from "./errors.ts";

/** How long closing a resource may take. */
const CLOSE_TIMEOUT_MS = 5000;

interface LazyResourceOptions<Resource> {
  /** Must stop and clean up when the signal aborts. */
  readonly open: (signal: AbortSignal) => Promise<Resource>;
  readonly end: (resource: Resource) => Promise<void>;
}

/** One attempt to open the resource, and the pending uses of it. */
interface OpenAttempt<Resource> {
  readonly resource: Promise<Resource>;
  readonly uses: Set<Promise<unknown>>;
  readonly abort: AbortController;
  /** How many uses the server has answered. */
  answers: number;
}

/**
 * Opens a resource on first use. A failure rejects the calls that wait for it; the next call retries. After a timeout the
 * next call opens a new resource, because connections to a silent server can stay open for minutes.
 */
export class LazyResource<Resource> {
  readonly #options: LazyResourceOptions<Resource>;
  readonly #attempts = new Set<OpenAttempt<Resource>>();
  #current: OpenAttempt<Resource> | undefined;
  #isClosed = false;

  constructor(options: LazyResourceOptions<Resource>) {
    this.#options = options;
  }

  /** Waits until the signal aborts, at most. The reason of a deadline is `store_timeout`. */
  async use<Result>(signal: AbortSignal, work: (resource: Resource) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw storeClosed();
    this.#current ??= this.#open();
    const attempt = this.#current;
    const { answers } = attempt;
    const use = untilAborted(signal, attempt.resource.then(work));
    attempt.uses.add(use);
    try {
      const result = await use;
      attempt.answers++;
      return result;
    } catch (error) {
      // A server that answered other calls meanwhile is alive, and only this call is slow.
      if (isTimeout(error) && attempt.answers === answers) this.#replace(attempt);
      throw error;
    } finally {
      attempt.uses.delete(use);
    }
  }

  /** Waits for pending uses, at most `patienceMs`, then closes all resources. */
  async close(patienceMs: number): Promise<void> {
    this.#isClosed = true;
    const attempts = [...this.#attempts];
    await waitAtMost(patienceMs, Promise.allSettled(attempts.flatMap(({ uses }) => [...uses])));
    await Promise.all(attempts.map((attempt) => this.#end(attempt)));
  }

  #open(): OpenAttempt<Resource> {
    const abort = new AbortController();
    const attempt = {
      resource: this.#options.open(abort.signal),
      uses: new Set<Promise<unknown>>(),
      abort,
      answers: 0,
    };
    this.#attempts.add(attempt);
    attempt.resource.catch(() => {
      this.#attempts.delete(attempt);
      if (this.#current === attempt) this.#current = undefined;
    });
    return attempt;
  }

  /** Removes a broken resource. It is closed once the calls that still use it have ended, each by its own deadline. */
  #replace(attempt: OpenAttempt<Resource>): void {
    if (this.#current !== attempt) return;
    this.#current = undefined;
    void Promise.allSettled(attempt.uses).then(() => this.#end(attempt));
  }

  async #end(attempt: OpenAttempt<Resource>): Promise<void> {
    attempt.abort.abort();
    const ended = attempt.resource.then(this.#options.end, () => {}); // a resource that never opened needs no end
    await waitAtMost(CLOSE_TIMEOUT_MS, ended);
    this.#attempts.delete(attempt);
  }
}
