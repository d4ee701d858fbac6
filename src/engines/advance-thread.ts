import type { Advanced, AdvanceOptions } from "../runtime/host/advance.ts";
import { ThreadHeldError } from "../stores/errors.ts";

/** The part of a host that an engine calls. */
export interface AdvancingHost {
  advance(threadId: string, options?: AdvanceOptions): Promise<Advanced>;
}

/**
 * Advances a thread for some milliseconds, because engines end calls that take minutes. Returns when to call it again, in
 * milliseconds since 1970; undefined: when it is woken. Another process that holds the thread keeps it as long as it lives.
 */
export async function advanceThread(host: AdvancingHost, threadId: string, ms: number): Promise<number | undefined> {
  try {
    const advanced = await host.advance(threadId, { untilMs: Date.now() + ms });
    if (advanced.state === "idle") return undefined;
    return advanced.state === "waiting" ? advanced.until : Date.now();
  } catch (error) {
    if (ThreadHeldError.isInstance(error)) return error.until;
    throw error;
  }
}
