/**
 * A writer in a process of its own. It appends batch after batch under ids that can be retried, and writes a line per
 * acknowledged batch, synchronously: a line that was read is an acknowledgement that was given. It waits for the first
 * line on its standard input, so that many can start together. Argument: the work as JSON.
 */
import { once } from "node:events";
import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { ThreadStore } from "../../../src/stores/port.ts";
import { HeddleError } from "../../../src/thread/errors.ts";
import { openAt } from "../../support/open-at.ts";
import { type Acknowledgement, batchOf, type Work } from "./work.ts";

const work = JSON.parse(process.argv[2] ?? "") as Work;
const store = await openAt(work.url, { tenant: work.tenant });
writeSync(1, "ready\n");
await once(process.stdin, "data");
process.stdin.destroy();
const end = work.forMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + work.forMs;
for (let batch = work.from; batch < work.to && performance.now() < end; batch++) {
  const { entries, replayed } = await persist(store, batch);
  const told: Acknowledgement = { batch, seq: entries[0]?.seq ?? -1, replayed };
  writeSync(1, `${JSON.stringify(told)}\n`);
}
await store.close();

/** While the server is away, or others keep the file locked, the same batch is tried again. */
async function persist(store: ThreadStore, batch: number) {
  for (;;) {
    try {
      return await store.append(work.threadId, batchOf(work, batch));
    } catch (error) {
      if (!work.persistent || !HeddleError.isInstance(error) || !error.retryable) throw error;
      await sleep(20);
    }
  }
}
