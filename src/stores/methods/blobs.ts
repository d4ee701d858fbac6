import type { StoreDriver } from "../driver.ts";
import { driverOutdated } from "../errors.ts";
import type { StorePorts } from "../options.ts";
import { containsText } from "../row-filter.ts";
import type { BlobTexts } from "../row-format.ts";
import { hasReferences, referencesIn, searchedText } from "../stored-payload.ts";
import type { StoredRow } from "../stored-records.ts";

interface Place {
  readonly driver: StoreDriver;
  readonly ports: Pick<StorePorts, "sha256">;
}

const NO_TEXTS: ReadonlyMap<string, string | null> = new Map();

/** The texts of the blobs that these rows refer to. A missing or damaged one is an error only for the entries that need it. */
export async function blobTexts(place: Place, rows: readonly StoredRow[]): Promise<BlobTexts> {
  return readTexts(place, new Set(rows.flatMap(({ payload }) => referencesIn(payload))));
}

/** How many rows have their blobs read together. */
const ROWS_TOGETHER = 16;

/** The texts of the newest rows that have at most this many characters, or of the last one, and the seq of the first of them. */
export async function newestTexts(
  place: Place,
  rows: readonly StoredRow[],
  maxChars: number,
): Promise<{ readonly texts: BlobTexts; readonly firstSeq: number | undefined }> {
  const texts = new Map<string, string | null>();
  let chars = 0;
  for (let end = rows.length; end > 0; end -= ROWS_TOGETHER) {
    const together = rows.slice(Math.max(0, end - ROWS_TOGETHER), end);
    const hashes = new Set(together.flatMap(({ payload }) => referencesIn(payload)));
    for (const [hash, text] of await readTexts(place, hashes)) texts.set(hash, text);
    for (const row of together.toReversed()) {
      const ofBlobs = referencesIn(row.payload).map((hash) => texts.get(hash)?.length ?? 0);
      chars += ofBlobs.reduce((sum, size) => sum + size, row.payload?.length ?? 0);
      if (chars > maxChars && row !== rows.at(-1)) return { texts, firstSeq: row.seq + 1 };
    }
  }
  return { texts, firstSeq: rows[0]?.seq };
}

async function readTexts({ driver, ports }: Place, hashes: ReadonlySet<string>): Promise<typeof NO_TEXTS> {
  if (hashes.size === 0) return NO_TEXTS;
  const texts = new Map<string, string | null>();
  for (const { hash, content } of await driver.blobs([...hashes])) {
    const isSound = typeof content === "string" && ports.sha256(content) === hash;
    const value: unknown = isSound ? JSON.parse(content) : null; // the hash proves that it is JSON
    texts.set(hash, typeof value === "string" ? value : null);
  }
  return texts;
}

/** The rows whose payload contains the text, in itself or in a blob. File data is not searched. */
export async function rowsContaining(
  place: Place,
  rows: readonly StoredRow[],
  search: string,
): Promise<readonly StoredRow[]> {
  const searched = new Set(rows.flatMap(({ payload }) => referencesIn(payload, { isSearched: true })));
  const texts = await readTexts(place, searched);
  const found = new Set([...texts].flatMap(([hash, text]) => (containsText(JSON.stringify(text), search) ? hash : [])));
  return rows.filter(
    ({ payload }) =>
      containsText(hasReferences(payload) ? searchedText(payload) : payload, search) ||
      referencesIn(payload, { isSearched: true }).some((hash) => found.has(hash)),
  );
}

/**
 * Removes some blobs that no thread has used for a time. True when there may be more. Errors are ignored, because the call that
 * purges has done its own work, and a later one purges again.
 */
export async function purgeBlobs(driver: StoreDriver, graceMs: number): Promise<boolean> {
  try {
    return (await driver.purgeBlobs?.(graceMs)) === true;
  } catch {
    return true;
  }
}

/** A driver in JavaScript that was written for an earlier version would lose blobs. */
export function checkKeepsBlobs({ blobs }: Partial<StoreDriver>): void {
  if (blobs === undefined) throw driverOutdated("blobs", "blobs and Decision.blobs");
}
