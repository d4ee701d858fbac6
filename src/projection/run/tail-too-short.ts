import type { Thread } from "../../thread/thread.ts";
import { ProjectionError } from "../error.ts";

/** Entries of a typical turn. */
const A_TURN = 8;

/** Asks for `times` the loaded entries plus one turn. If this guess is too small, the next attempt asks for more. */
export function tailTooShort(thread: Thread, times = 2): ProjectionError {
  const { firstSeq, rev } = thread;
  const loaded = rev - firstSeq;
  const neededFromSeq = Math.max(0, firstSeq - Math.ceil(loaded * Math.min(8, times - 1)) - A_TURN);
  const message =
    `Too few entries are loaded to decide what is shown: the first is seq ${firstSeq}. ` +
    `Load the thread from seq ${neededFromSeq}, or let projectFromStore do it.`;
  return new ProjectionError({ code: "tail_too_short", message, neededFromSeq });
}
