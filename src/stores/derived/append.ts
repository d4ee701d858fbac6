import type { Draft } from "../../thread/entry.ts";
import { decideAppend } from "../decide/append.ts";
import { EntryIdReuseError, StoreError } from "../errors.ts";
import { type Prepared, prepare } from "../format/row.ts";
import type { AppendOptions, AppendResult } from "../port.ts";
import type { StoreContext } from "./context.ts";

export async function append(
  context: StoreContext,
  threadId: string,
  drafts: readonly Draft[],
  options: AppendOptions,
): Promise<AppendResult> {
  const { driver, ports } = context;
  if (drafts.length === 0 && Object.keys(options.metadata ?? {}).length > 0) throw metadataAlone(threadId);
  const batch = drafts.map((draft) => prepare(draft, context.salt(), ports.sha256));
  checkBatch(threadId, batch, ports.maxEntryChars);
  const createdAt = batch[0]?.draft.at ?? ports.clock();
  const request = { threadId, batch, options, createdAt, metadata: {} };
  const ids = batch.flatMap(({ draft }) => (draft.idGiven ? draft.id : []));
  const result = await driver.transact(threadId, ids, (state) => decideAppend(request, state, ports.sha256));
  context.wakeups.wake();
  return result;
}

export function checkBatch(threadId: string, batch: readonly Prepared[], maxEntryChars: number): void {
  const ids = new Set<string>();
  for (const { draft, payload } of batch) {
    if (ids.has(draft.id)) throw new EntryIdReuseError(threadId, [draft.id], "twice in one batch");
    ids.add(draft.id);
    if (payload.length > maxEntryChars) throw tooLarge(threadId, draft.id, payload.length, maxEntryChars);
  }
}

/** The head is written only together with entries, so metadata alone would be lost. */
function metadataAlone(threadId: string): StoreError {
  const message =
    "Metadata is written only together with entries, and this append has none. Pass the metadata with the next entry.";
  return new StoreError({ code: "metadata_without_entries", threadId, message });
}

function tooLarge(threadId: string, entryId: string, size: number, limit: number): StoreError {
  const message = `Entry ${entryId} has a payload of ${size} characters; at most ${limit} are allowed. Store large content elsewhere and append a reference to it.`;
  return new StoreError({ code: "too_large", threadId, message });
}
