import { ProjectionError } from "../projection/error.ts";
import { givenFields } from "../projection/input/check.ts";
import type { ProjectionInput } from "../projection/input/input.ts";
import { ContextPolicy } from "../projection/policy/policy.ts";
import type { Projection } from "../projection/projection.ts";
import { createProjector, type Projector } from "../projection/projector.ts";
import { threadNotFound } from "./errors.ts";
import { extended } from "./extend-tail.ts";
import type { ThreadStore } from "./port.ts";

/** The input of a projection without the thread, which is read from the store. */
export type StoredInput = Omit<ProjectionInput, "thread"> & {
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
  input: StoredInput = {},
): Promise<Projection> {
  const { projector = createProjector({ keep: 1 }), ...rest } = givenFields(input, "input", ["projector"]);
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
      thread = await extended(store, thread, needed);
    }
  }
}

function firstGuess({ maxInputTokens, reserveOutputTokens }: ContextPolicy): number {
  const rows = Math.ceil((maxInputTokens - reserveOutputTokens) / TOKENS_PER_ROW);
  return Math.min(MOST_ROWS, Math.max(LEAST_ROWS, rows));
}
