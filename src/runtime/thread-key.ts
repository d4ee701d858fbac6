import { portableSha256 } from "../thread/encoding.ts";

/** The longest name that a checkpoint may have; a thread's may be as long. */
const LONGEST = 256;

/** The key of a checkpoint of a thread. Where its id leaves no room for what it is of, its hash stands for it. */
export function threadKey(of: string, threadId: string): string {
  const key = `${of}:${threadId}`;
  return key.length <= LONGEST ? key : `${of}#${portableSha256(threadId)}`;
}
