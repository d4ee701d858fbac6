import { ThreadHeldError } from "../stores/errors.ts";
import type { HeddleError } from "../thread/errors.ts";

/** The message of an error, with what is to be done on a command line where that is not what a program does. */
export function adviceOf(error: HeddleError): string {
  if (!ThreadHeldError.isInstance(error)) return error.message;
  const { threadId } = error;
  return (
    `Another process is at work in thread ${threadId}. Wait for its end, or look on: heddle show ${threadId} --follow. ` +
    "Where a Studio runs it, name that: --server."
  );
}
