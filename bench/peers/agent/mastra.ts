import { join } from "node:path";
import { SYSTEM_PROMPT, TOOL } from "../../agent/conversation.ts";
import { instantModel, type Seen } from "../../agent/model.ts";
import { loadPeer, withVersion } from "../load.ts";
import type { AgentPeer } from "./peer.ts";

interface Asked {
  readonly memory: { readonly thread: string; readonly resource: string };
}
interface AgentModule {
  readonly Agent: new (options: {
    id: string;
    name: string;
    instructions: string;
    model: object;
    tools: Readonly<Record<string, unknown>>;
    memory: object;
  }) => { generate(text: string, options: Asked): Promise<{ readonly text: string }> };
}
interface ToolModule {
  createTool(definition: object): unknown;
}
interface MemoryModule {
  readonly Memory: new (options: {
    storage: object;
    options: { semanticRecall: false; lastMessages: number };
  }) => object;
}
interface LibSql {
  readonly LibSQLStore: new (options: {
    id: string;
    url: string;
  }) => {
    readonly client: { execute(sql: string): Promise<{ rows: readonly Record<string, unknown>[] }> };
    init(): Promise<void>;
    close(): Promise<void>;
  };
}
interface Zod {
  readonly z: { object(shape: object): object; string(): object };
}

/** More than the longest conversation of the bench has. */
const ALL_MESSAGES = 10_000;

/** Mastra's Agent with Memory on its LibSQL store, not streaming. */
export async function mastra(): Promise<AgentPeer> {
  const { Agent } = await loadPeer<AgentModule>("@mastra/core/agent");
  const { createTool } = await loadPeer<ToolModule>("@mastra/core/tools");
  const { Memory } = await loadPeer<MemoryModule>("@mastra/memory");
  const { LibSQLStore } = await loadPeer<LibSql>("@mastra/libsql");
  const { z } = await loadPeer<Zod>("zod");
  return {
    name: "Mastra Agent, LibSQLStore, generate",
    packages: ["@mastra/core", "@mastra/memory", "@mastra/libsql"].map(withVersion),
    notes: ["It is asked to recall all messages, so nothing is left out."],
    async open(folder, { usesTool }) {
      const seen: Seen = { messages: 0 };
      const storage = new LibSQLStore({ id: "bench", url: `file:${join(folder, "mastra.db")}` });
      await storage.init();
      const { name, description, output } = TOOL;
      const inputSchema = z.object({ city: z.string() });
      const weather = createTool({ id: name, description, inputSchema, execute: async () => output });
      const agent = new Agent({
        id: "bench",
        name: "bench",
        instructions: SYSTEM_PROMPT,
        model: instantModel(usesTool, seen),
        tools: usesTool ? { [name]: weather } : {},
        memory: new Memory({ storage, options: { semanticRecall: false, lastMessages: ALL_MESSAGES } }),
      });
      return {
        async begin(thread) {
          const memory = { thread, resource: "bench" };
          return {
            ask: async (text) => (await agent.generate(text, { memory })).text,
            end: async () => undefined,
          };
        },
        get seen() {
          return seen.messages;
        },
        async durability() {
          const pragma = async (name: string) => {
            const { rows } = await storage.client.execute(`PRAGMA ${name}`);
            return `${name}=${rows[0]?.[name]}`;
          };
          return `${await pragma("journal_mode")} ${await pragma("synchronous")}`;
        },
        close: () => storage.close(),
      };
    },
  };
}
