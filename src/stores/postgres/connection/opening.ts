import { storeClosed } from "../../errors.ts";
import { isTimeout } from "../errors.ts";
import { atMost } from "./at-most.ts";
import { withDeadline } from "./call-deadline.ts";

/** How long closing a resource may take. */
const END_MS = 5000;

export interface OpeningOptions<Resource> {
  /** Must stop and clean up when the signal aborts. */
  readonly open: (signal: AbortSignal) => Promise<Resource>;
  readonly end: (resource: Resource) => Promise<void>;
  /** The deadline of each use, in milliseconds. */
  readonly deadlineMs: number;
}

/** One attempt to open the resource, and the pending uses of it. */
interface Attempt<Resource> {
  readonly resource: Promise<Resource>;
  readonly uses: Set<Promise<unknown>>;
  readonly givenUp: AbortController;
}

/**
 * Opens a resource on first use. A failure rejects the calls that wait for it; the next call retries. After a timeout the
 * next call opens a new resource, because connections to a silent server can stay open for minutes.
 */
export class Opening<Resource> {
  readonly #options: OpeningOptions<Resource>;
  readonly #attempts = new Set<Attempt<Resource>>();
  #current: Attempt<Resource> | undefined;
  #isClosed = false;

  constructor(options: OpeningOptions<Resource>) {
    this.#options = options;
  }

  async use<Result>(work: (resource: Resource) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw storeClosed();
    this.#current ??= this.#open();
    const attempt = this.#current;
    const use = withDeadline(this.#options.deadlineMs, attempt.resource.then(work));
    attempt.uses.add(use);
    try {
      return await use;
    } catch (error) {
      if (isTimeout(error)) this.#replace(attempt);
      throw error;
    } finally {
      attempt.uses.delete(use);
    }
  }

  /** Waits for pending uses, at most `patienceMs`, then closes all resources. */
  async close(patienceMs: number): Promise<void> {
    this.#isClosed = true;
    const attempts = [...this.#attempts];
    await atMost(patienceMs, Promise.allSettled(attempts.flatMap(({ uses }) => [...uses])));
    await Promise.all(attempts.map((attempt) => this.#end(attempt)));
  }

  #open(): Attempt<Resource> {
    const givenUp = new AbortController();
    const attempt = { resource: this.#options.open(givenUp.signal), uses: new Set<Promise<unknown>>(), givenUp };
    this.#attempts.add(attempt);
    attempt.resource.catch(() => {
      this.#attempts.delete(attempt);
      if (this.#current === attempt) this.#current = undefined;
    });
    return attempt;
  }

  /** Ends the resource after its other uses have settled, each within its own deadline. */
  #replace(attempt: Attempt<Resource>): void {
    if (this.#current !== attempt) return;
    this.#current = undefined;
    void Promise.allSettled(attempt.uses).then(() => this.#end(attempt));
  }

  async #end(attempt: Attempt<Resource>): Promise<void> {
    attempt.givenUp.abort();
    const ended = attempt.resource.then(this.#options.end, () => {}); // a resource that never opened needs no end
    await atMost(END_MS, ended);
    this.#attempts.delete(attempt);
  }
}
