import { base64url } from "../../thread/base64url.ts";
import type { StoreDriver } from "../driver.ts";
import { storeClosed } from "../errors.ts";
import { completePorts, type StoreOptions, type StorePorts } from "../ports.ts";
import { Wakeups } from "./wakeups.ts";

/** The driver, ports and wakeups of one open store. */
export class StoreContext {
  readonly driver: StoreDriver;
  readonly ports: StorePorts;
  readonly wakeups = new Wakeups();
  readonly #closing = new AbortController();
  readonly #stopHints: (() => void) | undefined;

  constructor(driver: StoreDriver, options: StoreOptions) {
    this.driver = driver;
    this.ports = completePorts(options);
    this.#stopHints = driver.onChange?.(() => this.wakeups.wake());
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  salt(): string {
    return base64url(this.ports.random(16));
  }

  checkOpen(): void {
    if (this.closing.aborted) throw storeClosed();
  }

  async close(): Promise<void> {
    if (this.closing.aborted) return;
    this.#closing.abort();
    this.#stopHints?.();
    this.wakeups.wake();
    await this.driver.close();
  }
}
