import { portableSha256 } from "../../thread/encoding.ts";
import type { ThreadStart } from "../driver.ts";
import { CorruptionError, threadNotFound } from "../errors.ts";
import { originSum } from "../row-parts.ts";
import { copyBlobUses } from "./blob-table.ts";
import type { SqliteConnection } from "./connection.ts";
import { addFeedItem } from "./feed.ts";
import { Forks, keyOf } from "./forks.ts";
import { insertThread } from "./thread-tables.ts";

interface NewFork {
  readonly from: string;
  readonly to: string;
  readonly atSeq: number;
  readonly start: ThreadStart;
}

/**
 * Makes a fork. Returns false when the target exists. Its head was computed earlier, so this checks that the rows have not
 * changed since. Must run inside a transaction.
 */
export function forkThread(connection: SqliteConnection, tenant: string, { from, to, atSeq, start }: NewFork): boolean {
  if (keyOf(connection, tenant, to) !== undefined) return false;
  const parent = keyOf(connection, tenant, from);
  if (parent === undefined) throw threadNotFound(from);
  const parts = new Forks(connection, tenant).partsOf(from, parent);
  const origin = atSeq < 0 ? undefined : parts.find((part) => part.from <= atSeq)?.owner;
  if (origin !== undefined) {
    const last = connection.prepare("SELECT hash FROM entries WHERE thread = ? AND seq = ?").get(origin, atSeq);
    if (last?.[0] !== start.head.hash)
      throw new CorruptionError({ threadId: from, seq: atSeq, trouble: "it is missing" });
  }
  const sum = origin === undefined ? null : originSum(origin, atSeq, portableSha256);
  const key = insertThread(connection, tenant, to, start);
  connection
    .prepare("UPDATE threads SET origin = ?, fork_seq = ?, origin_sum = ?, fork_of = ? WHERE key = ?")
    .run(origin ?? null, atSeq, sum, parent, key);
  copyBlobUses(connection, tenant, { from, to, atSeq });
  addFeedItem(connection, tenant, { type: "forked", threadId: to, from, forkSeq: atSeq });
  return true;
}
