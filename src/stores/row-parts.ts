import type { Sha256 } from "../thread/encoding.ts";
import type { RowRange } from "./driver.ts";
import { CorruptionError } from "./errors.ts";
import type { StoredRow } from "./stored-records.ts";

/** Rows of a thread that have the same owner. A fork has several parts: its own rows, and those that it shares. */
export interface RowPart<Owner> {
  readonly owner: Owner;
  /** The first seq, inclusive. */
  readonly from: number;
  /** The last seq, inclusive. */
  readonly to: number;
}

/** The parts that have rows of a range, cut to these rows, in the order of the range. */
export function partsInRange<Owner>(
  parts: readonly RowPart<Owner>[],
  { from, to, reverse = false }: Pick<RowRange, "from" | "to" | "reverse">,
): readonly RowPart<Owner>[] {
  return parts
    .map((part) => ({ owner: part.owner, from: Math.max(part.from, from), to: Math.min(part.to, to) }))
    .filter((part) => part.from <= part.to)
    .sort((a, b) => (reverse ? b.from - a.from : a.from - b.from));
}

/** Reads a range part by part until it has enough rows. */
export function readParts<Owner>(
  parts: readonly RowPart<Owner>[],
  range: RowRange,
  read: (owner: Owner, range: RowRange) => readonly StoredRow[],
): readonly StoredRow[] {
  let found: readonly StoredRow[] = [];
  for (const { owner, from, to } of partsInRange(parts, range)) {
    const limit = range.limit - found.length;
    if (limit <= 0) break;
    const rows = read(owner, { ...range, from, to, limit });
    found = found.length === 0 ? rows : [...found, ...rows];
  }
  return found;
}

/** The pointer of a fork, as a database keeps it. */
export interface StoredOrigin {
  /** The key of the thread that owns the last shared row; null when the thread shares no rows. */
  readonly origin: number | null;
  /** The last shared seq. */
  readonly forkSeq: number | null;
  readonly sum: string | null;
}

/** A short hash of a pointer. A wrong pointer would show the rows of another thread. */
export function originSum(origin: number, forkSeq: number, sha256: Sha256): string {
  return sha256(`["heddle.origin/1",${origin},${forkSeq}]`).slice(0, 16);
}

/** Checks the pointers of a fork, of the owner of its last shared row, and so on; returns all parts, the newest first. */
export function partsOfFork(
  threadId: string,
  links: readonly (StoredOrigin & { readonly key: number })[],
  sha256: Sha256,
): readonly RowPart<number>[] {
  const parts: RowPart<number>[] = [];
  let to = Number.MAX_SAFE_INTEGER;
  for (const { key, origin, forkSeq, sum } of links) {
    const isRight = origin === null ? sum === null : sum === originSum(origin, forkSeq ?? -1, sha256);
    if (!isRight) throw new CorruptionError({ threadId, seq: -1, trouble: "its origin does not match its checksum" });
    const from = origin === null ? 0 : (forkSeq ?? -1) + 1;
    parts.push({ owner: key, from, to });
    to = from - 1;
  }
  return parts;
}
