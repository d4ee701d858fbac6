import { HeddleError } from "../../thread/errors.ts";
import type { ThreadOptions } from "./thread-options.ts";

/** The work is stored. A claim that cannot be released runs out by itself, so it must not fail the stop. */
export async function releaseClaim({ threadId, holder, warn }: ThreadOptions): Promise<void> {
  try {
    await holder?.release();
  } catch (error) {
    const why = HeddleError.isInstance(error) ? error.message : "unexpected error.";
    warn(`Thread ${threadId}: its claim could not be released, and runs out by itself: ${why}`);
  }
}
