import type { Message } from "heddle";
import { tokensOfOne } from "../../projection/tokens.ts";
import { loadPeer, withVersion } from "../load.ts";
import type { ContextPeer, Variant } from "./peer.ts";
import { textOf } from "./text.ts";

interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, string>>;
  readonly type: "tool_call";
}
interface LangChainMessage {
  readonly content: string;
  readonly name?: string;
  readonly tool_calls?: readonly ToolCall[];
  readonly tool_call_id?: string;
  getType(): string;
}
type Constructor<Fields> = new (fields: Fields) => LangChainMessage;
interface Messages {
  readonly HumanMessage: Constructor<{ content: string }>;
  readonly AIMessage: Constructor<{ content: string; tool_calls: readonly ToolCall[] }>;
  readonly ToolMessage: Constructor<{ content: string; tool_call_id: string; name: string }>;
  trimMessages(messages: readonly LangChainMessage[], options: object): Promise<LangChainMessage[]>;
}

export async function langchain(): Promise<ContextPeer> {
  const library = await loadPeer<Messages>("@langchain/core/messages");
  return {
    packages: [withVersion("@langchain/core")],
    variants: [
      variant(library, "LangChain trimMessages", {}, [
        "It asks the token counter for every list that is one message shorter; ours counts a message once and remembers it.",
      ]),
      variant(library, "LangChain trimMessages, startOn, endOn", { startOn: "human", endOn: ["human", "tool"] }, [
        'As its documentation advises: startOn "human", endOn "human" and "tool".',
      ]),
    ],
  };
}

function variant(library: Messages, name: string, options: object, notes: readonly string[]): Variant {
  return {
    name,
    tables: ["build", "cache", "illegal"],
    counts: "tokens",
    notes,
    open(limit) {
      const messages: LangChainMessage[] = [];
      return {
        add(more) {
          for (const message of more) messages.push(toLangChain(library, message));
        },
        async build() {
          const tokenCounter = rememberingCounter();
          const trimming = { maxTokens: limit, strategy: "last", tokenCounter, ...options };
          const list = await library.trimMessages(messages, trimming);
          return () => list.map(fromLangChain);
        },
      };
    },
  };
}

function rememberingCounter(): (messages: readonly LangChainMessage[]) => number {
  const known = new WeakMap<LangChainMessage, number>();
  const count = (message: LangChainMessage): number => {
    const tokens = tokensOfOne(fromLangChain(message));
    known.set(message, tokens);
    return tokens;
  };
  return (messages) => {
    let sum = 0;
    for (const message of messages) sum += known.get(message) ?? count(message);
    return sum;
  };
}

function toLangChain({ HumanMessage, AIMessage, ToolMessage }: Messages, message: Message): LangChainMessage {
  const content = textOf(message.content);
  if (message.role === "tool")
    return new ToolMessage({ content, tool_call_id: message.toolCallId, name: message.name });
  if (message.role !== "assistant") return new HumanMessage({ content });
  const calls = (message.toolCalls ?? []).map(
    ({ id, name, arguments: args }): ToolCall => ({ id, name, args: args as ToolCall["args"], type: "tool_call" }),
  );
  return new AIMessage({ content, tool_calls: calls });
}

function fromLangChain(message: LangChainMessage): Message {
  const { content, name = "", tool_calls: calls = [], tool_call_id: toolCallId = "" } = message;
  const type = message.getType();
  if (type === "tool") return { role: "tool", toolCallId, name, content };
  if (type !== "ai") return { role: "user", content };
  const toolCalls = calls.map(({ id, name: tool, args }) => ({ id, name: tool, arguments: args }));
  return { role: "assistant", content, ...(toolCalls.length > 0 && { toolCalls }) };
}
