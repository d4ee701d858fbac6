import type { EntryRule, ExplainedEntry } from "../../projection.ts";

/** What became of an entry, whichever it is. */
export type Fate = Omit<ExplainedEntry, "seq" | "kind">;

export function notProjectable(rule: EntryRule): Fate {
  return { status: "not_projectable", rule, tokens: 0 };
}
