import type { AppendResult } from "../../stores/port.ts";
import type { Entry, EntryInput } from "../../thread/entry.ts";
import type { Effect } from "../live/signal.ts";
import { patiently } from "../session/patiently.ts";
import type { Scene } from "./scene.ts";

/** Makes the entries of a decision durable. They carry their ids, so that appending them again is safe. */
export function append(
  { store, ports, threadId }: Pick<Scene, "store" | "ports" | "threadId">,
  epoch: number | undefined,
  { before, after, metadata }: Pick<Extract<Effect, { type: "append" }>, "before" | "after" | "metadata">,
): Promise<AppendResult> {
  const { rev: expectedRev } = before.thread;
  const entries = after.thread.slice(expectedRev, after.thread.lastSeq).map(inputOf);
  const options = { epoch, expectedRev, ...(Object.keys(metadata).length > 0 && { metadata }) };
  return patiently(ports, () => store.append(threadId, entries, options));
}

/** An operation is the same one whenever it is tried, so its time is the store's. */
function inputOf({ seq: _seq, at, ...entry }: Entry): EntryInput {
  return entry.kind === "ai_context_operation" ? entry : { ...entry, at };
}
