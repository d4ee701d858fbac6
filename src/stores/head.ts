import type { JsonObject } from "../thread/json.ts";
import type { Sha256 } from "../thread/sha256.ts";
import type { ThreadHead } from "./driver.ts";
import { CorruptionError } from "./errors.ts";
import type { ThreadInfo } from "./port.ts";
import { NO_TIP } from "./row.ts";

/** The head of a thread that has no entries yet. */
export function newHead(threadId: string, createdAt: number, metadata: JsonObject, sha256: Sha256): ThreadHead {
  return { ...NO_TIP, createdAt, updatedAt: createdAt, metadata, seal: sealOf(threadId, createdAt, metadata, sha256) };
}

export function withMetadata(threadId: string, head: ThreadHead, added: JsonObject, sha256: Sha256): ThreadHead {
  const metadata = Object.freeze({ ...head.metadata, ...added });
  return { ...head, metadata, seal: sealOf(threadId, head.createdAt, metadata, sha256) };
}

export function checkHead(threadId: string, head: ThreadHead, sha256: Sha256): ThreadHead {
  if (sealOf(threadId, head.createdAt, head.metadata, sha256) === head.seal) return head;
  throw new CorruptionError({ threadId, seq: -1, trouble: "its metadata does not match its seal" });
}

export function infoOf(id: string, { rev, createdAt, updatedAt, metadata }: ThreadHead): ThreadInfo {
  const { status } = metadata;
  return { id, rev, createdAt, updatedAt, metadata, ...(typeof status === "string" && { status }) };
}

function sealOf(threadId: string, createdAt: number, metadata: JsonObject, sha256: Sha256): string {
  return sha256(JSON.stringify(["heddle.head/1", threadId, createdAt, metadata]));
}
