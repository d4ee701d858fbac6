import type { ThreadStore } from "../../stores/port.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { RuntimePorts } from "../ports.ts";
import { pause } from "../timers.ts";

/** Together the waits are five seconds, which is enough for a database to restart or fail over. */
const ATTEMPTS = 9;
const BACKOFF_MS = 20;

/** Calls the store, and retries retryable errors. A write must be safe to repeat. */
export async function retryStore<Answer>(ports: RuntimePorts, call: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const isRetryable = HeddleError.isInstance(error) && error.retryable && error.code !== "thread_held";
      if (!isRetryable || attempt >= ATTEMPTS) throw error;
      await pause(ports, BACKOFF_MS * 2 ** (attempt - 1));
    }
  }
}

/** Blobs of a thread, policies and environments of past calls, that are known to be stored. */
const REMEMBERED = 64;

/** Stores the blobs that entries of a thread name by hash. */
export class ThreadBlobs {
  readonly #store: ThreadStore;
  readonly #threadId: string;
  readonly #ports: RuntimePorts;
  readonly #stored = new Set<string>();

  constructor(store: ThreadStore, threadId: string, ports: RuntimePorts) {
    this.#store = store;
    this.#threadId = threadId;
    this.#ports = ports;
  }

  /** Each is put once for this thread, so that the store knows that the thread uses it. */
  async putAll(blobs: readonly JsonValue[]): Promise<void> {
    const put = async (blob: JsonValue): Promise<void> => {
      const text = JSON.stringify(blob);
      if (this.#stored.has(text)) return;
      await this.put(blob);
      remember(this.#stored, text, REMEMBERED);
    };
    await Promise.all(blobs.map(put));
  }

  put(blob: JsonValue): Promise<string> {
    return retryStore(this.#ports, () => this.#store.putBlob(blob, { threadId: this.#threadId }));
  }
}

/** Removes the oldest texts beyond the limit. */
function remember(texts: Set<string>, text: string, limit: number): void {
  texts.add(text);
  for (const oldest of texts) {
    if (texts.size <= limit) return;
    texts.delete(oldest);
  }
}
