import type { ThreadDatabase } from "../../../src/stores/database.ts";
import type { LeaseKey, ThreadStore } from "../../../src/stores/port.ts";
import type { TakenThread } from "../../../src/stores/runnable.ts";
import { inLane, note } from "../../../src/testing/builders.ts";
import type { EntryInput } from "../../../src/thread/entry.ts";
import { HeddleError } from "../../../src/thread/errors.ts";
import type { JsonObject } from "../../../src/thread/json.ts";

/** Threads that no node deletes. */
export const BASES = ["base0", "base1"] as const;
/** Gets a command for each command that was done. */
export const TOLD = "told";
export const MODEL = "model";

/** One call of a node, complete, so that it can be repeated after a kill. Ids are never used for two steps. */
export type NodeStep =
  | { readonly type: "append"; readonly thread: string; readonly id: string; readonly create: boolean }
  | { readonly type: "post" | "amend" | "withdraw"; readonly thread: string; readonly id: string }
  | { readonly type: "fork"; readonly from: string; readonly to: string; readonly shared: readonly string[] }
  | { readonly type: "delete"; readonly thread: string; readonly forks: "keep" | "delete" }
  | { readonly type: "blob"; readonly id: string; readonly thread?: string };

/** The result of a step, or the code of its error. */
export interface StepResult {
  readonly code?: string;
  readonly seq?: number;
  readonly replayed?: boolean;
  readonly deleted?: readonly string[];
  /** Of a blob. */
  readonly hash?: string;
}

/** Who wrote an entry or an outcome under which claim. */
export interface Holding extends JsonObject {
  readonly by: string;
  readonly life: number;
  readonly epoch: number;
}

/** A line of a node. A step has two: one before it begins, and one when it is acknowledged. */
export type NodeLine =
  | { readonly type: "began"; readonly step: NodeStep }
  | { readonly type: "done"; readonly step: NodeStep; readonly result: StepResult }
  | ({ readonly type: "claimed"; readonly thread: string } & Holding)
  | ({ readonly type: "answered"; readonly thread: string; readonly id: string; readonly status: string } & Holding)
  | { readonly type: "lease"; readonly lease: LeaseKey };

/** Some entries are long enough for a blob, some are on another lane, and some count as usage. */
export function entriesOf(id: string): readonly EntryInput[] {
  const n = Number(id.slice(id.lastIndexOf("_") + 1));
  const text = n % 5 === 0 ? longText(id) : id;
  return [
    note({ text }, { id: `${id}_a` }),
    note({ call: { model: MODEL, usage: { inputTokens: n + 1 } } }, { id: `${id}_b` }),
    ...(n % 2 === 0 ? [inLane("side", note({ text: id }, { id: `${id}_c` }))] : []),
  ];
}

/** Longer than what a row holds. Two ids in a row share a text, so that blobs have several users. */
function longText(id: string): string {
  return `${id.length} long `.repeat(12_000);
}

/** Another call that also ends with the same state: a retry after a kill, or after an error that allows it. */
export async function perform(store: ThreadStore, step: NodeStep): Promise<StepResult> {
  for (;;) {
    try {
      return await call(store, step);
    } catch (error) {
      if (!HeddleError.isInstance(error)) throw error;
      if (!error.retryable) return { code: error.code };
    }
  }
}

async function call(store: ThreadStore, step: NodeStep): Promise<StepResult> {
  switch (step.type) {
    case "append": {
      const { thread, id, create } = step;
      const { entries, replayed } = await store.append(thread, entriesOf(id), { create, metadata: { last: id } });
      return { seq: entries[0]?.seq ?? -1, replayed };
    }
    case "post":
      return {
        replayed: (await store.post(step.thread, { id: step.id, type: "ask" }, { agent: agentOf(step.id) })).replayed,
      };
    case "amend":
      return { replayed: (await store.amend(step.thread, step.id, { amended: true })).replayed };
    case "withdraw":
      return { replayed: (await store.withdraw(step.thread, step.id)).replayed };
    case "fork":
      await store.fork(step.from, { atSeq: step.shared.length - 1, newId: step.to });
      return {};
    case "delete": {
      const deletion = await store.delete(step.thread, { forks: step.forks });
      return { deleted: deletion === false ? [] : deletion.deleted };
    }
    case "blob":
      return { hash: await store.putBlob(blobOf(step.id), { threadId: step.thread }) };
  }
}

export function blobOf(id: string): JsonObject {
  return { blob: id };
}

/** A run has an agent of its own, which its ids begin with, so that it takes no thread of another run. */
function agentOf(id: string): string {
  return id.slice(0, id.indexOf("_"));
}

/** Codes of a holder that was too late. */
const LATE = new Set([
  "lease_ended",
  "stale_holder",
  "entry_id_reused",
  "command_settled",
  "command_not_found", // the thread was deleted
  "command_amended",
  "thread_held",
]);

export function isLate(error: unknown): boolean {
  return HeddleError.isInstance(error) && (error.retryable || LATE.has(error.code));
}

/** Handles all commands of a thread that was taken: one append each, with outcome, waiting call and a command to another thread. */
export async function answerCommands(
  database: ThreadDatabase,
  { tenant, threadId: thread, epoch, agent = "" }: TakenThread,
  { by, life }: Omit<Holding, "epoch">,
  tell: (line: NodeLine) => void,
): Promise<void> {
  const store = database.tenant(tenant);
  const holding: Holding = { by: String(by), life: Number(life), epoch };
  tell({ type: "claimed", thread, ...holding });
  for (const { id, revision } of await store.pending(thread)) {
    const consumed = (status: string) => ({ epoch, consumes: [{ id, revision, outcome: { status, ...holding } }] });
    const entry = note({ thread, ...holding, waits: id }, { id: `${id}/0` });
    const waiting = [{ callId: id, kind: "approval" }];
    const posts = [{ threadId: TOLD, command: { id, type: "done" } }];
    try {
      await store.append(thread, entry, { create: false, ...consumed("done"), posts, waiting, next: { agent } });
      tell({ type: "answered", thread, id, status: "done", ...holding });
    } catch (error) {
      nothingIfDeleted(error);
      await store.append(thread, [], { ...consumed("refused"), next: null });
      tell({ type: "answered", thread, id, status: "refused", ...holding });
    }
  }
  await store.append(thread, [], { epoch, next: null, create: false }).catch(nothingIfDeleted);
  await store.release(thread, epoch);
}

/** A runnable row of a deleted thread would stay. */
function nothingIfDeleted(error: unknown): void {
  if (!(HeddleError.isInstance(error) && error.code === "thread_not_found")) throw error;
}
