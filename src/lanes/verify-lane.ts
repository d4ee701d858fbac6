import { sameJson } from "../thread/json.ts";
import type { Thread } from "../thread/thread.ts";
import { type Context, foldLane } from "./fold-lane.ts";
import type { LaneItem } from "./lane-log.ts";

/** Whether a stored context equals the thread's. */
export type LaneReport =
  | { readonly ok: true }
  /** The index of the first item that differs. -1 when the items are equal but another field differs. */
  | { readonly ok: false; readonly item: number };

/**
 * Folds the lane of a stored context again at the same seq and compares.
 *
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "hi" } });
 * verifyLane(thread, foldLane(thread, "default")); // { ok: true }
 */
export function verifyLane(thread: Thread, view: Context): LaneReport {
  const folded = foldLane(thread, view.lane, { atSeq: view.atSeq });
  const length = Math.max(folded.items.length, view.items.length);
  for (let item = 0; item < length; item++) {
    if (!isSameItem(folded.items[item], view.items[item])) return { ok: false, item };
  }
  const isSame =
    folded.anchor?.id === view.anchor?.id &&
    folded.systemPrompt === view.systemPrompt &&
    folded.measure === view.measure &&
    folded.complete === view.complete &&
    sameJson(folded.entries, view.entries);
  return isSame ? { ok: true } : { ok: false, item: -1 };
}

function isSameItem(a: LaneItem | undefined, b: LaneItem | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return (
    a.open === b.open &&
    a.position === b.position &&
    a.reach === b.reach &&
    a.snapshot?.index === b.snapshot?.index &&
    sameJson(a.snapshot?.message, b.snapshot?.message) &&
    a.entry.id === b.entry.id &&
    a.entry.seq === b.entry.seq &&
    a.entry.kind === b.entry.kind &&
    sameJson(a.entry.payload, b.entry.payload)
  );
}
