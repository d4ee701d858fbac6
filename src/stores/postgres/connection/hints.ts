import { nativeSha256 } from "../../native/sha256.ts";
import type { Settings } from "../options.ts";
import type { Sql } from "./library.ts";

/** The NOTIFY channel of one tenant. The name needs no quotes in SQL. */
export function channelOf({ schema, tenant }: Settings): string {
  return `heddle_${Buffer.from(nativeSha256(`${schema}/${tenant}`), "base64url")
    .toString("hex")
    .slice(0, 32)}`;
}

/**
 * The library subscribes again after every reconnect and then calls `wake`, because notifications may have been missed.
 * Ignores errors: without LISTEN, for example behind a pooler, watchers poll.
 */
export function listen(sql: Sql, channel: string, wake: () => void): void {
  sql.listen(channel, wake, wake).catch(() => {});
}
