import type { CallDetail } from "../data/contract.ts";

/** What the reader points at, from either side. */
export interface Pointed {
  readonly message?: number;
  readonly seq?: number;
}

/** The messages that the pointed entry is in, or the pointed message itself. */
export function litMessages({ message, seq }: Pointed, { provenance, explained }: CallDetail): ReadonlySet<number> {
  if (message !== undefined) return new Set([message]);
  if (seq === undefined) return new Set();
  const lit = new Set(provenance.flatMap(({ seqs }, index) => (seqs.includes(seq) ? [index] : [])));
  const first = explained.find((entry) => entry.seq === seq)?.message;
  if (first !== undefined) lit.add(first);
  return lit;
}

/** The entries that the pointed message is made of, or the pointed entry itself. */
export function litEntries({ message, seq }: Pointed, { provenance }: CallDetail): ReadonlySet<number> {
  if (seq !== undefined) return new Set([seq]);
  return new Set(message === undefined ? [] : provenance[message]?.seqs);
}
