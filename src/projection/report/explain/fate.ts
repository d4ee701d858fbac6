import type { EntryRule, ExplainedEntry } from "../../projection.ts";

/** The status of an entry, without its seq and kind. */
export type Fate = Omit<ExplainedEntry, "seq" | "kind">;

export function notProjectable(rule: EntryRule): Fate {
  return { status: "not_projectable", rule, tokens: 0 };
}
