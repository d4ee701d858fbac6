import { ProjectionError } from "../error.ts";
import type { ProjectionRules } from "../rules.ts";
import type { Reader, Readers } from "./reader.ts";
import { FIRST_TOOL_RESULT, READERS } from "./vocabularies.ts";

/** The readers of the kinds that are shown. */
export type Registry = ReadonlyMap<string, Reader>;

/** Kinds that change a lane and hold no message. */
const SHAPING: ReadonlySet<string> = new Set(["summary", "ai_context_operation"]);

/** The readers of the given kinds. Custom readers override built-in ones. */
export function registryOf(
  kinds: readonly string[],
  readers: Readers = {},
  { keepsWholeResults }: Pick<ProjectionRules, "keepsWholeResults"> = { keepsWholeResults: true },
): Registry {
  const ours = keepsWholeResults ? READERS : { ...READERS, tool_result: FIRST_TOOL_RESULT };
  return new Map(kinds.filter((kind) => !SHAPING.has(kind)).map((kind) => [kind, readerOf(kind, [readers, ours])]));
}

function readerOf(kind: string, all: readonly Readers[]): Reader {
  for (const known of all) {
    const reader = Object.hasOwn(known, kind) ? known[kind] : undefined;
    if (reader !== undefined) return reader;
  }
  const message = `includeKinds names "${kind}", which has no reader. Pass one: readers: { "${kind}": { version: 1, read } }.`;
  throw new ProjectionError({ code: "no_reader", kind, message });
}
