import type { Entry, EntryInput, ThreadStore } from "heddle";
import { told } from "./stage.ts";

const WRITES = ["append", "putCheckpoint", "deleteCheckpoint", "putBlob"] as const;
/** An append without entries posts a command, or consumes one. */
type Write = (typeof WRITES)[number] | "post" | "consume";

/** What becomes of a write: an error before it, or after it, which loses only the acknowledgement. */
interface Trouble {
  readonly error: () => unknown;
  readonly after?: boolean;
}

export interface Spied {
  readonly store: ThreadStore;
  /** What was written, in order, when it was acknowledged; tests add what else happened. */
  journal: string[];
  /** Asked before each write: its number from 1, and what it is. */
  trouble: (write: Write, number: number, entries: readonly EntryInput[]) => Trouble | undefined;
}

/** A store that tells what is written, and fails when it is told to. */
export function spied(inner: ThreadStore): Spied {
  let count = 0;
  const spy: Spied = { store: inner, journal: [], trouble: () => undefined };
  const wrapped =
    (method: (typeof WRITES)[number]) =>
    async (...args: unknown[]) => {
      const entries = method === "append" ? ([args[1]].flat() as readonly EntryInput[]) : [];
      const { posts } = (method === "append" ? (args[2] ?? {}) : {}) as { readonly posts?: unknown };
      const name = method !== "append" || entries.length > 0 ? method : posts === undefined ? "consume" : "post";
      const trouble = spy.trouble(name, ++count, entries);
      if (trouble !== undefined && trouble.after !== true) throw trouble.error();
      const answer: unknown = await Reflect.apply(Reflect.get(inner, method), inner, args);
      if (trouble !== undefined) throw trouble.error();
      spy.journal.push(...(name === "append" ? told(entries as readonly Entry[]) : [name]));
      return answer;
    };
  const overrides = new Map<PropertyKey, unknown>(WRITES.map((name) => [name, wrapped(name)]));
  const store = new Proxy(inner, {
    get: (target, key) => {
      if (overrides.has(key)) return overrides.get(key);
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return Object.assign(spy, { store });
}
