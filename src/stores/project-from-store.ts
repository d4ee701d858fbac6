import { ProjectionError } from "../projection/error.ts";
import { definedFields, type ProjectionInput } from "../projection/input/input.ts";
import { ContextPolicy } from "../projection/policy/policy.ts";
import type { Projection } from "../projection/projection.ts";
import { createProjector, type Projector } from "../projection/projector.ts";
import { Thread } from "../thread/thread.ts";
import { threadNotFound } from "./errors.ts";
import type { ThreadStore } from "./port.ts";

/** The input of a projection without the thread, which is read from the store. */
export type StoreProjectionInput = Omit<ProjectionInput, "thread"> & {
  /** Default: a new projector. */
  readonly projector?: Projector | undefined;
};

/** A typical number of tokens per row. Only the size of the first read depends on it. */
const TOKENS_PER_ROW = 100;
const LEAST_ROWS = 24;
const MOST_ROWS = 1000;

/**
 * Projects a stored thread without loading all of it. Reads a tail first, and more entries while older ones could change
 * the result.
 *
 * @example
 * const store = memoryStore();
 * await store.append("thread_1", { kind: "message", payload: { role: "user", content: "What's 2+2?" } });
 * const { messages } = await projectFromStore(store, "thread_1", { system: "Be brief." });
 * messages.length; // 2
 */
export async function projectFromStore(
  store: Pick<ThreadStore, "load">,
  threadId: string,
  input: StoreProjectionInput = {},
): Promise<Projection> {
  const { projector = createProjector({ keep: 1 }), ...rest } = definedFields(input, "input", ["projector"]);
  const policy = ContextPolicy.create(rest.policy);
  let thread = await store.load(threadId, { last: firstGuess(policy) });
  if (thread === undefined) throw threadNotFound(threadId);
  for (;;) {
    try {
      return projector.project({ ...rest, policy, thread });
    } catch (error) {
      const needed =
        ProjectionError.isInstance(error) && error.code === "tail_too_short" ? error.neededFromSeq : undefined;
      if (needed === undefined || needed >= thread.firstSeq) throw error;
      thread = await extendTail(store, thread, needed);
    }
  }
}

function firstGuess({ maxInputTokens, reserveOutputTokens }: ContextPolicy): number {
  const rows = Math.ceil((maxInputTokens - reserveOutputTokens) / TOKENS_PER_ROW);
  return Math.min(MOST_ROWS, Math.max(LEAST_ROWS, rows));
}

/** Extends a loaded tail backwards to `fromSeq`. Reads only the missing entries: the log is append-only. */
export async function extendTail(store: Pick<ThreadStore, "load">, tail: Thread, fromSeq: number): Promise<Thread> {
  const { id, createdAt, metadata, firstSeq } = tail;
  const older = await store.load(id, { last: firstSeq - fromSeq, upToSeq: firstSeq - 1 });
  if (older === undefined) throw threadNotFound(id);
  const entries = [...older.toArray({ partial: true }), ...tail.toArray({ partial: true })];
  return Thread.assemble({ id, createdAt, metadata, entries, firstSeq: older.firstSeq, base: older.base });
}
