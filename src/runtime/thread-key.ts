import { portableSha256 } from "../thread/encoding.ts";

/** The longest key of a checkpoint. The id of a thread may be as long. */
const MAX_KEY_LENGTH = 256;

/** The key of a checkpoint of a thread. For a long id the key has its hash. */
export function threadKey(of: string, threadId: string): string {
  const key = `${of}:${threadId}`;
  return key.length <= MAX_KEY_LENGTH ? key : `${of}#${portableSha256(threadId)}`;
}
