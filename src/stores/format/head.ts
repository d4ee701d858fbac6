import type { JsonObject } from "../../thread/json.ts";
import type { Sha256 } from "../../thread/sha256.ts";
import type { ThreadHead } from "../driver.ts";
import { CorruptionError } from "../errors.ts";
import type { ThreadInfo } from "../port.ts";
import { NO_TIP } from "./row.ts";

type Unsealed = Omit<ThreadHead, "seal">;

/** The head of a thread without entries. */
export function newHead(threadId: string, createdAt: number, metadata: JsonObject, sha256: Sha256): ThreadHead {
  return sealed(threadId, { ...NO_TIP, createdAt, updatedAt: createdAt, metadata }, sha256);
}

/** A head with its seal: a hash of all other fields. */
export function sealed(threadId: string, head: Unsealed, sha256: Sha256): ThreadHead {
  return { ...head, seal: sealOf(threadId, head, sha256) };
}

export function checkHead(threadId: string, head: ThreadHead, sha256: Sha256): ThreadHead {
  if (sealOf(threadId, head, sha256) === head.seal) return head;
  throw new CorruptionError({ threadId, seq: -1, trouble: "its record does not match its seal" });
}

export function infoOf(id: string, { rev, createdAt, updatedAt, metadata }: ThreadHead): ThreadInfo {
  const { status } = metadata;
  return { id, rev, createdAt, updatedAt, metadata, ...(typeof status === "string" && { status }) };
}

function sealOf(threadId: string, head: Unsealed, sha256: Sha256): string {
  const { rev, hash, createdAt, updatedAt, metadata, track, mark } = head;
  return sha256(JSON.stringify(["heddle.head/1", threadId, rev, hash, createdAt, updatedAt, metadata, track, mark]));
}
