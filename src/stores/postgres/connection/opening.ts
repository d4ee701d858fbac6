import { storeClosed } from "../../errors.ts";
import { isTimeout } from "../errors.ts";
import { atMost } from "./at-most.ts";
import { withDeadline } from "./call-deadline.ts";

/** How long the end of a resource may take. */
const END_MS = 5000;

export interface OpeningOptions<Resource> {
  /** Gives up what it has begun when the signal aborts. */
  readonly open: (signal: AbortSignal) => Promise<Resource>;
  readonly end: (resource: Resource) => Promise<void>;
  /** Each use has a deadline. */
  readonly deadlineMs: number;
}

/** One try to open the resource, and what uses it. */
interface Attempt<Resource> {
  readonly resource: Promise<Resource>;
  readonly uses: Set<Promise<unknown>>;
  readonly givenUp: AbortController;
}

/**
 * Opens a resource on first use. A failure is reported to the calls that waited for it; the next call tries again. After
 * a use that met its deadline the next call opens the resource anew, because a server that went silent keeps its
 * connections open for minutes.
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

  /** Waits a while for what is under way, then ends what is open. */
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

  /** Other uses may still be answered, each before its own deadline. */
  #replace(attempt: Attempt<Resource>): void {
    if (this.#current !== attempt) return;
    this.#current = undefined;
    void Promise.allSettled(attempt.uses).then(() => this.#end(attempt));
  }

  async #end(attempt: Attempt<Resource>): Promise<void> {
    attempt.givenUp.abort();
    const ended = attempt.resource.then(this.#options.end, () => {}); // what never opened needs no end
    await atMost(END_MS, ended);
    this.#attempts.delete(attempt);
  }
}
