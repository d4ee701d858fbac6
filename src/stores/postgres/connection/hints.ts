import { nativeSha256 } from "../../native/sha256.ts";
import type { Settings } from "../options.ts";
import type { Sql } from "./library.ts";

/** Where the stores of one tenant tell each other that there is something to read; safe without quotes. */
export function channelOf({ schema, tenant }: Settings): string {
  return `heddle_${Buffer.from(nativeSha256(`${schema}/${tenant}`), "base64url")
    .toString("hex")
    .slice(0, 32)}`;
}

/**
 * The library subscribes again after every reconnect, and `wake` is called then too, for what was missed meanwhile.
 * Where LISTEN is refused, and behind a pooler, where it is not sent, polling does without.
 */
export function listen(sql: Sql, channel: string, wake: () => void): void {
  sql.listen(channel, wake, wake).catch(() => {});
}
