import type { RuntimePorts } from "../ports.ts";

/** A time limit that stands still while a request waits for somebody outside. */
export class RequestTimer {
  readonly #ports: RuntimePorts;
  readonly #fire: () => void;
  #left: number;
  #since = 0;
  #stop: (() => void) | undefined;
  #over = false;

  constructor(ports: RuntimePorts, ms: number, fire: () => void) {
    this.#ports = ports;
    this.#fire = fire;
    this.#left = ms;
    this.go();
  }

  go(): void {
    if (this.#over || this.#stop !== undefined) return;
    this.#since = this.#ports.clock();
    this.#stop = this.#ports.after(this.#left, () => {
      this.#over = true;
      this.#fire();
    });
  }

  pause(): void {
    if (this.#stop === undefined || this.#over) return;
    this.#stop();
    this.#stop = undefined;
    // A clock that was set back gives nobody more time.
    this.#left = Math.max(0, this.#left - Math.max(0, this.#ports.clock() - this.#since));
  }

  cancel(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#over = true;
  }
}
