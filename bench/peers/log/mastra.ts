import { join } from "node:path";
import { roleOf, textOf } from "../../log/message.ts";
import { loadPeer, withVersion } from "../load.ts";
import type { Peer } from "./peer.ts";

interface Message {
  readonly id: string;
  readonly threadId: string;
  readonly resourceId: string;
  readonly role: string;
  readonly createdAt: Date;
  readonly content: {
    readonly format: 2;
    readonly parts: readonly { readonly type: string; readonly text?: string }[];
  };
}
interface Storage {
  init(): Promise<void>;
  close(): Promise<void>;
}
interface LibSql {
  readonly LibSQLStore: new (options: {
    id: string;
    url: string;
  }) => Storage & {
    readonly client: { execute(sql: string): Promise<{ rows: readonly Record<string, unknown>[] }> };
  };
}
interface MemoryModule {
  readonly Memory: new (options: {
    storage: Storage;
    options: { semanticRecall: false };
  }) => {
    createThread(options: { threadId: string; resourceId: string }): Promise<unknown>;
    saveMessages(options: { messages: readonly Message[] }): Promise<unknown>;
    recall(options: { threadId: string; perPage: number }): Promise<{ messages: readonly Message[] }>;
  };
}

const RESOURCE = "bench";
const CHUNK = 1000;

/** Mastra's Memory on its LibSQL store. */
export async function mastra(): Promise<Peer> {
  const { LibSQLStore } = await loadPeer<LibSql>("@mastra/libsql");
  const { Memory } = await loadPeer<MemoryModule>("@mastra/memory");
  return {
    name: "Mastra LibSQLStore",
    packages: ["@mastra/core", "@mastra/libsql", "@mastra/memory", "libsql"].map(withVersion),
    notes: [
      "A message is one memory.saveMessages: a transaction for the message and one for its thread's record.",
      "The order of messages is that of their createdAt; two writers cannot be detected.",
    ],
    async open(folder) {
      const storage = new LibSQLStore({ id: "bench", url: `file:${join(folder, "mastra.db")}` });
      await storage.init();
      const memory = new Memory({ storage, options: { semanticRecall: false } });
      const known = new Map<string, Promise<unknown>>();
      const thread = (threadId: string): Promise<unknown> => {
        const created = known.get(threadId) ?? memory.createThread({ threadId, resourceId: RESOURCE });
        known.set(threadId, created);
        return created;
      };
      return {
        async append(conversation, index) {
          await thread(conversation);
          await memory.saveMessages({ messages: [message(conversation, index)] });
        },
        async fill(conversation, count) {
          await thread(conversation);
          for (let from = 0; from < count; from += CHUNK) {
            const size = Math.min(CHUNK, count - from);
            const messages = Array.from({ length: size }, (_, offset) => message(conversation, from + offset));
            await memory.saveMessages({ messages });
          }
        },
        async tail(conversation, count) {
          const { messages } = await memory.recall({ threadId: conversation, perPage: count });
          return messages.map(({ content }) => content.parts.map(({ text = "" }) => text).join(""));
        },
        async durability() {
          const pragma = async (name: string) => {
            const { rows } = await storage.client.execute(`PRAGMA ${name}`);
            return `${name}=${rows[0]?.[name]}`;
          };
          return `${await pragma("journal_mode")} ${await pragma("synchronous")}`;
        },
        async close() {
          await storage.client.execute("PRAGMA wal_checkpoint(TRUNCATE)");
          await storage.close();
        },
      };
    },
  };
}

function message(threadId: string, index: number): Message {
  return {
    id: `message_${threadId}_${index}`,
    threadId,
    resourceId: RESOURCE,
    role: roleOf(index),
    createdAt: new Date(1_700_000_000_000 + index),
    content: { format: 2, parts: [{ type: "text", text: textOf(index) }] },
  };
}
