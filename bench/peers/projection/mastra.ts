import type { Message } from "heddle";
import { loadPeer, withVersion } from "../load.ts";
import { type DbMessage, MastraTurns } from "./mastra-turns.ts";
import type { ContextPeer, Variant } from "./peer.ts";
import { addToPrompt, fromPrompt, type PromptMessage } from "./prompt.ts";

interface MessageList {
  add(messages: readonly DbMessage[], source: "memory" | "input" | "response"): unknown;
  readonly get: { readonly all: { readonly aiV5: { llmPrompt(): Promise<readonly PromptMessage[]> } } };
}
interface Limiter {
  processLLMRequest(args: {
    prompt: readonly PromptMessage[];
  }): Promise<{ prompt: readonly PromptMessage[] } | undefined>;
  processInputStep(args: { messageList: MessageList }): Promise<void>;
}
interface Core {
  readonly MessageList: new (options: { threadId: string; resourceId: string }) => MessageList;
  readonly TokenLimiterProcessor: new (options: {
    limit: number;
    trimMode: string;
    onMemoryTrim?: (removed: readonly DbMessage[]) => Promise<void>;
  }) => Limiter;
}

const THREAD = { threadId: "thread", resourceId: "bench" };

export async function mastra(): Promise<ContextPeer> {
  const { MessageList } = await loadPeer<Core>("@mastra/core/agent");
  const { TokenLimiterProcessor } = await loadPeer<Core>("@mastra/core/processors");
  const core = { MessageList, TokenLimiterProcessor };
  return {
    packages: [withVersion("@mastra/core")],
    variants: [
      rehydration(core),
      limiter(core, "contiguous", ["build", "cache", "illegal"]),
      limiter(core, "best-fit", ["cache", "illegal"]),
      messageHistory(core),
    ],
  };
}

function limiter({ TokenLimiterProcessor }: Core, trimMode: string, tables: Variant["tables"]): Variant {
  return {
    name: `Mastra TokenLimiter, ${trimMode}`,
    tables,
    counts: "tokens",
    notes:
      trimMode === "contiguous"
        ? ["It counts by its own estimate, not by heddle's. Its prompt is there, see rehydration."]
        : [],
    open(limit) {
      const processor = new TokenLimiterProcessor({ limit, trimMode });
      const prompt: PromptMessage[] = [];
      return {
        add: (messages) => addToPrompt(prompt, messages),
        async build() {
          const trimmed = await processor.processLLMRequest({ prompt });
          const list = trimmed?.prompt ?? [...prompt];
          return () => fromPrompt(list);
        },
      };
    },
  };
}

function rehydration({ MessageList }: Core): Variant {
  return {
    name: "Mastra rehydration",
    tables: ["build"],
    counts: "tokens",
    fixed: 0,
    notes: ["Stored messages to the prompt that the TokenLimiter is given: MessageList.add and llmPrompt."],
    open() {
      const turns = new MastraTurns();
      return {
        add: (messages) => turns.add(messages),
        async build() {
          const list = new MessageList(THREAD);
          list.add(turns.all, "memory");
          const prompt = await list.get.all.aiV5.llmPrompt();
          return () => fromPrompt(prompt);
        },
      };
    },
  };
}

/** `messageHistory: { maxTokens }` of its memory: when it is too long, a quarter of the budget is freed, and stays free. */
function messageHistory({ MessageList, TokenLimiterProcessor }: Core): Variant {
  return {
    name: "Mastra messageHistory",
    tables: ["cache", "illegal"],
    counts: "tokens",
    notes: ["It trims what earlier turns left and never the current one; it counts by its own estimate."],
    open(limit) {
      const turns = new MastraTurns();
      const onMemoryTrim = async (removed: readonly DbMessage[]) => turns.forget(removed);
      const processor = new TokenLimiterProcessor({ limit, trimMode: "memory-only", onMemoryTrim });
      return {
        add: (messages: readonly Message[]) => turns.add(messages),
        async build() {
          const messageList = new MessageList(THREAD);
          messageList.add(turns.remembered, "memory");
          messageList.add(turns.input, "input");
          messageList.add(turns.response, "response");
          await processor.processInputStep({ messageList });
          const prompt = await messageList.get.all.aiV5.llmPrompt();
          return () => fromPrompt(prompt);
        },
      };
    },
  };
}
