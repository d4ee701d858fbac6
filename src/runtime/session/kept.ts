import type { ContextOperation } from "../../lanes/context-operation.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { RuntimePorts } from "../ports.ts";
import { threadKey } from "../thread-key.ts";
import type { Holder } from "./holder.ts";
import { retryStore } from "./store-retry.ts";

/** Blobs of a thread, policies and environments of past calls, that are known to be there. */
const REMEMBERED = 64;

export interface KeptOptions {
  readonly store: ThreadStore;
  readonly threadId: string;
  readonly ports: RuntimePorts;
  /** Absent where the thread is nobody else's. */
  readonly holder: Holder | undefined;
}

/** What of a thread lies in its store beside the log. */
export class Kept {
  readonly #store: ThreadStore;
  readonly #threadId: string;
  readonly #key: string;
  readonly #ports: RuntimePorts;
  readonly #holder: Holder | undefined;
  readonly #blobs = new Set<string>();
  /** The operation that is kept last. */
  #waiting: string | undefined;
  /** One write after the other: they are of one record. */
  #written: Promise<unknown> = Promise.resolve();

  constructor({ store, threadId, ports, holder }: KeptOptions) {
    this.#store = store;
    this.#threadId = threadId;
    this.#key = threadKey("context_op", threadId);
    this.#ports = ports;
    this.#holder = holder;
  }

  /** Each is put once for this thread, so that the store knows that the thread uses it. */
  async blobs(blobs: readonly JsonValue[]): Promise<void> {
    const keep = async (blob: JsonValue): Promise<void> => {
      const text = JSON.stringify(blob);
      if (this.#blobs.has(text)) return;
      await this.blob(blob);
      remember(this.#blobs, text, REMEMBERED);
    };
    await Promise.all(blobs.map(keep));
  }

  blob(blob: JsonValue): Promise<string> {
    return retryStore(this.#ports, () => this.#store.putBlob(blob, { threadId: this.#threadId }));
  }

  /** The operation that waits for a run to end. */
  async operation(): Promise<ContextOperation | undefined> {
    const found = await retryStore(this.#ports, () => this.#store.getCheckpoint(this.#key));
    if (found === undefined) return undefined;
    const operation = found as unknown as ContextOperation; // checked when it is applied
    this.#waiting = operation.opId;
    return operation;
  }

  keep(operation: ContextOperation | undefined): Promise<void> {
    this.#waiting = operation?.opId;
    return this.#write(async () => {
      if (operation === undefined) await this.#store.deleteCheckpoint(this.#key);
      else await this.#store.putCheckpoint(this.#key, operation as unknown as JsonValue); // operations are JSON
      // Whoever has taken the thread meanwhile may have looked before this was written.
      if (operation !== undefined) await this.#holder?.confirm();
    });
  }

  /** The operation has had its turn. One that was kept since stays. */
  async forget(opId: string): Promise<void> {
    if (this.#waiting === opId) await this.keep(undefined);
  }

  #write(write: () => Promise<void>): Promise<void> {
    const written = this.#written.then(() => retryStore(this.#ports, write));
    this.#written = written.catch(() => undefined); // whoever asked for it is told
    return written;
  }
}

/** The oldest make room. */
function remember(texts: Set<string>, text: string, limit: number): void {
  texts.add(text);
  for (const oldest of texts) {
    if (texts.size <= limit) return;
    texts.delete(oldest);
  }
}
