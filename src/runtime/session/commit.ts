import { type ReactAgent, willOnlyWait } from "../../agent/react/agent.ts";
import { opIdReused } from "../../agent/react/operations.ts";
import { evolve } from "../../agent/react/state.ts";
import { EntryIdReuseError } from "../../stores/errors.ts";
import type { AppendOptions, AppendResult, ThreadStore } from "../../stores/port.ts";
import type { Entry, EntryInput } from "../../thread/entry.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { RuntimePorts } from "../ports.ts";
import { patiently } from "./patiently.ts";

export interface Writer {
  readonly store: ThreadStore;
  readonly epoch: number | undefined;
  readonly ports: RuntimePorts;
  /** Metadata of the thread, beside its status. */
  readonly beside: JsonObject;
}

/**
 * Makes the entries durable that a step has appended, and answers the agent as it stands then. When this returns nothing
 * of the step can be lost; when it throws nothing of it is known to be there.
 */
export async function commit(writer: Writer, before: ReactAgent, after: ReactAgent): Promise<ReactAgent> {
  const fresh = after.thread.slice(before.thread.rev, Math.max(before.thread.rev, after.thread.lastSeq));
  if (fresh.length === 0) return after;
  const operation = fresh.find(({ kind }) => kind === "ai_context_operation");
  try {
    const result = await append(writer, after.thread.id, fresh, {
      expectedRev: before.thread.rev,
      ...metadataOf(writer, before, after),
    });
    if (operation === undefined) return after;
    // A replay from further back is an operation that was applied long ago; one from here only lost its acknowledgement.
    const isOurs = result.entries[0]?.seq === before.thread.rev;
    return isOurs ? adopted(before, after, result) : { ...after, thread: before.thread, state: before.state };
  } catch (error) {
    if (operation === undefined || !EntryIdReuseError.isInstance(error)) throw error;
    throw opIdReused(String(operation.payload["opId"]));
  }
}

/** Entries carry their ids, so that appending them again is safe. */
function append(
  { store, epoch, ports }: Writer,
  threadId: string,
  entries: readonly Entry[],
  options: Pick<AppendOptions, "expectedRev" | "metadata">,
): Promise<AppendResult> {
  const inputs = entries.map(inputOf);
  return patiently(ports, () => store.append(threadId, inputs, { ...options, epoch }));
}

/** `metadata.status` of a thread says how its agent stands, so that a list of threads can show it. */
function metadataOf({ beside }: Writer, before: ReactAgent, after: ReactAgent): Pick<AppendOptions, "metadata"> {
  const status = statusOf(after);
  const isNew = status !== undefined && status !== statusOf(before);
  const metadata = { ...beside, ...(isNew && { status }) };
  return Object.keys(metadata).length === 0 ? {} : { metadata };
}

function statusOf(agent: ReactAgent): string | undefined {
  const { run, last } = agent.state;
  if (run === undefined) return last?.end.status;
  return willOnlyWait(agent) ? "waiting" : "running";
}

/** An operation is the same one whenever it is tried, so its time is the store's. */
function inputOf({ seq: _place, at, ...entry }: Entry): EntryInput {
  return entry.kind === "ai_context_operation" ? entry : { ...entry, at };
}

function adopted(before: ReactAgent, after: ReactAgent, { entries }: AppendResult): ReactAgent {
  const inputs = entries.map(({ seq: _place, ...entry }) => entry);
  return { ...after, thread: before.thread.append(inputs), state: entries.reduce(evolve, before.state) };
}
