import type { JsonValue } from "../thread/json.ts";

/**
 * Carries short messages between the processes that share a store. The runtime sends the deltas of streamed answers with it, so
 * that they can be read in any process. A message is a hint: it may be lost, and is never stored.
 */
export interface Bus {
  /**
   * Sends a message of at most `MAX_MESSAGE_BYTES` to all subscribers of the tenant, in this process too. Those of one process
   * arrive in order. Returns at once, and drops what cannot be sent. Never throws.
   */
  publish(message: JsonValue): void;
  /** Calls `listen` with each message, until the returned function is called. */
  subscribe(listen: (message: JsonValue) => void): () => void;
}

/** The most bytes of the JSON text of a message. */
export const MAX_MESSAGE_BYTES = 7000;

/** The buses of all tenants of a database, inside this process. */
export class LocalBuses {
  readonly #listeners = new Map<string, Set<(message: JsonValue) => void>>();

  of(tenant: string): Bus {
    return {
      publish: (message) => this.#publish(tenant, message),
      subscribe: (listen) => this.#subscribe(tenant, (message) => listen(message)), // one function may subscribe twice
    };
  }

  #publish(tenant: string, message: JsonValue): void {
    for (const listen of this.#listeners.get(tenant) ?? [])
      queueMicrotask(() => {
        if (this.#listeners.get(tenant)?.has(listen)) listen(message);
      });
  }

  #subscribe(tenant: string, listen: (message: JsonValue) => void): () => void {
    const listeners = this.#listeners.get(tenant) ?? new Set();
    this.#listeners.set(tenant, listeners.add(listen));
    return () => {
      listeners.delete(listen);
      if (listeners.size === 0 && this.#listeners.get(tenant) === listeners) this.#listeners.delete(tenant);
    };
  }
}
