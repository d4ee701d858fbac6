import type { AppendOptions, AppendResult, ThreadInfo, ThreadStore } from "../stores/port.ts";
import { firstWords } from "../stores/sums.ts";
import type { Entry, EntryInput } from "../thread/entry.ts";
import type { JsonObject } from "../thread/json.ts";

const MAX_CACHED = 20_000;
/** How many entries are searched for the first user message. */
const MAX_ENTRIES = 32;

/**
 * Returns titles of threads: from the metadata, else from the first user message. That message never changes, so it is
 * cached.
 */
export class Titles {
  readonly #store: ThreadStore;
  readonly #known = new Map<string, string>();

  constructor(store: ThreadStore) {
    this.#store = store;
  }

  async of(info: Pick<ThreadInfo, "id" | "rev" | "metadata" | "firstWords">): Promise<string> {
    const { id, rev, metadata } = info;
    for (const title of [metadata["title"], metadata["generatedTitle"]])
      if (typeof title === "string" && title !== "") return title;
    return info.firstWords ?? (rev === 0 ? undefined : await this.firstWords(id, rev)) ?? "Untitled";
  }

  /** Returns the start of the first user message. Undefined if there is none. */
  async firstWords(threadId: string, rev: number): Promise<string | undefined> {
    const known = this.#known.get(threadId);
    if (known !== undefined) return known || undefined;
    let found = "";
    for await (const entry of this.#store.read(threadId, { fromSeq: 0, toSeq: MAX_ENTRIES })) {
      found = userText(entry);
      if (found !== "") break;
    }
    if (found !== "" || rev > MAX_ENTRIES) this.#keep(threadId, found);
    return found || undefined;
  }

  #keep(threadId: string, title: string): void {
    if (this.#known.size >= MAX_CACHED) this.#known.clear();
    this.#known.set(threadId, title);
  }
}

function userText({ kind, payload }: Entry): string {
  if (kind !== "ai_message" && kind !== "message") return "";
  const { role, content } = payload as JsonObject; // every entry payload is a JSON object
  return role === "user" ? firstWords(content) : "";
}

/** A store that writes a thread's title in the same commit as its first request. */
export class TitledStore {
  readonly store: ThreadStore;
  readonly #agent: string;
  readonly #pending = new Map<string, string>();

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

  /**
   * Sets the title that the next request writes. Returns a function that removes the title if the request is refused.
   */
  name(threadId: string, title: string): () => void {
    this.#pending.set(threadId, title);
    return () => this.#pending.delete(threadId);
  }

  async #append(
    store: ThreadStore,
    threadId: string,
    entries: EntryInput | readonly EntryInput[],
    options: AppendOptions = {},
  ): Promise<AppendResult> {
    const title = this.#pending.get(threadId);
    const list = [entries].flat();
    if (title === undefined || !list.some(isAsk)) return store.append(threadId, entries, options);
    const asked = list.findLast(isAsk)?.payload?.["agent"];
    const agent = typeof asked === "string" ? asked : this.#agent;
    const metadata: JsonObject = { ...options.metadata, title, agent };
    const result = await store.append(threadId, entries, { ...options, metadata });
    this.#pending.delete(threadId);
    return result;
  }
}

function isAsk({ kind, payload }: EntryInput): boolean {
  return kind === "ai_message" && payload?.["role"] === "user";
}
