import { join } from "node:path";
import { sqliteStore } from "heddle/sqlite";
import type { Peer } from "../peers/log/peer.ts";
import { version } from "../support/packages.ts";
import { messageOf, messages } from "./message.ts";

const CHUNK = 1000;

/** heddle/sqlite doing the job of the peers, measured by the same code. */
export const heddle = (): Promise<Peer> => heddleIn("durable", "synchronous=2");

/** As durable as the peers are by default. */
export const heddleRelaxed = (): Promise<Peer> => heddleIn("relaxed", "synchronous=1");

async function heddleIn(mode: "durable" | "relaxed", synchronous: string): Promise<Peer> {
  return {
    name: `heddle/sqlite, ${mode}`,
    packages: [`heddle ${version("../../package.json")}`, `node:sqlite ${process.versions["sqlite"]}`],
    notes: ["A message is one store.append."],
    async open(folder) {
      const store = sqliteStore(join(folder, "heddle.db"), { mode });
      return {
        append: (conversation, index) => store.append(conversation, messageOf(index)),
        async fill(conversation, count) {
          for (let from = 0; from < count; from += CHUNK)
            await store.append(conversation, messages(from, Math.min(CHUNK, count - from)));
        },
        async tail(conversation, count) {
          const thread = await store.load(conversation, { last: count });
          return (thread?.toArray({ partial: true }) ?? []).map(({ payload }) => String(payload["content"]));
        },
        // The store reads it back itself, and does not open without it.
        durability: async () => `journal_mode=wal ${synchronous}`,
        close: () => store.close(),
      };
    },
  };
}
