import type { ThreadStore } from "../../stores/port.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { RuntimePorts } from "../ports.ts";
import { retryStore } from "./store-retry.ts";

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
