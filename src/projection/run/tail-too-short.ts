import type { Thread } from "../../thread/thread.ts";
import { ProjectionError } from "../error.ts";

/** Rows of an ordinary turn. */
const A_TURN = 8;

/** Asks for so many times what is loaded, and a turn more: a guess that the next attempt puts right. */
export function tailTooShort(thread: Thread, times = 2): ProjectionError {
  const { firstSeq, rev } = thread;
  const loaded = rev - firstSeq;
  const neededFromSeq = Math.max(0, firstSeq - Math.ceil(loaded * Math.min(8, times - 1)) - A_TURN);
  const message =
    `The entries loaded, from seq ${firstSeq} on, do not decide what is shown. ` +
    `Load the thread from seq ${neededFromSeq}, or let projectFromStore do it.`;
  return new ProjectionError({ code: "tail_too_short", message, neededFromSeq });
}
