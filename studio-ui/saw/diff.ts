import type { Message } from "heddle";

export interface Change {
  readonly kind: "same" | "added" | "removed" | "changed";
  readonly a?: number;
  readonly b?: number;
}

const key = (message: Message) => JSON.stringify(message);

/** How many equal messages two lists share at the start. */
export function sameMessages(a: readonly Message[], b: readonly Message[]): number {
  let same = 0;
  while (same < a.length && same < b.length && key(a[same] as Message) === key(b[same] as Message)) same += 1;
  return same;
}

/** The change of each message between two calls. The longest common part is unchanged; messages opposite each other changed. */
export function diffMessages(a: readonly Message[], b: readonly Message[]): Change[] {
  const before = a.map(key);
  const after = b.map(key);
  const head = sameMessages(a, b);
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const changes: Change[] = range(0, head).map((i) => ({ kind: "same", a: i, b: i }));
  changes.push(...between(before, after, head, a.length - tail, b.length - tail));
  changes.push(
    ...range(0, tail).map((i) => ({ kind: "same" as const, a: a.length - tail + i, b: b.length - tail + i })),
  );
  return changes;
}

function between(
  before: readonly string[],
  after: readonly string[],
  head: number,
  endA: number,
  endB: number,
): Change[] {
  const pairs = common(before.slice(head, endA), after.slice(head, endB));
  const changes: Change[] = [];
  let a = head;
  let b = head;
  for (const [atA, atB] of [...pairs, [endA - head, endB - head] as const]) {
    changes.push(...unlike(a, head + atA, b, head + atB));
    a = head + atA;
    b = head + atB;
    if (a < endA && b < endB) changes.push({ kind: "same", a: a++, b: b++ });
  }
  return changes;
}

function unlike(a: number, endA: number, b: number, endB: number): Change[] {
  const both = Math.min(endA - a, endB - b);
  // Only if both sides have equally many messages. Otherwise some were removed or added, and `changed` would mislead.
  if (endA - a === endB - b) return range(0, both).map((i) => ({ kind: "changed", a: a + i, b: b + i }));
  return [
    ...range(a, endA).map((i) => ({ kind: "removed" as const, a: i })),
    ...range(b, endB).map((i) => ({ kind: "added" as const, b: i })),
  ];
}

/** Longest common subsequence by a table. Very long different parts are compared by position only. */
function common(a: readonly string[], b: readonly string[]): [number, number][] {
  if (a.length * b.length > 4_000_000) return [];
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => table[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  return pairs;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
}
