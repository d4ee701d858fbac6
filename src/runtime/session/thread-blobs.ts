import type { LlmStream } from "../../agent/directive.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { RuntimePorts } from "../ports.ts";
import { retryStore } from "./store-retry.ts";

/** Hashes of blobs of a thread, policies and environments of past calls, that are known to be stored. */
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

  /** The blobs of a call. Each is put once for this thread, so that the store knows that the thread uses it. */
  async putAll({ basis: { policy, environment }, blobs }: Pick<LlmStream, "basis" | "blobs">): Promise<void> {
    const put = async (hash: string, blob: JsonValue = null): Promise<void> => {
      if (this.#stored.has(hash)) return;
      await this.put(blob);
      remember(this.#stored, hash, REMEMBERED);
    };
    await Promise.all([put(policy, blobs[0]), put(environment, blobs[1])]); // in the order of the agent
  }

  put(blob: JsonValue): Promise<string> {
    return retryStore(this.#ports, () => this.#store.putBlob(blob, { threadId: this.#threadId }));
  }
}

/** Removes the oldest hashes beyond the limit. */
function remember(hashes: Set<string>, hash: string, limit: number): void {
  hashes.add(hash);
  for (const oldest of hashes) {
    if (hashes.size <= limit) return;
    hashes.delete(oldest);
  }
}
