import { join } from "node:path";
import { ANSWER, SYSTEM_PROMPT, TOOL } from "../../agent/conversation.ts";
import type { Seen } from "../../agent/model.ts";
import { loadPeer, withVersion } from "../load.ts";
import type { AgentPeer } from "./peer.ts";

interface Message {
  readonly content: unknown;
  getType(): string;
}
interface Graph {
  invoke(input: { messages: readonly object[] }, config: object): Promise<{ messages: readonly Message[] }>;
}
interface Prebuilt {
  createReactAgent(options: { llm: object; tools: readonly unknown[]; prompt: string; checkpointer: unknown }): Graph;
}
interface Checkpointer {
  readonly SqliteSaver: {
    fromConnString(path: string): { db: { pragma(sql: string, options?: { simple: true }): unknown; close(): void } };
  };
}
interface Models {
  readonly BaseChatModel: new (fields: object) => object;
}
interface Messages {
  readonly AIMessage: new (fields: object) => Message;
}
interface Tools {
  tool(execute: () => string, fields: object): unknown;
}

/** Its prebuilt ReAct agent on its SqliteSaver. */
export async function langgraph(): Promise<AgentPeer> {
  const { createReactAgent } = await loadPeer<Prebuilt>("@langchain/langgraph/prebuilt");
  const { SqliteSaver } = await loadPeer<Checkpointer>("@langchain/langgraph-checkpoint-sqlite");
  const { tool } = await loadPeer<Tools>("@langchain/core/tools");
  const Model = await instantChatModel();
  return {
    name: "LangGraph SqliteSaver",
    packages: [
      "@langchain/langgraph",
      "@langchain/langgraph-checkpoint-sqlite",
      "@langchain/core",
      "better-sqlite3",
    ].map(withVersion),
    notes: ["createReactAgent and invoke: a checkpoint of the whole state at each step; nothing is left out."],
    async open(folder, { usesTool }) {
      const seen: Seen = { messages: 0 };
      const saver = SqliteSaver.fromConnString(join(folder, "langgraph.db"));
      const { name, description, inputSchema: schema, output } = TOOL;
      const agent = createReactAgent({
        llm: new Model(usesTool, seen),
        tools: usesTool ? [tool(() => output, { name, description, schema })] : [],
        prompt: SYSTEM_PROMPT,
        checkpointer: saver,
      });
      return {
        async begin(id) {
          const config = { configurable: { thread_id: id } };
          return {
            async ask(content) {
              const { messages } = await agent.invoke({ messages: [{ role: "user", content }] }, config);
              return String(messages.at(-1)?.content);
            },
            end: async () => undefined,
          };
        },
        get seen() {
          return seen.messages;
        },
        async durability() {
          const pragma = (key: string) => `${key}=${saver.db.pragma(key, { simple: true })}`;
          return `${pragma("journal_mode")} ${pragma("synchronous")}`;
        },
        async close() {
          saver.db.close();
        },
      };
    },
  };
}

/** The same answers in its own form of a model. */
async function instantChatModel(): Promise<new (usesTool: boolean, seen: Seen) => object> {
  const { BaseChatModel } = await loadPeer<Models>("@langchain/core/language_models/chat_models");
  const { AIMessage } = await loadPeer<Messages>("@langchain/core/messages");
  return class InstantChatModel extends BaseChatModel {
    readonly #usesTool: boolean;
    readonly #seen: Seen;
    #calls = 0;

    constructor(usesTool: boolean, seen: Seen) {
      super({});
      this.#usesTool = usesTool;
      this.#seen = seen;
    }

    _llmType(): string {
      return "instant";
    }

    bindTools(): this {
      return this;
    }

    async _generate(messages: readonly Message[]) {
      const types = messages.map((message) => message.getType());
      this.#seen.messages = types.filter((type) => type !== "system").length;
      const calling = this.#usesTool && types.at(-1) !== "tool";
      const call = { id: `call_${this.#calls++}`, name: TOOL.name, args: TOOL.input, type: "tool_call" };
      const message = new AIMessage(calling ? { content: "", tool_calls: [call] } : { content: ANSWER });
      return { generations: [{ text: String(message.content), message }] };
    }
  };
}
