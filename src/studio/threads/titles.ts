import type { ThreadInfo, ThreadStore } from "../../stores/port.ts";
import type { Entry } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";

const LONGEST = 80;
const KEPT = 20_000;
/** How many entries to search for the first message of the user. */
const LOOKED_AT = 32;

/** Titles of threads: from the metadata, else from the first message of the user. That one never changes and is cached. */
export class Titles {
  readonly #store: ThreadStore;
  readonly #known = new Map<string, string>();

  constructor(store: ThreadStore) {
    this.#store = store;
  }

  async of({ id, rev, metadata }: Pick<ThreadInfo, "id" | "rev" | "metadata">): Promise<string> {
    const { title } = metadata;
    if (typeof title === "string" && title !== "") return title;
    return (rev === 0 ? undefined : await this.firstWords(id, rev)) ?? "Untitled";
  }

  /** The first words of the user; undefined if there are none. */
  async firstWords(threadId: string, rev: number): Promise<string | undefined> {
    const known = this.#known.get(threadId);
    if (known !== undefined) return known || undefined;
    let found = "";
    for await (const entry of this.#store.read(threadId, { fromSeq: 0, toSeq: LOOKED_AT })) {
      found = userText(entry);
      if (found !== "") break;
    }
    if (found !== "" || rev > LOOKED_AT) this.#keep(threadId, found);
    return found || undefined;
  }

  #keep(threadId: string, title: string): void {
    if (this.#known.size >= KEPT) this.#known.clear();
    this.#known.set(threadId, title);
  }
}

function userText({ kind, payload }: Entry): string {
  if (kind !== "ai_message" && kind !== "message") return "";
  const { role, content } = payload as JsonObject; // payloads are JSON
  return role === "user" ? titleOf(content) : "";
}

/** A title from the first words of a content. */
export function titleOf(content: unknown): string {
  const text = typeof content === "string" ? content : Array.isArray(content) ? content.map(partText).join(" ") : "";
  const line = text.trim().replaceAll(/\s+/g, " ");
  const letters = [...line];
  return letters.length <= LONGEST
    ? line
    : `${letters
        .slice(0, LONGEST - 1)
        .join("")
        .trimEnd()}…`;
}

function partText(part: JsonValue): string {
  return isPlainObject(part) && typeof part["text"] === "string" ? part["text"] : "";
}
