import { isConnectionLoss, storeError } from "../errors.ts";
import { decideAll, type Job, wantedBy } from "./batch.ts";
import { readStates } from "./read-states.ts";
import { writeBatch } from "./write-batch.ts";
import type { Writer } from "./writer.ts";

/** Commits a batch and settles its jobs. When the batch fails, retries each job alone, so that no job fails because of another. */
export async function transactAll(writer: Writer, jobs: readonly Job[]): Promise<void> {
  try {
    const answers = await commit(writer, jobs);
    for (const answer of answers) answer();
  } catch (error) {
    if (jobs.length === 1 || isConnectionLoss(error)) {
      for (const { reject } of jobs) reject(storeError(error));
      return;
    }
    for (const job of jobs) await transactAll(writer, [job]);
  }
}

function commit(writer: Writer, jobs: readonly Job[]): Promise<readonly (() => void)[]> {
  const wanted = wantedBy(jobs);
  return writer.transaction({
    threadIds: [...wanted.keys()],
    read: (scope) => readStates(scope, wanted),
    write(scope, states) {
      const outcome = decideAll(jobs, states);
      const announce = outcome.rows.length > 0;
      return { statements: writeBatch(scope, outcome), announce, finish: () => outcome.answers };
    },
  });
}
