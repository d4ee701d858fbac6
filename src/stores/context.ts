import { base64url } from "../thread/base64url.ts";
import { type Ports, systemPorts, systemRandom } from "../thread/ports.ts";
import type { Random } from "../thread/random.ts";
import { portableSha256, type Sha256 } from "../thread/sha256.ts";
import type { StoreDriver } from "./driver.ts";
import { storeClosed } from "./errors.ts";
import { checkOptions } from "./options.ts";
import { Wakeups } from "./wakeups.ts";

/** What a store may be given instead of the system's own; all of it optional. */
export interface StorePorts extends Ports {
  readonly random: Random;
  readonly sha256: Sha256;
  /** How often watchers look for what other processes wrote. */
  readonly pollMs: number;
  /** The largest payload of one entry, as JSON text. */
  readonly maxEntryChars: number;
}

export type StoreOptions = Partial<StorePorts>;

const DEFAULTS: StorePorts = {
  ...systemPorts,
  random: systemRandom,
  sha256: portableSha256,
  pollMs: 100,
  maxEntryChars: 64 * 1024 * 1024,
};

/** What all the parts of one open store share. */
export class StoreContext {
  readonly driver: StoreDriver;
  readonly ports: StorePorts;
  readonly wakeups = new Wakeups();
  readonly #closing = new AbortController();
  readonly #stopHints: (() => void) | undefined;

  constructor(driver: StoreDriver, options: StoreOptions) {
    this.driver = driver;
    const names = Object.keys(DEFAULTS) as (keyof StorePorts)[]; // of an object of that type
    const given = Object.entries(checkOptions(options, names)).filter(([, value]) => value !== undefined);
    this.ports = { ...DEFAULTS, ...Object.fromEntries(given) };
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
