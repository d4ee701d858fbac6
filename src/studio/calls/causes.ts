import type { Provenance } from "../../projection/projection.ts";
import { sameJson } from "../../thread/json.ts";
import type { Cause, CauseRule, FirstChange, ShownCall } from "../contract/call.ts";

/** How many messages two calls share at the start. None if the tools differ, because tools precede all messages. */
export function stablePrefix(before: ShownCall, after: ShownCall): number {
  if (!sameJson(asJson(before.toolSpec), asJson(after.toolSpec))) return 0;
  const differs = after.messages.findIndex((message, index) => {
    const other = before.messages[index];
    return other === undefined || !sameJson(asJson(message), asJson(other));
  });
  return differs < 0 ? after.messages.length : differs;
}

/** Where the common prefix ends, and which rule ended it. Undefined if the new call begins with the whole old one. */
export function firstChange(before: ShownCall, after: ShownCall): FirstChange | undefined {
  const index = stablePrefix(before, after);
  const causes = causesOf(before, after);
  const find = (...rules: readonly CauseRule[]): FirstChange | undefined => {
    const cause = rules.map((wanted) => causes.find(({ rule }) => rule === wanted)).find((one) => one !== undefined);
    return cause && { index, ...cause };
  };
  const always = find("model_changed", "tools_changed");
  if (always !== undefined) return always;
  if (index >= before.messages.length) return undefined;
  return find(...suspects(before.provenance[index], after.provenance[index])) ?? { index, ...OTHER };
}

/** Every rule by which the two calls differ. */
export function causesOf(before: ShownCall, after: ShownCall): readonly Cause[] {
  const index = stablePrefix(before, after);
  const found = [
    ...ofEnvironment(before, after),
    ...ofLane(before, after),
    ...ofSummary(before, after),
    ...ofWindow(before, after),
    ...ofResults(before, after),
  ];
  const grown = after.messages.length - index;
  if (index >= before.messages.length && grown > 0) {
    found.push({
      rule: "appended",
      why: `${grown} ${grown === 1 ? "message" : "messages"} came after those of the call before.`,
    });
  }
  return found;
}

const OTHER: Cause = {
  rule: "history_changed",
  why: "From this message on, the messages come from other entries, or show them in another way, than before.",
};

const OF_ANY_PLACE: readonly CauseRule[] = ["transformed", "lane_changed", "context_replaced"];

/** The rules that can change a message of this kind, the most likely first. */
function suspects(before: Provenance | undefined, after: Provenance | undefined): readonly CauseRule[] {
  if (before?.segment === "system" && after?.segment === "system") return ["system_changed", "transformed"];
  if (before?.segment === "system" || after?.segment === "system")
    return ["system_changed", ...OF_ANY_PLACE, "policy_changed"];
  if (before?.segment === "summary" || after?.segment === "summary")
    return ["summary_added", "summary_replaced", "summary_removed", ...OF_ANY_PLACE];
  const isSame = after !== undefined && sameJson(asJson(before?.seqs), asJson(after.seqs));
  const rendered: readonly CauseRule[] = ["result_cleared", "result_shortened", "thinking_dropped", "call_interrupted"];
  return isSame
    ? [...rendered, ...OF_ANY_PLACE, "policy_changed", "window_moved"]
    : [...OF_ANY_PLACE, "window_moved", "summary_added", "summary_replaced", "policy_changed", ...rendered];
}

function ofEnvironment(before: ShownCall, after: ShownCall): Cause[] {
  const found: Cause[] = [];
  const [a, b] = [before.record, after.record];
  if (a.model !== b.model) {
    found.push({
      rule: "model_changed",
      why: `The model was ${a.model ?? "unknown"} and is ${b.model ?? "unknown"}. Each model has its own cache.`,
    });
  }
  if (!sameJson(asJson(before.toolSpec), asJson(after.toolSpec))) {
    found.push({ rule: "tools_changed", why: `${toolChange(before, after)} Tools precede all messages.` });
  }
  if (before.environment?.systemPrompt !== after.environment?.systemPrompt) {
    found.push({ rule: "system_changed", why: "The system prompt changed." });
  }
  if (after.transformed || before.transformed) {
    found.push({ rule: "transformed", why: "transformRequest changed what was sent." });
  }
  if (a.policy !== b.policy) found.push({ rule: "policy_changed", why: policyChange(before, after) });
  return found;
}

