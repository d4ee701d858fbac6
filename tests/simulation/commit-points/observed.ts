import { WRITE_METHODS } from "../../../src/testing/fault-store/fault.ts";
import { FaultyStore } from "../../../src/testing/fault-store/fault-store.ts";
import type { EntryInput } from "../../../src/thread/entry.ts";

/** One write of the runtime: where it stands in the sources, and which entries it wrote because of which signal. */
export interface CommitPoint {
  readonly site: string;
  readonly appends: readonly string[];
}

/** Notes every write that the runtime asks for; answers what ends it. */
export function recordCommitPoints(signal: () => string, seen: CommitPoint[]): () => void {
  const spies = WRITE_METHODS.map((method) => {
    const original = Reflect.get(FaultyStore.prototype, method) as (...given: unknown[]) => unknown;
    Reflect.set(FaultyStore.prototype, method, function (this: unknown, ...given: unknown[]) {
      const { stack = "" } = new Error("here");
      const site = `${siteOf(stack)} ${method}`;
      // Whoever decides from another process asks no core, and has no signal.
      const isOfCore =
        method === "append" && site.includes("perform/answer.ts") && !stack.includes("decide-by-entry.ts");
      const entries = isOfCore ? ([given[1]].flat() as EntryInput[]) : [];
      seen.push({ site, appends: entries.map((entry) => `${signal()} > ${makerOf(entry)}`) });
      return original.apply(this, given);
    });
    return () => Reflect.set(FaultyStore.prototype, method, original);
  });
  return () => {
    for (const restore of spies) restore();
  };
}

/** The file of the runtime that called, from the stack of the call. */
function siteOf(stack: string): string {
  return /\/(src\/runtime\/[\w/-]+\.ts)/.exec(stack)?.[1] ?? "nowhere";
}

/** Which function of the core has made an entry. */
function makerOf({ kind = "note", payload = {} }: EntryInput): string {
  const fields = payload as { readonly [field: string]: unknown };
  const { role, steer, end, call, summaryFailed, skipped, attempt, handedOver, retried, workedMs } = fields;
  if (kind === "ai_message") {
    if (role === "assistant") return "answerEntry";
    if (role === "tool") return "resultEntry";
    if (steer === undefined) return "askEntry";
    if (steer === "continue") return "goOnEntry";
    return steer === "repair" ? "repairEntry" : "steerEntry";
  }
  if (end !== undefined) return "endEntry";
  if (summaryFailed !== undefined) return "summaryFailedEntry";
  if (skipped !== undefined) return "gapEntry";
  if (fields["continues"] !== undefined) return "continueEntry";
  if (attempt !== undefined) return "attemptEntry";
  if (retried !== undefined) return "retriedEntry";
  if (handedOver !== undefined) return "handedOverEntry";
  if (kind === "note" && workedMs !== undefined) return "workedEntry";
  if (kind === "error" && call !== undefined) return "callErrorEntry";
  if (kind === "approval_requested") return "approvalRequestedEntry";
  if (kind === "approval_resolved") return "approvalResolvedEntry";
  if (kind === "question_asked") return "questionAskedEntry";
  if (kind === "question_answered") return "questionAnsweredEntry";
  if (kind === "sleep_started") return "sleepStartedEntry";
  return kind === "tool_started" ? "toolStartedEntry" : kind;
}
