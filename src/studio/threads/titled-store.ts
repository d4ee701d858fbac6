import type { AppendOptions, AppendResult, ThreadStore } from "../../stores/port.ts";
import type { EntryInput } from "../../thread/entry.ts";
import type { JsonObject } from "../../thread/json.ts";

/** A store that writes the title of a thread in the same commit as its first ask. */
export class TitledStore {
  readonly store: ThreadStore;
  readonly #agent: string;
  readonly #wanted = new Map<string, string>();

  constructor(store: ThreadStore, agent: string) {
    this.#agent = agent;
    const append: ThreadStore["append"] = (threadId, entries, options) =>
      this.#append(store, threadId, entries, options);
    this.store = new Proxy(store, {
      get: (target, name) => {
        if (name === "append") return append;
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  /** Sets the title that the next ask writes. Returns a function that removes it again, for an ask that is not accepted. */
  name(threadId: string, title: string): () => void {
    this.#wanted.set(threadId, title);
    return () => this.#wanted.delete(threadId);
  }

  async #append(
    store: ThreadStore,
    threadId: string,
    entries: EntryInput | readonly EntryInput[],
    options: AppendOptions = {},
  ): Promise<AppendResult> {
    const title = this.#wanted.get(threadId);
    if (title === undefined || ![entries].flat().some(isAsk)) return store.append(threadId, entries, options);
    const metadata: JsonObject = { ...options.metadata, title, agent: this.#agent };
    const result = await store.append(threadId, entries, { ...options, metadata });
    this.#wanted.delete(threadId);
    return result;
  }
}

function isAsk({ kind, payload }: EntryInput): boolean {
  return kind === "ai_message" && payload?.["role"] === "user";
}
