import type { RuntimePorts } from "../ports.ts";

export interface TimeLimit {
  /** How long the request may still be at work. */
  readonly afterMs: number;
  /** What it was at work before, in processes that have ended. */
  readonly workedMs: number;
  /** How far the log may be behind the time at work. */
  readonly noteEveryMs: number;
}

/** What a timer asks and calls. */
export interface TimeWatch {
  /** The limit is reached. */
  readonly over: () => void;
  /** What the log tells of the time at work. */
  readonly loggedMs: () => number;
  /** The log is `noteEveryMs` behind. */
  readonly note: (workedMs: number) => void;
}

/** A time limit that stands still while a request waits for somebody outside, and how long the request was at work. */
export class RequestTimer {
  readonly #ports: RuntimePorts;
  readonly #watch: TimeWatch;
  readonly #everyMs: number;
  #left: number;
  #worked: number;
  #since = 0;
  #stop: (() => void) | undefined;
  #stopNotes: () => void = () => undefined;
  #over = false;

  constructor(ports: RuntimePorts, { afterMs, workedMs, noteEveryMs }: TimeLimit, watch: TimeWatch) {
    this.#ports = ports;
    this.#watch = watch;
    this.#everyMs = noteEveryMs;
    this.#left = afterMs;
    this.#worked = workedMs;
    this.go();
  }

  /** Milliseconds at work up to now, over all starts. */
  get workedMs(): number {
    return Math.round(this.#worked + (this.#stop === undefined ? 0 : this.#elapsed()));
  }

  go(): void {
    if (this.#over || this.#stop !== undefined) return;
    this.#since = this.#ports.monotonic();
    this.#stop = this.#ports.after(this.#left, () => {
      this.#over = true;
      this.#stopNotes();
      this.#watch.over();
    });
    this.#noteLater(this.#dueMs);
  }

  pause(): void {
    if (this.#stop === undefined || this.#over) return;
    this.#stop();
    this.#stopNotes();
    this.#stop = undefined;
    const elapsed = this.#elapsed();
    this.#worked += elapsed;
    this.#left = Math.max(0, this.#left - elapsed);
  }

  cancel(): void {
    this.#stop?.();
    this.#stopNotes();
    this.#stop = undefined;
    this.#over = true;
  }

  /** When the log, as it is now, will be too far behind. */
  get #dueMs(): number {
    return this.#watch.loggedMs() + this.#everyMs - this.workedMs;
  }

  #noteLater(ms: number): void {
    this.#stopNotes = this.#ports.after(Math.max(1, ms), () => {
      const due = this.#dueMs;
      if (due <= 0) this.#watch.note(this.workedMs);
      this.#noteLater(due <= 0 ? this.#everyMs : due);
    });
  }

  #elapsed(): number {
    return Math.max(0, this.#ports.monotonic() - this.#since);
  }
}
