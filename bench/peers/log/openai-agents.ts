import { roleOf, textOf } from "../../log/message.ts";
import { loadPeer, withVersion } from "../load.ts";
import type { Peer } from "./peer.ts";

type Item =
  | { readonly role: "user"; readonly content: string }
  | {
      readonly role: "assistant";
      readonly status: "completed";
      readonly content: readonly { readonly type: "output_text"; readonly text: string }[];
    };
interface Session {
  addItems(items: readonly Item[]): Promise<void>;
  getItems(limit: number): Promise<readonly Item[]>;
}
interface Agents {
  readonly MemorySession: new (options: { sessionId: string }) => Session;
}

/** The session of OpenAI Agents that comes with the package: an array in memory. */
export async function openaiAgents(): Promise<Peer> {
  const { MemorySession } = await loadPeer<Agents>("@openai/agents");
  return {
    name: "OpenAI Agents MemorySession",
    packages: ["@openai/agents"].map(withVersion),
    notes: ["It keeps nothing on disk: a message is an addItems, which copies the array of the session."],
    async open() {
      const sessions = new Map<string, Session>();
      const session = (id: string): Session => {
        const found = sessions.get(id) ?? new MemorySession({ sessionId: id });
        sessions.set(id, found);
        return found;
      };
      return {
        append: (conversation, index) => session(conversation).addItems([item(index)]),
        fill: (conversation, count) =>
          session(conversation).addItems(Array.from({ length: count }, (_, index) => item(index))),
        async tail(conversation, count) {
          return (await session(conversation).getItems(count)).map(textOfItem);
        },
        durability: async () => "none: in memory",
        close: async () => sessions.clear(),
      };
    },
  };
}

function item(index: number): Item {
  const text = textOf(index);
  if (roleOf(index) === "user") return { role: "user", content: text };
  return { role: "assistant", status: "completed", content: [{ type: "output_text", text }] };
}

function textOfItem({ content }: Item): string {
  return typeof content === "string" ? content : content.map(({ text }) => text).join("");
}
