import type { Message } from "../../thread/message.ts";
import type { Change, ShownCall } from "../contract/call.ts";

type Shown = Pick<ShownCall, "messages" | "provenance">;

/** The largest table to fill. Beyond it, the middle is reported as one removed block and one added block. */
const MOST_CELLS = 4_000_000;

export function sameAtFirst(a: readonly Message[], b: readonly Message[]): number {
  const differs = b.findIndex((message, index) => JSON.stringify(message) !== JSON.stringify(a[index]));
  return differs < 0 ? b.length : differs;
}

/** The shortest list of changes from the one list of messages to the other, in order. */
export function changesOf(before: Shown, after: Shown): readonly Change[] {
  const [a, b] = [before, after].map(({ messages }) => messages.map((message) => JSON.stringify(message)));
  if (a === undefined || b === undefined) return [];
  const steps = aligned(a, b);
  return paired(steps, before, after).map((step, index) => ({ index, ...step }));
}

type Step = Omit<Change, "index">;

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

/** Aligns the parts between the equal ends by their longest common subsequence. */
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

/** What is gone and what has come of the same entries is one message that changed. */
function paired(steps: readonly Step[], before: Shown, after: Shown): readonly Step[] {
  const sourceOf = ({ provenance }: Shown, index: number | undefined): string => {
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
