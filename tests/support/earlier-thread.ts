import type { EntryInput, JsonObject } from "heddle";
import type { ThreadHead } from "heddle/store";
import type { LaneTrack } from "../../src/lanes/track.ts";
import { type EarlierTip, EMPTY_EARLIER_TIP, nextEarlierRow } from "../../src/stores/earlier-rows.ts";
import type { MemoryTenant } from "../../src/stores/memory-store.ts";
import { MemoryThread } from "../../src/stores/memory-threads.ts";
import { encodeEntry, sealHead } from "../../src/stores/row-format.ts";
import type { StoredRow } from "../../src/stores/stored-records.ts";
import { portableSha256 } from "../../src/thread/encoding.ts";
import { draftEntries } from "../../src/thread/entry.ts";
import { systemPorts } from "../../src/thread/ports.ts";

interface EarlierThread {
  readonly head: ThreadHead;
  readonly rows: readonly StoredRow[];
}

/** A thread as 0.1 wrote it; or as the versions before, which did not record malformed operations. */
export function earlierThread(
  threadId: string,
  entries: readonly EntryInput[],
  { marksMalformed = true }: { readonly marksMalformed?: boolean } = {},
): EarlierThread {
  const rows: StoredRow[] = [];
  const head = writeEarlierRows(threadId, entries, (row) => rows.push(row), { marksMalformed });
  return { head, rows };
}

/** Gives the rows of such a thread to `write` one after the other, for threads that do not fit into memory. Returns the head. */
export function writeEarlierRows(
  threadId: string,
  entries: Iterable<EntryInput>,
  write: (row: StoredRow) => void,
  { marksMalformed = true, metadata = {} }: { readonly marksMalformed?: boolean; readonly metadata?: JsonObject } = {},
): ThreadHead {
  let tip: EarlierTip = EMPTY_EARLIER_TIP;
  let updatedAt = 1;
  for (const entry of entries) {
    for (const draft of draftEntries([entry], systemPorts)) {
      const next = nextEarlierRow(
        tip,
        encodeEntry(draft, { payload: null, salt: "salt" }, portableSha256),
        portableSha256,
      );
      write(next.row);
      updatedAt = next.row.at;
      tip = marksMalformed ? next.tip : { ...next.tip, track: unmarked(next.tip.track) };
    }
  }
  const { rev, hash, track, mark } = tip;
  const content = { rev, hash, createdAt: 1, updatedAt, metadata, owner: null, lanes: { track, mark } };
  return sealHead(threadId, content, portableSha256);
}

/** Puts such a thread into a store in memory. */
export function putEarlierThread(tenant: MemoryTenant, threadId: string, { head, rows }: EarlierThread): void {
  const thread = new MemoryThread(threadId, head);
  tenant.threads.set(threadId, thread);
  for (const row of rows) {
    thread.push(row);
    tenant.log.push({ type: "entry", threadId, row, thread });
  }
}

function unmarked({ active, lanes }: LaneTrack): LaneTrack {
  return { active, lanes };
}
