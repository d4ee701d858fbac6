import type { CallDetail } from "../data/contract.ts";

/** The entry or the message that the reader points at. */
export interface Pointed {
  readonly message?: number;
  readonly seq?: number;
}

/** The messages that contain the pointed entry, or the pointed message. */
export function litMessages({ message, seq }: Pointed, { provenance, explained }: CallDetail): ReadonlySet<number> {
  if (message !== undefined) return new Set([message]);
  if (seq === undefined) return new Set();
  const lit = new Set(provenance.flatMap(({ seqs }, index) => (seqs.includes(seq) ? [index] : [])));
  const first = explained.find((entry) => entry.seq === seq)?.message;
  if (first !== undefined) lit.add(first);
  return lit;
}

/** The entries of the pointed message, or the pointed entry. */
export function litEntries({ message, seq }: Pointed, { provenance }: CallDetail): ReadonlySet<number> {
  if (seq !== undefined) return new Set([seq]);
  return new Set(message === undefined ? [] : provenance[message]?.seqs);
}
