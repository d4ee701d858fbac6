import type { ThreadStore } from "heddle";
import type { LoadOptions, ReadOptions } from "heddle/store";

/** A store that counts the entries it hands out. */
export class Counting {
  readonly store: ThreadStore;
  reads = 0;
  rows = 0;

  constructor(inner: ThreadStore) {
    const count = this;
    const counted = {
      async load(threadId: string, options?: LoadOptions) {
        count.reads += 1;
        const thread = await inner.load(threadId, options);
        count.rows += thread?.toArray().length ?? 0;
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
