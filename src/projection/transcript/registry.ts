import { ProjectionError } from "../error.ts";
import type { Reader, Readers } from "./reader.ts";
import { READERS } from "./vocabularies.ts";

/** The readers of the kinds that are shown. */
export type Registry = ReadonlyMap<string, Reader>;

/** Kinds that shape a lane instead of saying something on it. */
const SHAPING: ReadonlySet<string> = new Set(["summary", "ai_context_operation"]);

/** The readers a policy needs, yours before ours. */
export function registryOf(kinds: readonly string[], readers: Readers = {}): Registry {
  return new Map(kinds.filter((kind) => !SHAPING.has(kind)).map((kind) => [kind, readerOf(kind, readers)]));
}

function readerOf(kind: string, readers: Readers): Reader {
  for (const known of [readers, READERS]) {
    const reader = Object.hasOwn(known, kind) ? known[kind] : undefined;
    if (reader !== undefined) return reader;
  }
  const message = `includeKinds names "${kind}", and there is no reader for it. Pass one: readers: { "${kind}": { version: 1, read } }.`;
  throw new ProjectionError({ code: "no_reader", kind, message });
}
