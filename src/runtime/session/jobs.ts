interface Job {
  readonly run: () => Promise<void>;
  readonly fail: (why: unknown) => void;
}

/** Work that is done piece by piece, one after the other. */
export class Jobs {
  readonly #waiting: Job[] = [];
  #working: Promise<void> | undefined;
  #halted: { readonly why: unknown } | undefined;
  #closed: { readonly why: unknown } | undefined;

  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  add<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    return this.#enter(work, (job) => this.#waiting.push(job));
  }

  /** Before anything else that waits. */
  addNext<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    return this.#enter(work, (job) => this.#waiting.unshift(job));
  }

  /** Refuses everything, also what waits, but for `restart`. */
  halt(why: unknown): void {
    this.#halted = { why };
    for (const { fail } of this.#waiting.splice(0)) fail(why);
  }

  /** Done also when halted; when it succeeds, work is taken again. */
  restart(work: () => Promise<void>): Promise<void> {
    const halted = this.#halted;
    return this.#admitted(
      async () => {
        await work();
        if (this.#halted === halted) this.#halted = undefined;
      },
      (job) => this.#waiting.push(job),
    );
  }

  /** Refuses everything for good; resolves when what is being done is done. */
  async close(why: unknown): Promise<void> {
    this.#closed ??= { why };
    for (const { fail } of this.#waiting.splice(0)) fail(this.#closed.why);
    await this.#working;
  }

  #enter<Answer>(work: () => Promise<Answer>, place: (job: Job) => void): Promise<Answer> {
    if (this.#halted !== undefined && this.#closed === undefined) return Promise.reject(this.#halted.why);
    return this.#admitted(work, place);
  }

  #admitted<Answer>(work: () => Promise<Answer>, place: (job: Job) => void): Promise<Answer> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed.why);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    place({ run: () => work().then(resolve, reject), fail: reject });
    if (this.#working === undefined) this.#begin();
    return promise;
  }

  /** The first piece begins at once, and may add others: by then it must be known that work is under way. */
  #begin(): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#working = promise;
    void this.#work().then(resolve);
  }

  async #work(): Promise<void> {
    for (let job = this.#waiting.shift(); job !== undefined; job = this.#waiting.shift()) await job.run();
    this.#working = undefined;
  }
}
