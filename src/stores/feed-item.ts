import { freezeJson } from "../thread/json.ts";
import type { DeletedThread, ForkedThread } from "./driver.ts";
import { CorruptionError } from "./errors.ts";

/** A fork or a removal, without its cursor. */
export type FeedChange = Omit<ForkedThread, "cursor"> | Omit<DeletedThread, "cursor">;

/** The JSON text that a database stores beside the thread and the type. */
export function bodyOfFeedItem(item: FeedChange): string {
  return JSON.stringify(item.type === "forked" ? { from: item.from, forkSeq: item.forkSeq } : {});
}

export function readFeedItem(threadId: string, type: string, body: string): FeedChange {
  if (type === "deleted") return { type, threadId };
  const { from, forkSeq } = readBody(threadId, body);
  if (type === "forked" && typeof from === "string" && Number.isSafeInteger(forkSeq))
    return { type, threadId, from, forkSeq: Number(forkSeq) };
  throw damagedItem(threadId);
}

function readBody(threadId: string, body: string): { readonly from?: unknown; readonly forkSeq?: unknown } {
  try {
    return Object(freezeJson(JSON.parse(body)));
  } catch (cause) {
    throw damagedItem(threadId, cause);
  }
}

function damagedItem(threadId: string, cause?: unknown): CorruptionError {
  return new CorruptionError({ threadId, seq: -1, trouble: "its item in the feed is not what was written", cause });
}
