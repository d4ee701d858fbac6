import type { ThreadHead } from "../driver.ts";
import { CorruptionError } from "../errors.ts";
import type { StoreContext } from "./context.ts";

/**
 * Runs an operation that reads a head and then rows. A thread that is deleted or recreated between the two reads looks
 * damaged. So when damage is found and the head has changed, the operation is retried.
 */
export async function steadily<Result>(
  { driver }: StoreContext,
  threadId: string,
  attempt: (head: ThreadHead | undefined) => Promise<Result>,
): Promise<Result> {
  let head = await driver.head(threadId);
  for (;;) {
    try {
      return await attempt(head);
    } catch (error) {
      if (!CorruptionError.isInstance(error)) throw error;
      const now = await driver.head(threadId);
      if (now?.hash === head?.hash && now?.createdAt === head?.createdAt) throw error;
      head = now;
    }
  }
}
