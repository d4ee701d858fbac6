/** Lets everything happen that needs no time to pass: nothing in a simulated world waits for anything but promises. */
export class Turns {
  readonly #channel = new MessageChannel();
  readonly #waiting: (() => void)[] = [];

  constructor() {
    this.#channel.port1.addEventListener("message", () => this.#waiting.shift()?.());
    this.#channel.port1.start();
  }

  /** Resolves when no promise has anything left to do. */
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
