/** Runs all pending work that needs no timer. In a simulation all other waits are promises. */
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
