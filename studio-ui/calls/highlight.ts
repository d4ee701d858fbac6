import type { CallDetail } from "../data/contract.ts";

/** The message index or the entry (`seq`) under the mouse pointer or the keyboard selection. */
export interface Highlight {
  readonly message?: number;
  readonly seq?: number;
}

/** Returns the messages to highlight: the pointed message, or all messages made from the pointed entry. */
export function highlightedMessages(
  { message, seq }: Highlight,
  { provenance, explained }: CallDetail,
): ReadonlySet<number> {
  if (message !== undefined) return new Set([message]);
  if (seq === undefined) return new Set();
  const lit = new Set(provenance.flatMap(({ seqs }, index) => (seqs.includes(seq) ? [index] : [])));
  const first = explained.find((entry) => entry.seq === seq)?.message;
  if (first !== undefined) lit.add(first);
  return lit;
}

/** Returns the entries to highlight: the pointed entry, or all entries that the pointed message was made from. */
export function highlightedEntries({ message, seq }: Highlight, { provenance }: CallDetail): ReadonlySet<number> {
  if (seq !== undefined) return new Set([seq]);
  return new Set(message === undefined ? [] : provenance[message]?.seqs);
}
