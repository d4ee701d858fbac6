import { join } from "node:path";
import { roleOf, textOf } from "../../log/message.ts";
import { loadPeer, withVersion } from "../load.ts";
import type { Peer } from "./peer.ts";

interface Message {
  readonly content: unknown;
}
interface Graph {
  updateState(config: object, values: { messages: Message[] }, asNode: string): Promise<unknown>;
  getState(config: object): Promise<{ values: { messages: Message[] } }>;
}
interface Builder {
  addNode(name: string, node: () => object): Builder;
  addEdge(from: string, to: string): Builder;
  compile(options: { checkpointer: unknown }): Graph;
}
interface LangGraph {
  readonly StateGraph: new (state: unknown) => Builder;
  readonly MessagesAnnotation: unknown;
}
interface Checkpointer {
  readonly SqliteSaver: {
    fromConnString(path: string): { db: { pragma(sql: string, options?: { simple: true }): unknown; close(): void } };
  };
}
interface Core {
  readonly HumanMessage: new (content: string) => Message;
  readonly AIMessage: new (content: string) => Message;
}

/** One step of a graph per message, written by LangGraph's SqliteSaver. */
export async function langgraph(): Promise<Peer> {
  const { StateGraph, MessagesAnnotation } = await loadPeer<LangGraph>("@langchain/langgraph");
  const { SqliteSaver } = await loadPeer<Checkpointer>("@langchain/langgraph-checkpoint-sqlite");
  const { HumanMessage, AIMessage } = await loadPeer<Core>("@langchain/core/messages");
  const message = (index: number): Message => new (roleOf(index) === "user" ? HumanMessage : AIMessage)(textOf(index));
  const of = (conversation: string) => ({ configurable: { thread_id: conversation } });
  return {
    name: "LangGraph SqliteSaver",
    packages: ["@langchain/langgraph", "@langchain/langgraph-checkpoint-sqlite", "better-sqlite3"].map(withVersion),
    notes: [
      "A message is one graph.updateState, the cheapest public way: one checkpoint of the whole state each; invoke writes more.",
      "It has no query for the last messages: the whole state is read and cut. A conversation is filled by one update.",
      "better-sqlite3 is 13 by an override, because 12, which it asks for, downloads its binary in an install script.",
    ],
    async open(folder) {
      const saver = SqliteSaver.fromConnString(join(folder, "langgraph.db"));
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("log", () => ({}))
        .addEdge("__start__", "log")
        .addEdge("log", "__end__")
        .compile({ checkpointer: saver });
      return {
        append: (conversation, index) => graph.updateState(of(conversation), { messages: [message(index)] }, "log"),
        fill: (conversation, count) =>
          graph.updateState(of(conversation), { messages: Array.from({ length: count }, (_, i) => message(i)) }, "log"),
        async tail(conversation, count) {
          const { values } = await graph.getState(of(conversation));
          return values.messages.slice(-count).map(({ content }) => String(content));
        },
        async durability() {
          const pragma = (name: string) => `${name}=${saver.db.pragma(name, { simple: true })}`;
          return `${pragma("journal_mode")} ${pragma("synchronous")}`;
        },
        async close() {
          saver.db.pragma("wal_checkpoint(TRUNCATE)");
          saver.db.close();
        },
      };
    },
  };
}
