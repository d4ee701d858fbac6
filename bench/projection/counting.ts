import type { ThreadStore } from "heddle";
import type { LoadOptions, ReadOptions } from "heddle/store";

/** A store that counts the entries it hands out. */
export class Counting {
  readonly store: ThreadStore;
  /** Calls of `load` and `read`, and the entries that they returned. */
  reads = 0;
  rows = 0;
  /** Loads of entries, and how many they returned. */
  loads = 0;
  loaded = 0;

  constructor(inner: ThreadStore) {
    const count = this;
    const counted = {
      async load(threadId: string, options?: LoadOptions) {
        count.reads += 1;
        const thread = await inner.load(threadId, options);
        const rows = thread === undefined ? 0 : thread.rev - thread.firstSeq;
        count.rows += rows;
        count.loads += rows === 0 ? 0 : 1;
        count.loaded += rows;
        return thread;
      },
      async *read(threadId: string, options?: ReadOptions) {
        count.reads += 1;
        for await (const entry of inner.read(threadId, options)) {
          count.rows += 1;
          yield entry;
        }
      },
    };
    this.store = new Proxy(inner, {
      get(target, name) {
        if (name === "load" || name === "read") return counted[name];
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }
}