function ofLane(before: ShownCall, after: ShownCall): Cause[] {
  const [from, to] = [before.record.lane, after.record.lane];
  if (from !== to) return [{ rule: "lane_changed", why: `The lane was ${from} and is ${to}.` }];
  const replaced = after.explained.findLast(
    ({ rule, seq }) => rule === "context_in_use" && seq > before.record.basisLastSeq,
  );
  if (replaced === undefined) return [];
  return [{ rule: "context_replaced", why: `Entry ${replaced.seq} replaced the context.` }];
}

function ofSummary(before: ShownCall, after: ShownCall): Cause[] {
  const [from, to] = [before.record.view.summarySeq, after.record.view.summarySeq];
  if (from === to) return [];
  if (to === undefined) return [{ rule: "summary_removed", why: `The summary of entry ${from} is no longer in use.` }];
  return from === undefined
    ? [{ rule: "summary_added", why: `The summary of entry ${to} replaces the entries it covers.` }]
    : [{ rule: "summary_replaced", why: `The summary of entry ${to} replaced that of entry ${from}.` }];
}

function ofWindow(before: ShownCall, after: ShownCall): Cause[] {
  const [from, to] = [before.record.view, after.record.view];
  if (from.startSeq === to.startSeq && from.startItem === to.startItem) return [];
  const cut = after.meta?.truncated === true ? " to fit the budget" : "";
  return [
    {
      rule: "window_moved",
      why: `The window began with entry ${from.startSeq ?? "none"} and begins with ${to.startSeq ?? "none"}${cut}.`,
    },
  ];
}

function ofResults(before: ShownCall, after: ShownCall): Cause[] {
  const found: Cause[] = [];
  const [from, to] = [before.record.view, after.record.view];
  const cleared = to.cleared.filter((seq) => !from.cleared.includes(seq));
  if (cleared.length > 0)
    found.push({ rule: "result_cleared", why: `A marker is shown for the results of ${named(cleared)}.` });
  const short = (call: ShownCall): readonly number[] =>
    call.provenance.flatMap(({ rule, seqs }) => (rule === "shortened" || rule === "shrunk" ? seqs : []));
  const known = short(before);
  const shortened = short(after).filter((seq) => !known.includes(seq));
  if (shortened.length > 0)
    found.push({ rule: "result_shortened", why: `Only head and tail are shown of ${named(shortened)}.` });
  const dropped = to.thinkingDropped.filter((seq) => !from.thinkingDropped.includes(seq));
  if (dropped.length > 0)
    found.push({ rule: "thinking_dropped", why: `The thinking of ${named(dropped)} is dropped.` });
  const repaired = (after.meta?.repaired.calls ?? []).filter(
    (seq) => !(before.meta?.repaired.calls ?? []).includes(seq),
  );
  if (repaired.length > 0)
    found.push({
      rule: "call_interrupted",
      why: `Calls of ${named(repaired)} have no result, so they got a synthetic one.`,
    });
  return found;
}

function toolChange({ toolSpec: before }: ShownCall, { toolSpec: after }: ShownCall): string {
  const names = (specs: ShownCall["toolSpec"]): readonly string[] => specs.map(({ name }) => name);
  const added = names(after).filter((name) => !names(before).includes(name));
  const removed = names(before).filter((name) => !names(after).includes(name));
  if (added.length === 0 && removed.length === 0) return "The order or the definitions of the tools changed.";
  return [
    ...(added.length > 0 ? [`New tools: ${added.join(", ")}.`] : []),
    ...(removed.length > 0 ? [`Removed tools: ${removed.join(", ")}.`] : []),
  ].join(" ");
}

function policyChange({ policy: before = {} }: ShownCall, { policy: after = {} }: ShownCall): string {
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...fields].filter((field) => !sameJson(fieldOf(before, field), fieldOf(after, field)));
  return `The policy changed: ${changed.join(", ") || "unknown fields"}.`;
}

function fieldOf(policy: object, field: string) {
  return asJson(Object.hasOwn(policy, field) ? Reflect.get(policy, field) : null);
}

function named(seqs: readonly number[]): string {
  const shown = seqs.slice(0, 5).join(", ");
  return `${seqs.length === 1 ? "entry" : "entries"} ${shown}${seqs.length > 5 ? ` and ${seqs.length - 5} more` : ""}`;
}

/** Narrows a value to JSON: everything in a projection is JSON, but its types are wider. */
function asJson(value: unknown) {
  return (value ?? null) as Parameters<typeof sameJson>[0];
}
