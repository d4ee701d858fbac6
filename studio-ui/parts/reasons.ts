import type { EntryRule, EntryStatus } from "heddle";

/** Why an entry is, or is not, in what the model saw. */
export const REASONS: Readonly<Record<EntryRule, string>> = {
  in_window: "in the window",
  head_of_cut_request: "kept: the ask of a request that the window cuts",
  summary_in_use: "is the summary",
  context_in_use: "is the context that replaced the lane",
  covered_by_summary: "covered by the summary",
  before_window: "before the window: no room in the budget or a ceiling",
  result_cleared: "a marker stands for this old result",
  call_interrupted: "its call was interrupted; an error result stands in",
  result_without_call: "a result without its call",
  second_result: "a second result of the same call",
  blank: "blank",
  before_replace: "before the lane was replaced",
  newer_summary: "a newer summary counts",
  newer_replace: "a newer replace counts",
  summaries_off: "the policy uses no summaries",
  lane_not_projected: "on another lane",
  kind_not_included: "this kind is not shown to models",
  operation: "an operation, nothing to read",
  nothing_to_show: "nothing to show",
  before_loaded: "before everything that was read",
};

export const STATUS: Readonly<Record<EntryStatus, string>> = {
  shown: "shown",
  summarised: "summarised",
  cut: "cut",
  cleared: "cleared",
  repaired: "repaired",
  dropped: "dropped",
  superseded: "superseded",
  other_lane: "other lane",
  not_projectable: "not for models",
  not_loaded: "not read",
};
