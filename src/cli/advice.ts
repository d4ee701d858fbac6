import { ThreadHeldError } from "../stores/errors.ts";
import type { HeddleError } from "../thread/errors.ts";

/** The message of an error. A user of the command line gets other advice than a program where a thread is held. */
export function adviceOf(error: HeddleError): string {
  if (!ThreadHeldError.isInstance(error)) return error.message;
  const { threadId } = error;
  return (
    `Another process runs thread ${threadId}. Wait until it ends, or watch it: heddle show ${threadId} --follow. ` +
    "If a Studio runs it, name that Studio with --server."
  );
}
