import type { EntryInput, ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import type { Scratch } from "../support/scratch.ts";
import type { Sizes } from "./sizes.ts";

export const SHORT = "thread_short";
export const LONG = "thread_long";
const BATCH = 5000;
const WORDS = "about the loom, its warp and weft, and how the heddles lift the threads on each pass of the shuttle";

/** A short thread and a long one: asks and answers, as an agent writes them, without a call that could be looked up. */
export async function longStore(scratch: Scratch, { short, long }: Sizes): Promise<ThreadStore> {
  const store = sqliteStore(scratch.file("long.db"));
  for (const [id, length] of [
    [SHORT, short],
    [LONG, long],
  ] as const) {
    for (let from = 0; from < length; from += BATCH) {
      const size = Math.min(BATCH, length - from);
      await store.append(
        id,
        Array.from({ length: size }, (_, index) => saidAt(from + index)),
      );
    }
  }
  return store;
}

/** Threads of ten entries each. */
export async function manyStore(scratch: Scratch, { threads }: Sizes): Promise<ThreadStore> {
  const store = sqliteStore(scratch.file("many.db"));
  for (let from = 0; from < threads; from += 500) {
    const some = Array.from({ length: Math.min(500, threads - from) }, (_, index) => from + index);
    await Promise.all(
      some.map((n) =>
        store.append(
          `thread_${n}`,
          Array.from({ length: 10 }, (_, seq) => saidAt(seq)),
          {
            metadata: { title: `Talk ${n}`, agent: n % 3 === 0 ? "spinner" : "weaver", status: STATUSES[n % 4] ?? "" },
          },
        ),
      ),
    );
  }
  return store;
}

const STATUSES = ["completed", "failed", "cancelled", "completed"] as const;

function saidAt(seq: number): EntryInput {
  const role = seq % 2 === 0 ? "user" : "assistant";
  const content = `${role === "user" ? "Question" : "Answer"} ${seq} ${WORDS}`;
  return { kind: "ai_message", payload: { contextRef: "default", role, content } };
}
