import { createHash } from "node:crypto";
import type { JsonObject } from "heddle";
import { PromptCache } from "./cache.ts";

export interface ProtocolOptions {
  /** Longer requests are refused in the provider's words; roughly bytes / 4. Default: no limit. */
  readonly maxInputTokens?: number;
  /** Anthropic: thinking is valid only behind the system, tools and messages it was made for. */
  readonly bindThinking?: boolean;
  /** From how many tokens on a prompt is cached, instead of the provider's own number. */
  readonly cacheMinTokens?: number;
}

/** What was sealed, to compare with what comes back. */
export interface Sealed {
  /** What the seal stands on; absent for one that was only adopted. */
  readonly content?: string;
  /** The hash of everything before it. */
  readonly prefix?: string;
}

/** What a provider remembers from one request to the next. */
export class World {
  readonly options: ProtocolOptions;
  /** Items of the Responses API that were stored, by id. */
  readonly stored = new Map<string, JsonObject>();
  /** The reasoning item an item of the Responses API came with. */
  readonly reasoningOf = new Map<string, string>();
  readonly #seals = new Map<string, Sealed>();
  readonly #caches = new Map<string, PromptCache>();
  #count = 0;

  constructor(options: ProtocolOptions) {
    this.options = options;
  }

  readonly next = (): number => ++this.#count;

  /** Makes a signature nobody else can make. The same run of a test gets the same ones. */
  seal(api: string, id: number, sealed: Sealed): string {
    const blob = createHash("sha512").update(`${api} ${id} ${sealed.content}`).digest("base64");
    this.#seals.set(`${api} ${blob}`, sealed);
    return blob;
  }

  adopt(api: string, blob: string): void {
    this.#seals.set(`${api} ${blob}`, {});
  }

  sealed(api: string, blob: string): Sealed | undefined {
    return this.#seals.get(`${api} ${blob}`);
  }

  cacheOf(key: string): PromptCache {
    const cache = this.#caches.get(key) ?? new PromptCache();
    this.#caches.set(key, cache);
    return cache;
  }
}
