import type { Entry } from "../../../thread/entry.ts";
import { replaceBase } from "../../../thread/lane-operation.ts";
import { isOfContext } from "../../history/block.ts";
import type { Run } from "../../run/run.ts";
import { type Fate, notProjectable } from "./fate.ts";

/** The status of an entry of the lane that is in no block and was not dropped. */
export function fateOnLane(run: Run, entry: Entry): Fate {
  const { engine, settings } = run;
  const base = engine.log.anchor === undefined ? undefined : replaceBase(engine.log.anchor);
  if (replaceBase(entry) !== undefined && !engine.log.isMalformed(entry)) return fateOfReplace(run, entry);
  if (entry.kind === "ai_context_operation") return notProjectable("operation");
  if (!settings.policy.includeKinds.includes(entry.kind)) return notProjectable("kind_not_included");
  if (base !== undefined && entry.seq <= base) return { status: "superseded", rule: "before_replace", tokens: 0 };
  if (entry.kind === "summary") return fateOfSummary(run, entry);
  return notProjectable("nothing_to_show");
}

function fateOfReplace(run: Run, entry: Entry): Fate {
  if (entry !== run.engine.log.anchor) return { status: "superseded", rule: "newer_replace", tokens: 0 };
  return fateOfContext(run, entry);
}

export function fateOfContext(run: Run, entry: Entry): Fate {
  const { engine, window, assembly } = run;
  const first = assembly.blocks.findIndex(isOfContext);
  const message = assembly.places[first];
  if (message !== undefined) {
    const tokens = assembly.blocks.reduce((sum, _, place) => sum + contextTokens(run, entry, place), 0);
    return { status: "shown", rule: "context_in_use", tokens, message };
  }
  const snapshot = engine.history.blocks.findIndex(isOfContext);
  if (snapshot < 0) return notProjectable("operation");
  return snapshot < window.first
    ? { status: "summarised", rule: "covered_by_summary", tokens: 0 }
    : { status: "cut", rule: "before_window", tokens: 0 };
}

/** The tokens of a context block, without later results, which have entries of their own. */
function contextTokens({ assembly }: Run, entry: Entry, place: number): number {
  const block = assembly.blocks[place];
  const message = assembly.places[place];
  if (block === undefined || message === undefined || !isOfContext(block)) return 0;
  const provenance = assembly.provenance.slice(message, message + 1 + block.calls.length);
  return provenance.reduce((sum, { seqs, tokens }) => sum + (seqs.every((seq) => seq === entry.seq) ? tokens : 0), 0);
}

export function fateOfSummary({ engine, front }: Run, entry: Entry): Fate {
  if (!engine.showsSummaries) return notProjectable("summaries_off");
  if (entry !== engine.history.coverage.summary) return { status: "superseded", rule: "newer_summary", tokens: 0 };
  return {
    status: "shown",
    rule: "summary_in_use",
    tokens: front.summary?.tokens ?? 0,
    message: front.system === undefined ? 0 : 1,
  };
}
