/** An arbitrary start time, in whole milliseconds. */
const START = 1_700_000_000_000;

interface Timer {
  readonly at: number;
  readonly n: number;
  readonly run: () => void;
}

/** A virtual clock with timers. `next` advances it to the next timer. */
export class VirtualTime {
  readonly #timers: Timer[] = [];
  #now = START;
  #made = 0;

  get now(): number {
    return this.#now;
  }

  /** Starts a timer. Timers for the same moment fire in the order in which they were started. */
  after(ms: number, run: () => void): () => void {
    const timer: Timer = { at: this.#now + Math.max(0, Math.ceil(ms)), n: this.#made++, run };
    const later = this.#timers.findIndex(({ at }) => at > timer.at);
    this.#timers.splice(later < 0 ? this.#timers.length : later, 0, timer);
    return () => {
      const place = this.#timers.indexOf(timer);
      if (place >= 0) this.#timers.splice(place, 1);
    };
  }

  /** Advances to the next timer and fires it. Returns false if there is none. */
  next(): boolean {
    const timer = this.#timers.shift();
    if (timer === undefined) return false;
    this.#now = Math.max(this.#now, timer.at);
    timer.run();
    return true;
  }
}

/** Runs all pending work that needs no timer. In a simulation, all other work waits for promises. */
export class Turns {
  readonly #channel = new MessageChannel();
  readonly #waiting: (() => void)[] = [];

  constructor() {
    this.#channel.port1.addEventListener("message", () => this.#waiting.shift()?.());
    this.#channel.port1.start();
  }

  /** Resolves when all pending promises have settled. */
  settle(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#channel.port2.postMessage(undefined);
    });
  }

  close(): void {
    this.#channel.port1.close();
  }
}
