import type { EntryRule, EntryStatus } from "heddle";

/** Why an entry is or is not in the context. */
export const REASONS: Readonly<Record<EntryRule, string>> = {
  in_window: "in the window",
  head_of_cut_request: "kept: the question of a request that the window cuts",
  summary_in_use: "is the summary",
  context_in_use: "is the context that replaced the lane",
  covered_by_summary: "covered by the summary",
  before_window: "before the window: the budget or a limit does not allow it",
  result_cleared: "a marker replaces this old result",
  call_interrupted: "its call was interrupted; it got a synthetic error result",
  result_without_call: "a result without its call",
  second_result: "a second result of the same call",
  blank: "blank",
  before_replace: "before the lane was replaced",
  newer_summary: "a newer summary is used",
  newer_replace: "a newer replacement is used",
  summaries_off: "the policy uses no summaries",
  lane_not_projected: "on another lane",
  kind_not_included: "this kind is not shown to models",
  operation: "an operation, without text",
  nothing_to_show: "nothing to show",
  before_loaded: "before the entries that were read",
};

export const STATUS: Readonly<Record<EntryStatus, string>> = {
  shown: "shown",
  summarised: "summarized",
  cut: "cut",
  cleared: "cleared",
  repaired: "repaired",
  dropped: "dropped",
  superseded: "superseded",
  other_lane: "other lane",
  not_projectable: "not for models",
  not_loaded: "not read",
};
