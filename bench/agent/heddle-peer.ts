import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AgentHost, AgentServer, defineAgent, defineTool, memoryStore, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import type { AgentPeer, Conversation } from "../peers/agent/peer.ts";
import { version } from "../support/packages.ts";
import { askOf, POLICY, SYSTEM_PROMPT, TOOL } from "./conversation.ts";
import { instantModel, type Seen } from "./model.ts";

type OpenStore = (folder: string) => ThreadStore;

const inFile: OpenStore = (folder) => sqliteStore(join(folder, "heddle.db"));
const relaxed: OpenStore = (folder) => sqliteStore(join(folder, "heddle.db"), { mode: "relaxed" });
/** The store reads it back itself, and does not open without it. */
const FULL = "journal_mode=wal synchronous=2";
const SQLITE = `node:sqlite ${process.versions["sqlite"]}`;

export const heddleSqlite = () => heddleOn("heddle, SQLite", inFile, FULL, [SQLITE]);
export const heddleRelaxed = () =>
  heddleOn("heddle, SQLite relaxed", relaxed, "journal_mode=wal synchronous=1", [SQLITE]);
export const heddleMemory = () => heddleOn("heddle, memory", () => memoryStore(), "in memory");
/** As the others are asked. */
export const heddleWhole = () =>
  heddleOn("heddle, memory, not streaming", () => memoryStore(), "in memory", [], { streaming: false });
/** Many threads by one host. */
export const heddleHost = () => heddleOn("heddle, SQLite, AgentHost", inFile, FULL, [SQLITE], { host: true });
export const heddleMemoryHost = () =>
  heddleOn("heddle, memory, AgentHost", () => memoryStore(), "in memory", [], { host: true });

/** A host that lets threads go as soon as nothing runs on them. */
export const heddleReleasing = () =>
  heddleOn("heddle, SQLite, AgentHost, released", inFile, FULL, [SQLITE], {
    host: true,
    idleMs: 20,
  });

interface Ways {
  readonly idleMs?: number;
  readonly streaming?: boolean;
  readonly host?: boolean;
}

async function heddleOn(
  name: string,
  openStore: OpenStore,
  durability: string,
  packages: readonly string[] = [],
  { streaming = true, host: wantsHost = false, idleMs }: Ways = {},
): Promise<AgentPeer> {
  return {
    name,
    packages: [`heddle ${version("../../package.json")}`, ...packages],
    notes: [],
    async open(folder, { usesTool }) {
      const seen: Seen = { messages: 0 };
      const store = openStore(folder);
      await use(store);
      const agent = defineAgent({
        model: instantModel(usesTool, seen),
        systemPrompt: SYSTEM_PROMPT,
        contextPolicy: POLICY,
        streaming,
        tools: usesTool ? { [TOOL.name]: weather } : {},
      });
      const host = AgentHost.create({ agent, store, idleMs });
      return {
        async begin(threadId): Promise<Conversation> {
          if (wantsHost) {
            return {
              ask: async (text) => (await (await host.ask(threadId, text)).result).text,
              end: async () => undefined,
            };
          }
          const server = await AgentServer.start({ agent, store, threadId });
          return {
            ask: async (text) => (await (await server.ask(text)).result).text,
            end: () => server.stop(),
          };
        },
        get seen() {
          return seen.messages;
        },
        async rest() {
          while (wantsHost && host.size > 0) await sleep(10);
        },
        durability: async () => durability,
        async close() {
          await host.stop();
          await store.close();
        },
      };
    },
  };
}

const weather = defineTool({
  description: TOOL.description,
  inputSchema: TOOL.inputSchema,
  execute: () => TOOL.output,
});

const BATCHES = 25;

/**
 * Makes the file as if it had been in use for a while. Its write-ahead log has its full size of 16 MB and is overwritten.
 * A sync of the disk is faster then than for a file that grows.
 */
async function use(store: ThreadStore): Promise<void> {
  const batch = Array.from({ length: 1000 }, (_, index) => ({ kind: "note", payload: { text: askOf(index) } }));
  for (let time = 0; time < BATCHES; time += 1) await store.append("used", batch);
  await store.delete("used");
}
