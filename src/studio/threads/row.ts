import { threadNotFound } from "../../stores/errors.ts";
import type { ThreadInfo } from "../../stores/port.ts";
import type { ThreadRow } from "../contract/thread.ts";
import type { Studio } from "../studio.ts";

type Told = Pick<ThreadInfo, "id" | "rev" | "createdAt" | "updatedAt" | "metadata">;

export async function rowOf(studio: Studio, info: Told): Promise<ThreadRow> {
  const { id, rev, createdAt, updatedAt, metadata } = info;
  const { status, agent, parentThreadId, forkSeq } = metadata;
  return {
    id,
    title: await studio.titles.of(info),
    ...(typeof status === "string" && { status }),
    live: studio.live.isLive(id),
    rev,
    createdAt,
    updatedAt,
    ...(typeof agent === "string" && { agent }),
    ...(typeof parentThreadId === "string" && { parentThreadId }),
    ...(typeof forkSeq === "number" && { forkSeq }),
  };
}

/** The row of one thread. Reads a single entry of it. */
export async function rowOfThread(studio: Studio, threadId: string): Promise<ThreadRow> {
  const thread = await studio.store.load(threadId, { last: 1 });
  if (thread === undefined) throw threadNotFound(threadId);
  return rowOf(studio, thread);
}
