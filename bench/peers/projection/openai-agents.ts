import type { Message, ToolCall } from "heddle";
import { loadPeer, withVersion } from "../load.ts";
import type { ContextPeer } from "./peer.ts";
import { textOf } from "./text.ts";

type Item =
  | { readonly role: "user"; readonly content: string }
  | {
      readonly role: "assistant";
      readonly status: "completed";
      readonly content: readonly { readonly type: "output_text"; readonly text: string }[];
    }
  | {
      readonly type: "function_call";
      readonly callId: string;
      readonly name: string;
      readonly arguments: string;
      readonly status: "completed";
    }
  | {
      readonly type: "function_call_result";
      readonly callId: string;
      readonly name: string;
      readonly status: "completed";
      readonly output: { readonly type: "text"; readonly text: string };
    };
interface Session {
  addItems(items: readonly Item[]): Promise<void>;
  getItems(limit: number): Promise<readonly Item[]>;
}
interface Agents {
  readonly MemorySession: new () => Session;
}

export async function openaiAgents(): Promise<ContextPeer> {
  const { MemorySession } = await loadPeer<Agents>("@openai/agents");
  return {
    packages: [withVersion("@openai/agents")],
    variants: [
      {
        name: "OpenAI Agents getItems(n)",
        tables: ["build", "cache", "illegal"],
        counts: "items",
        notes: [
          "It knows of no budget: n is the greatest that keeps it in every call, found by trying; a user has to guess.",
        ],
        open(limit) {
          const session = new MemorySession();
          return {
            add: (messages) => session.addItems(messages.flatMap(itemsOf)),
            async build() {
              const items = await session.getItems(limit);
              return () => items.reduce(addItem, []);
            },
          };
        },
      },
    ],
  };
}

function itemsOf(message: Message): Item[] {
  const text = textOf(message.content);
  switch (message.role) {
    case "assistant": {
      const said: Item = { role: "assistant", status: "completed", content: [{ type: "output_text", text }] };
      const calls = (message.toolCalls ?? []).map(({ id: callId, name, arguments: args }): Item => {
        return { type: "function_call", callId, name, arguments: JSON.stringify(args), status: "completed" };
      });
      return text === "" ? calls : [said, ...calls];
    }
    case "tool": {
      const { toolCallId: callId, name } = message;
      return [{ type: "function_call_result", callId, name, status: "completed", output: { type: "text", text } }];
    }
    default:
      return [{ role: "user", content: text }];
  }
}

/** Calls that stand side by side are those of one answer. */
function addItem(messages: Message[], item: Item): Message[] {
  if ("role" in item) return [...messages, said(item)];
  const { callId, name } = item;
  if (item.type === "function_call_result")
    return [...messages, { role: "tool", toolCallId: callId, name, content: item.output.text }];
  const call: ToolCall = { id: callId, name, arguments: JSON.parse(item.arguments) as ToolCall["arguments"] };
  const last = messages.at(-1);
  if (last?.role !== "assistant") return [...messages, { role: "assistant", content: "", toolCalls: [call] }];
  return [...messages.slice(0, -1), { ...last, toolCalls: [...(last.toolCalls ?? []), call] }];
}

function said(item: Extract<Item, { role: string }>): Message {
  if (item.role === "user") return item;
  return { role: "assistant", content: item.content.map(({ text }) => text).join("") };
}
