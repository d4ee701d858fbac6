// Pure code without server imports: an exported page also compares calls.

import type { Provenance } from "../projection/projection.ts";
import { sameJson } from "../thread/json.ts";
import type { Message } from "../thread/message.ts";
import type { Cause, CauseRule, FirstChange, MessageChange, RebuiltCallView } from "./contract.ts";

/** How many messages two calls share at the start. None if the tools differ, because tools precede all messages. */
export function stablePrefix(before: RebuiltCallView, after: RebuiltCallView): number {
  if (!sameJson(asJson(before.toolSpec), asJson(after.toolSpec))) return 0;
  const differs = after.messages.findIndex((message, index) => {
    const other = before.messages[index];
    return other === undefined || !sameJson(asJson(message), asJson(other));
  });
  return differs < 0 ? after.messages.length : differs;
}

/**
 * The index where the common prefix ends, and the rule that ended it. Undefined if the new call begins with all
 * messages of the old one.
 */
export function firstChange(before: RebuiltCallView, after: RebuiltCallView): FirstChange | undefined {
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

/** Returns every rule that made the two calls differ. */
export function causesOf(before: RebuiltCallView, after: RebuiltCallView): readonly Cause[] {
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

/** Returns the rules that can change a message with this provenance, the most likely first. */
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

function ofEnvironment(before: RebuiltCallView, after: RebuiltCallView): Cause[] {
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

function ofLane(before: RebuiltCallView, after: RebuiltCallView): Cause[] {
  const [from, to] = [before.record.lane, after.record.lane];
  if (from !== to) return [{ rule: "lane_changed", why: `The lane was ${from} and is ${to}.` }];
  const replaced = after.explained.findLast(
    ({ rule, seq }) => rule === "context_in_use" && seq > before.record.basisLastSeq,
  );
  if (replaced === undefined) return [];
  return [{ rule: "context_replaced", why: `Entry ${replaced.seq} replaced the context.` }];
}

function ofSummary(before: RebuiltCallView, after: RebuiltCallView): Cause[] {
  const [from, to] = [before.record.view.summarySeq, after.record.view.summarySeq];
  if (from === to) return [];
  if (to === undefined) return [{ rule: "summary_removed", why: `The summary of entry ${from} is no longer in use.` }];
  return from === undefined
    ? [{ rule: "summary_added", why: `The summary of entry ${to} replaces the entries it covers.` }]
    : [{ rule: "summary_replaced", why: `The summary of entry ${to} replaced that of entry ${from}.` }];
}

function ofWindow(before: RebuiltCallView, after: RebuiltCallView): Cause[] {
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

function ofResults(before: RebuiltCallView, after: RebuiltCallView): Cause[] {
  const found: Cause[] = [];
  const [from, to] = [before.record.view, after.record.view];
  const cleared = to.cleared.filter((seq) => !from.cleared.includes(seq));
  if (cleared.length > 0)
    found.push({ rule: "result_cleared", why: `A marker is shown for the results of ${named(cleared)}.` });
  const short = (call: RebuiltCallView): readonly number[] =>
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

function toolChange({ toolSpec: before }: RebuiltCallView, { toolSpec: after }: RebuiltCallView): string {
  const names = (specs: RebuiltCallView["toolSpec"]): readonly string[] => specs.map(({ name }) => name);
  const added = names(after).filter((name) => !names(before).includes(name));
  const removed = names(before).filter((name) => !names(after).includes(name));
  if (added.length === 0 && removed.length === 0) return "The order or the definitions of the tools changed.";
  return [
    ...(added.length > 0 ? [`New tools: ${added.join(", ")}.`] : []),
    ...(removed.length > 0 ? [`Removed tools: ${removed.join(", ")}.`] : []),
  ].join(" ");
}

function policyChange({ policy: before = {} }: RebuiltCallView, { policy: after = {} }: RebuiltCallView): string {
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

/** Narrows the type to JSON. Everything in a projection is JSON, but its types are wider. */
function asJson(value: unknown) {
  return (value ?? null) as Parameters<typeof sameJson>[0];
}

/** The messages of one of the two compared calls. */
type Side = Pick<RebuiltCallView, "messages" | "provenance">;

/** The largest comparison table, in cells. For larger inputs, the middle is reported as all removed and all added. */
const MOST_CELLS = 4_000_000;

export function commonStart(a: readonly Message[], b: readonly Message[]): number {
  const differs = b.findIndex((message, index) => JSON.stringify(message) !== JSON.stringify(a[index]));
  return differs < 0 ? b.length : differs;
}

/** The shortest list of changes from the one list of messages to the other, in order. */
export function changesOf(before: Side, after: Side): readonly MessageChange[] {
  const [a, b] = [before, after].map(({ messages }) => messages.map((message) => JSON.stringify(message)));
  if (a === undefined || b === undefined) return [];
  const steps = aligned(a, b);
  return paired(steps, before, after).map((step, index) => ({ index, ...step }));
}

type Step = Omit<MessageChange, "index">;

function aligned(a: readonly string[], b: readonly string[]): readonly Step[] {
  let front = 0;
  while (front < a.length && front < b.length && a[front] === b[front]) front++;
  let back = 0;
  while (back < a.length - front && back < b.length - front && a[a.length - 1 - back] === b[b.length - 1 - back])
    back++;
  const same = (count: number, fromA: number, fromB: number): Step[] =>
    Array.from({ length: count }, (_, at) => ({ kind: "same", a: fromA + at, b: fromB + at }));
  return [
    ...same(front, 0, 0),
    ...middle(a.slice(front, a.length - back), b.slice(front, b.length - back), front),
    ...same(back, a.length - back, b.length - back),
  ];
}

/** Aligns the messages between the equal start and the equal end by their longest common subsequence. */
function middle(a: readonly string[], b: readonly string[], offset: number): readonly Step[] {
  const removed = (at: number): Step => ({ kind: "removed", a: at + offset });
  const added = (at: number): Step => ({ kind: "added", b: at + offset });
  if (a.length * b.length > MOST_CELLS) return [...a.map((_, at) => removed(at)), ...b.map((_, at) => added(at))];
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const steps: Step[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) steps.push({ kind: "same", a: offset + i++, b: offset + j++ });
    else if (i < a.length && (j >= b.length || at(i + 1, j) >= at(i, j + 1))) steps.push(removed(i++));
    else steps.push(added(j++));
  }
  return steps;
}

/** Joins a removed and an added message of the same entries into one changed message. */
function paired(steps: readonly Step[], before: Side, after: Side): readonly Step[] {
  const sourceOf = ({ provenance }: Side, index: number | undefined): string => {
    const { segment, seqs = [] } = (index === undefined ? undefined : provenance[index]) ?? {};
    return seqs.length > 0 ? seqs.join() : segment === "system" || segment === "summary" ? segment : "";
  };
  const come = new Map(
    steps
      .flatMap(({ kind, b }) => (kind === "added" ? [[sourceOf(after, b), b] as const] : []))
      .filter(([source]) => source),
  );
  const partners = new Map<number, number>();
  for (const { kind, a } of steps) {
    const source = kind === "removed" ? sourceOf(before, a) : "";
    const b = come.get(source);
    if (a === undefined || b === undefined) continue;
    partners.set(b, a);
    come.delete(source);
  }
  const gone = new Set(partners.values());
  return steps.flatMap((step): readonly Step[] => {
    if (step.kind === "removed" && step.a !== undefined && gone.has(step.a)) return [];
    const a = step.kind === "added" && step.b !== undefined ? partners.get(step.b) : undefined;
    return a === undefined ? [step] : [{ ...step, kind: "changed", a }];
  });
}
