import type { RuntimePorts } from "../ports.ts";

export interface TimeLimit {
  /** How long the request may still be at work. */
  readonly afterMs: number;
  /** What it was at work before, in processes that have ended. */
  readonly workedMs: number;
}

/** A time limit that stands still while a request waits for somebody outside, and how long the request was at work. */
export class RequestTimer {
  readonly #ports: RuntimePorts;
  readonly #fire: () => void;
  #left: number;
  #worked: number;
  #since = 0;
  #stop: (() => void) | undefined;
  #over = false;

  constructor(ports: RuntimePorts, { afterMs, workedMs }: TimeLimit, fire: () => void) {
    this.#ports = ports;
    this.#fire = fire;
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
      this.#fire();
    });
  }

  pause(): void {
    if (this.#stop === undefined || this.#over) return;
    this.#stop();
    this.#stop = undefined;
    const elapsed = this.#elapsed();
    this.#worked += elapsed;
    this.#left = Math.max(0, this.#left - elapsed);
  }

  cancel(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#over = true;
  }

  #elapsed(): number {
    return Math.max(0, this.#ports.monotonic() - this.#since);
  }
}
