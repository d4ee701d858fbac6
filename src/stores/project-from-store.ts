import { ProjectionError } from "../projection/error.ts";
import { definedFields, type ProjectionInput } from "../projection/input/input.ts";
import { ContextPolicy } from "../projection/policy/policy.ts";
import type { Projection } from "../projection/projection.ts";
import { createProjector, type Projector } from "../projection/projector.ts";
import { ThreadError } from "../thread/errors.ts";
import { Thread } from "../thread/thread.ts";
import type { ThreadBase } from "../thread/thread-data.ts";
import { threadNotFound } from "./errors.ts";
import type { ThreadStore } from "./port.ts";
import { startOfMissing, type TailStart, type TailStore } from "./turn-start.ts";

/** The input of a projection without the thread, which is read from the store. */
export type StoreProjectionInput = Omit<ProjectionInput, "thread"> & {
  /** Default: a new projector. */
  readonly projector?: Projector | undefined;
};

/** A typical number of tokens per row. Only the size of the first read depends on it. */
const TOKENS_PER_ROW = 100;
const LEAST_ROWS = 24;
/** As many as a load with `maxChars` has. */
const MOST_ROWS = 499;
const FIRST_CHARS = 16 * 1024 * 1024;

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
  store: TailStore,
  threadId: string,
  input: StoreProjectionInput = {},
): Promise<Projection> {
  const { projector = createProjector({ keep: 1 }), ...rest } = definedFields(input, "input", ["projector"]);
  const policy = ContextPolicy.create(rest.policy);
  const tail = await store.load(threadId, { last: firstGuess(policy), maxChars: FIRST_CHARS });
  if (tail === undefined) throw threadNotFound(threadId);
  return readTail(store, tail, (thread) => projector.project({ ...rest, policy, thread }));
}

/** Reads from the thread, and loads more of it until nothing is missing. */
export async function readTail<Value>(store: TailStore, tail: Thread, read: (thread: Thread) => Value): Promise<Value> {
  for (let thread = tail; ; ) {
    try {
      return read(thread);
    } catch (error) {
      thread = await loadMissing(store, thread, error);
    }
  }
}

function firstGuess({ maxInputTokens, reserveOutputTokens }: ContextPolicy): number {
  const rows = Math.ceil((maxInputTokens - reserveOutputTokens) / TOKENS_PER_ROW);
  return Math.min(MOST_ROWS, Math.max(LEAST_ROWS, rows));
}

/** The tail with what an error says is missing: older entries or a lane. Any other error is thrown again. */
export async function loadMissing(store: TailStore, tail: Thread, error: unknown): Promise<Thread> {
  return (await longerTail(store, tail, error)).thread;
}

/** A longer tail, and the first entries of the requests that were looked up for it. */
type LongerTail = Pick<TailStart, "requests"> & { readonly thread: Thread };

/** The same, and what was looked up for it. */
export async function longerTail(store: TailStore, tail: Thread, error: unknown): Promise<LongerTail> {
  if (ThreadError.isInstance(error) && error.code === "lane_not_loaded" && error.lane !== undefined)
    return { thread: await loadLane(store, tail, error.lane), requests: [] };
  const isShort = ProjectionError.isInstance(error) && error.code === "tail_too_short";
  if (!isShort || error.neededFromSeq === undefined || error.neededFromSeq >= tail.firstSeq) throw error;
  const start = (await startOfMissing(store, tail, error)) ?? { fromSeq: error.neededFromSeq, requests: [] };
  return { thread: await extendTail(store, tail, start.fromSeq), requests: start.requests };
}

/**
 * Extends a loaded tail backwards to `fromSeq`. Reads only the missing entries: the log is append-only. A thread that was
 * deleted and created again since is loaded from its end.
 */
export async function extendTail(store: Pick<ThreadStore, "load">, tail: Thread, fromSeq: number): Promise<Thread> {
  const { id, createdAt, metadata, firstSeq, rev } = tail;
  const overlap = firstSeq < rev ? 1 : 0; // the first entry is read again, because no other thread has its id
  const last = firstSeq - fromSeq + overlap;
  const older = await store.load(id, { last, upToSeq: firstSeq - 1 + overlap });
  if (older === undefined) throw threadNotFound(id);
  if (overlap === 1 && older.last()?.id !== tail.at(firstSeq)?.id)
    return (await store.load(id, { last: rev - fromSeq })) ?? Promise.reject(threadNotFound(id));
  const before = older.toArray({ partial: true }).filter(({ seq }) => seq < firstSeq);
  const entries = [...before, ...tail.toArray({ partial: true })];
  const base = older.base && tail.base && joinBases(older.base, tail.base);
  return Thread.assemble({ id, createdAt, metadata, entries, firstSeq: older.firstSeq, base });
}

/** The facts before the older entries. A lane that these do not use has the same state before and after them. */
function joinBases(older: ThreadBase, later: ThreadBase): ThreadBase {
  const same = Object.entries(later.lanes).filter(([lane]) => !older.unwritten?.includes(lane));
  const lanes = Object.freeze({ ...Object.fromEntries(same), ...older.lanes });
  if (later.unwritten === undefined) {
    const { unwritten: _some, ...rest } = older;
    return Object.freeze({ ...rest, lanes });
  }
  const unwritten = new Set([...(older.unwritten ?? []), ...later.unwritten]);
  return Object.freeze({ ...older, lanes, unwritten: Object.freeze([...unwritten]) });
}

/** The tail with the state of one more lane before its entries. */
async function loadLane(store: Pick<ThreadStore, "load">, tail: Thread, lane: string): Promise<Thread> {
  const { id, createdAt, metadata, firstSeq, base } = tail;
  const found = (await store.load(id, { last: 0, upToSeq: firstSeq - 1, lanes: [lane] }))?.base;
  if (found === undefined || base === undefined) throw threadNotFound(id);
  const unwritten = new Set([...(base.unwritten ?? []), ...(found.unwritten ?? [])]);
  const merged = Object.freeze({
    ...base,
    lanes: Object.freeze({ ...found.lanes, ...base.lanes }),
    unwritten: Object.freeze([...unwritten]),
  });
  return Thread.assemble({ id, createdAt, metadata, entries: tail.toArray({ partial: true }), firstSeq, base: merged });
}
